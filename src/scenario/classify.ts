/** Whose failure a failed phase is, from what the harness has seen itself and never from words in a product's output.
 *  Pure. */
import { classSaid } from '../policy/blame.ts';
import { isOwnLine, wordsOfTheWorld } from '../policy/world-words.ts';
import type { Exit } from '../system/spawn.ts';

export type Phase = 'syntax' | 'selftest' | 'live';
export const scenarioClasses = ['product', 'scenario', 'infra'] as const;
export type ScenarioClass = (typeof scenarioClasses)[number];

/** What is known of a phase that did not end with exit code 0. */
export type Seen = {
  readonly phase: Phase;
  readonly ended: Exit;
  /** The class that the script named itself, as a line on standard error. */
  readonly marker?: ScenarioClass;
  /** The end of its standard error. */
  readonly stderr: string;
  /** How its command line names the script, and the product's folder (as real path too). */
  readonly script: string;
  readonly app: readonly string[];
  /** Of one that ran out of time: whether a program of the product was running. */
  readonly productRan?: boolean;
  /** Lines that it printed and that its own text has word for word: no product said these. */
  readonly ownLines?: readonly string[];
  /** A host that live needs and that takes no connection. */
  readonly unreachable?: string;
};
export type Verdict = { readonly class: ScenarioClass; readonly why: string };

/** Signals by which somebody outside ends a program. */
const fromOutside: readonly string[] = ['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGKILL', 'SIGQUIT'];

/** The script's own word first, then the evidence in order of strength. */
export function classify(seen: Seen): Verdict {
  const { ended, phase } = seen;
  if (seen.marker !== undefined) return { class: seen.marker, why: 'the script says so' };
  switch (ended.kind) {
    case 'not_found':
      return {
        class: ended.noRoom === true ? 'infra' : 'scenario',
        why: `it cannot be started: ${ended.program}: ${ended.why}`,
      };
    case 'timed_out':
      return timedOut(seen, ended.afterMs);
    case 'signalled':
      return fromOutside.includes(ended.signal)
        ? { class: 'infra', why: `the script was ended from outside by ${ended.signal}` }
        : { class: 'scenario', why: `the script's interpreter died of ${ended.signal}` };
    case 'cancelled':
      return { class: 'infra', why: 'it was cancelled' };
    case 'exited':
      break;
  }
  if (phase === 'syntax') return { class: 'scenario', why: 'its text is not valid' };
  if (ended.code === 86) return { class: 'infra', why: 'exit code 86' };
  const said = bashSaid(seen);
  if (ended.code === 126 || ended.code === 127) {
    const program = /^(.*?): /.exec(said)?.[1] ?? '';
    if (isIn(program, seen.app) || isBelow(program))
      return { class: 'product', why: `the product has no program ${program} that can be run` };
    const last = lastLine(seen.stderr);
    // A script of the product is called by its whole path, or from its folder.
    const speaker = said === '' ? (/^(.*?): line \d+: /.exec(last)?.[1] ?? '') : '';
    return isBelow(speaker) || seen.app.some((folder) => last.startsWith(`${folder}/`))
      ? { class: 'product', why: `the product says: ${last.slice(0, 200)}` }
      : {
          class: 'scenario',
          why: `exit code ${ended.code}: a program that the scenario needs is missing or cannot be run`,
        };
  }
  if (/unbound variable$|syntax error|bad substitution$/.test(said))
    return { class: 'scenario', why: `bash: ${said}` };
  const bug = interpreterSaid(seen);
  if (bug !== undefined) return { class: 'scenario', why: bug };
  if (phase === 'selftest') return { class: 'scenario', why: 'it fails by itself, without the product' };
  if (seen.unreachable !== undefined) return { class: 'infra', why: `${seen.unreachable} cannot be reached` };
  const told = seen.ownLines?.map(wordsOfTheWorld).find((words) => words !== undefined);
  if (told !== undefined) return { class: 'infra', why: `it says itself "${told}"` };
  return { class: 'product', why: `exit code ${ended.code} in live` };
}

/** A product that does not end is the product's failure; a scenario that waits while no program of the product runs is
 *  its own. */
function timedOut(seen: Seen, afterMs: number): Verdict {
  const late = `it did not end within ${afterMs / 1000}s`;
  if (seen.phase !== 'live') return { class: 'scenario', why: `${late}, without the product` };
  if (seen.unreachable !== undefined)
    return { class: 'infra', why: `${late}, and ${seen.unreachable} cannot be reached` };
  return seen.productRan === false
    ? { class: 'scenario', why: `${late}, and no program of the product was running` }
    : { class: 'product', why: late };
}

/** What bash itself said last of the script: `SCRIPT: line N: …`. */
function bashSaid({ stderr, script }: Seen): string {
  const last = lastLine(stderr);
  if (!last.startsWith(`${script}: line `)) return '';
  return /^ ?line \d+: (.*)$/.exec(last.slice(script.length + 2))?.[1] ?? '';
}

/** What Python or Node said of a name that the script uses and nobody has made. */
function interpreterSaid({ stderr, script }: Seen): string | undefined {
  const lines = stderr.trimEnd().split('\n');
  const python = /^(?:NameError|UnboundLocalError): .*$/.exec(lines.at(-1) ?? '')?.[0];
  const frame = lines.findLast((line) => /^ {2}File ".*", line \d+/.test(line)) ?? '';
  if (python !== undefined && frame.startsWith(`  File "${script}", `)) return python;
  const node = lines.findIndex((line) => line.startsWith('ReferenceError: '));
  const above = lines.slice(0, Math.max(node, 0)).findIndex((line) => /:\d+$/.test(line));
  const place = (lines[above] ?? '').replace(/^file:\/\//, '').replace(/:\d+$/, '');
  // Right below its place, the source and a sign there: what a script throws may quote what the product said.
  return place === script && node - above <= 4 ? lines[node] : undefined;
}

const lastLine = (text: string): string => text.trimEnd().split('\n').at(-1) ?? '';

/** A path from where it stands, which is the product: scenarios begin there. */
const isBelow = (path: string): boolean => path.includes('/') && !/^[/~]/.test(path);

const isIn = (path: string, folders: readonly string[]): boolean =>
  folders.some((folder) => path === folder || path.startsWith(`${folder}/`));

/** What of an output the script's text has word for word. */
export const ownLines = (text: string, output: string): readonly string[] =>
  output.split('\n').filter((line) => isOwnLine(line, text));

/** The last line of standard error that names a class, and nothing else. */
export const markerIn = (stderr: string): ScenarioClass | undefined => classSaid(stderr, scenarioClasses);

/** Of several failures the one that decides: a product that fails is to be mended whatever else is wrong. */
export const worst = (classes: readonly ScenarioClass[]): ScenarioClass | undefined =>
  scenarioClasses.find((word) => classes.includes(word));
