/** Whose failure a failed phase of a scenario is, from what the harness observed itself and never from words in a product's
 *  output. Pure. */
import { classSaid, infraCode, isFromOutside, notRunnable } from '../policy/blame.ts';
import { missingProgram, scriptError } from '../policy/script-errors.ts';
import { isOwnLine, wordsOfTheWorld } from '../policy/world-words.ts';
import type { Exit } from '../system/spawn.ts';

export type Phase = 'syntax' | 'selftest' | 'live';
const scenarioClasses = ['product', 'scenario', 'infra'] as const;
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
  /** Lines that it printed and that are in its own text: they are not the product's. */
  readonly ownLines?: readonly string[];
  /** A host that live needs and that takes no connection. */
  readonly unreachable?: string;
};
export type Verdict = { readonly class: ScenarioClass; readonly why: string };

/** The script's own word first, then the evidence in order of strength. */
export function classify(seen: Seen): Verdict {
  const { ended } = seen;
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
      return isFromOutside(ended.signal)
        ? { class: 'infra', why: `the script was ended from outside by ${ended.signal}` }
        : { class: 'scenario', why: `the script's interpreter died of ${ended.signal}` };
    case 'cancelled':
      return { class: 'infra', why: 'it was cancelled' };
    case 'exited':
      return exited(seen, ended.code);
  }
}

function exited(seen: Seen, code: number): Verdict {
  const { phase, stderr, script, unreachable } = seen;
  if (phase === 'syntax') return { class: 'scenario', why: 'its text is not valid' };
  if (code === infraCode) return { class: 'infra', why: `exit code ${code}` };
  if (notRunnable.includes(code)) return notRun(seen, code);
  const error = scriptError([script], stderr);
  if (error !== undefined) return { class: 'scenario', why: `the script itself cannot be run: ${error.why}` };
  if (phase === 'selftest') return { class: 'scenario', why: 'it fails by itself, without the product' };
  if (unreachable !== undefined) return { class: 'infra', why: `${unreachable} cannot be reached` };
  const words = seen.ownLines?.map(wordsOfTheWorld).find((found) => found !== undefined);
  if (words !== undefined) return { class: 'infra', why: `it says itself "${words}"` };
  return { class: 'product', why: `exit code ${code} in live` };
}

/** Exit code 126 or 127: the product's where it is the product that lacks a program, or is the program that is missing. */
function notRun({ stderr, app }: Seen, code: number): Verdict {
  const { speaker = '', program = '' } = missingProgram(stderr) ?? {};
  // A scenario begins in the product's folder: a relative path is the product's.
  const isProduct = (path: string): boolean =>
    (path.includes('/') && !/^[/~]/.test(path)) ||
    app.some((folder) => path === folder || path.startsWith(`${folder}/`));
  return isProduct(program) || isProduct(speaker)
    ? { class: 'product', why: `the product has no program ${program} that can be run` }
    : {
        class: 'scenario',
        why: `exit code ${code}: a program that the scenario needs is missing or cannot be run`,
      };
}

/** A product that does not end is the product's failure; a scenario that waits while no program of the product runs is
 *  its own. */
function timedOut({ phase, unreachable, productRan }: Seen, afterMs: number): Verdict {
  const late = `it did not end within ${afterMs / 1000}s`;
  if (phase !== 'live') return { class: 'scenario', why: `${late}, without the product` };
  if (unreachable !== undefined)
    return { class: 'infra', why: `${late}, and ${unreachable} cannot be reached` };
  return productRan === false
    ? { class: 'scenario', why: `${late}, and no program of the product was running` }
    : { class: 'product', why: late };
}

/** The lines of an output that the script's text has word for word. */
export const ownLines = (text: string, output: string): readonly string[] =>
  output.split('\n').filter((line) => isOwnLine(line, text));

/** The last line of standard error that names a class, and nothing else. */
export const markerIn = (stderr: string): ScenarioClass | undefined => classSaid(stderr, scenarioClasses);

/** Of several failures the one that decides: a failing product must be fixed whatever else is wrong. */
export const worst = (classes: readonly ScenarioClass[]): ScenarioClass | undefined =>
  scenarioClasses.find((word) => classes.includes(word));
