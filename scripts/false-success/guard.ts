/** Which guard stopped a run, by the records of the run. */

/** What of `result.json` and `audit.json` names it. */
export type StoppedRun = {
  readonly reason: string;
  readonly failedNode: string | null;
  readonly failureClass: string | null;
  readonly auditErrors: readonly string[];
};

export type StoppingGuard = { readonly name: string; readonly message: string };

/** In the order in which they are looked for: the reason of the run → the guard's name in docs/false-success.md. */
const guards: readonly (readonly [RegExp, string])[] = [
  [/is read-only meanwhile/, 'files of a check are read-only while it runs'],
  [/changed while a check used them/, 'files of a check are compared afterwards'],
  [/\b0 tests ran|no test ran/, 'a check must run tests'],
  [/above a sealed path/, 'a sealed path cannot be replaced'],
  [/holdout_leak/, 'leak of a holdout'],
  [/wrote disallowed files/, 'allowed paths of a node'],
  [/a key of the engine's own|which only the engine sets/, 'values that only the engine sets'],
  [/verification command rejected/, 'rules for commands of a plan'],
  [/which only a tool with sets_plan/, 'rules for commands of a plan'],
  [/product ended the scenario|replaced the functions by which/, 'the end of a scenario is proven'],
  [/\d+ of \d+ scenarios? pass/, 'holdout scenarios'],
];

export function stoppingGuard(run: StoppedRun): StoppingGuard {
  const message = run.reason.replace(/\s+/g, ' ').trim();
  if (run.reason.startsWith('audit:'))
    return { name: `audit: ${[...new Set(run.auditErrors)].sort().join(', ')}`, message };
  const found = guards.find(([pattern]) => pattern.test(run.reason));
  if (found !== undefined) return { name: found[1], message };
  const order = /\bapply: ([a-z]+_[a-z_]+):/.exec(run.reason);
  if (order !== null) return { name: `rules for work orders: ${order[1]}`, message };
  if (run.failureClass === 'product') return { name: "the project's tests", message };
  return { name: `class ${run.failureClass ?? 'unknown'} at node ${run.failedNode ?? 'unknown'}`, message };
}
