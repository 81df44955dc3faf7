/** A prefix in `verification.allowed_commands` says what its program does: a plan chooses what follows. */
import { finding, nodesOf, type Rule } from '../rule.ts';

export const barePrefix: Rule = {
  code: 'bare-prefix',
  severity: 'warning',
  rule: 'A prefix in `verification.allowed_commands` is more than the name of a program that runs any other.',
  wrong:
    'start; exit; a [label=a]; v [type=verification, verification.allowed_commands=npm]; start -> a -> v -> exit',
  fix: '`npm test`; `=npm test` for exactly that',
  *check(subject) {
    const { graph } = subject;
    for (const node of nodesOf(subject, 'verification'))
      for (const entry of node.settings['verification.allowed_commands'] ?? []) {
        if (!runsAnything(entry)) continue;
        const more = `${entry} ${example(entry)}`;
        yield finding(graph, barePrefix, {
          message: `"${entry}" in verification.allowed_commands of "${node.id}" lets a plan run any program: it chooses what follows`,
          span: node.attrs.get('verification.allowed_commands')?.valueSpan ?? node.span,
          fix: `write what it runs, such as "${more}", or "=${more}" for exactly that command`,
        });
      }
  },
};

/** Interpreters and shells: what they run follows. */
const interpreters =
  /^(?:(?:ba|da|a|z|k|mk|fi)?sh|python[\d.]*|pypy[\d.]*|node|nodejs|deno|bun|tsx|ts-node|ruby|perl|php|lua|Rscript|julia)$/;
/** Programs of which the first argument decides what they do, and with which one they run any program. */
const runners: readonly (readonly [program: RegExp, runs: RegExp])[] = [
  [/^(?:npm|pnpm|yarn)$/, /^(?:exec|x|dlx)$/],
  [/^(?:uv|poetry|pipenv|pdm|hatch|rye)$/, /^(?:run|tool)$/],
  [/^(?:cargo|go|dotnet|bundle|composer)$/, /^(?:run|exec)$/],
  [/^(?:npx|bunx|pnpx|uvx|env|xargs|sudo|nice|nohup|timeout|time|docker|podman)$/, /^(?:run|exec)$/],
];

/** Whether a prefix ends before it says which program, script or task runs. */
function runsAnything(entry: string): boolean {
  const [path = '', first, ...rest] = entry.trim().split(/\s+/);
  if (path.startsWith('=') || path === '@plan') return false;
  const program = path.split('/').at(-1) ?? '';
  const runner = runners.find(([name]) => name.test(program));
  if (runner !== undefined) return first === undefined || (rest.length === 0 && runner[1].test(first));
  if (!interpreters.test(program)) return false;
  // `python3 -m` and `node --no-warnings` still name nothing to run; `node --test` does.
  return [first ?? '-', ...rest].every((word) => /^-/.test(word) && word !== '--test');
}

const example = (entry: string): string =>
  /sh$/.test(entry)
    ? 'test.sh'
    : /-m$/.test(entry)
      ? 'pytest'
      : /^(?:npm|pnpm|yarn|bun|deno|cargo|go)$/.test(entry)
        ? 'test'
        : '…';
