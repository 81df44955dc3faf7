/** Classifies the failure of a scenario's phase from the observations of the harness, never from the text of a product's
 *  output. Pure. */
import type { Exit } from '../core/contracts/process.ts';
import {
  classNamed,
  infraCode,
  isFromOutside,
  isOwnLine,
  missingProgram,
  scriptError,
  wordsOfTheWorld,
} from '../core/failure-class.ts';
import { notRunnable } from '../core/outcome.ts';

export type Phase = 'syntax' | 'selftest' | 'live';
const scenarioClasses = ['product', 'scenario', 'infra'] as const;
export type ScenarioClass = (typeof scenarioClasses)[number];

/** The observations of a phase that did not end with exit code 0. */
export type PhaseEvidence = {
  readonly phase: Phase;
  readonly ended: Exit;
  /** The class that the script printed on standard error. */
  readonly marker?: ScenarioClass;
  /** The end of its standard error. */
  readonly stderr: string;
  /** The script as named on its command line, and the product's folder (its real path too). */
  readonly script: string;
  readonly app: readonly string[];
  /** After a timeout: whether a program of the product was running. */
  readonly productRan?: boolean;
  /** Printed lines that are in the script's text, so that they are not the product's. */
  readonly ownLines?: readonly string[];
  /** A host that live needs and that does not accept connections. */
  readonly unreachable?: string;
  /** After an attempt to reach a host outside the private network: what the scenario may lack. */
  readonly undeclared?: string;
};
export type ScenarioVerdict = { readonly class: ScenarioClass; readonly why: string };

/** The class that the script printed counts first, then the evidence in order of strength. */
export function classify(seen: PhaseEvidence): ScenarioVerdict {
  const { class: whose, why } = verdictOf(seen);
  return { class: whose, why: seen.undeclared === undefined ? why : `${why}; ${seen.undeclared}` };
}

function verdictOf(seen: PhaseEvidence): ScenarioVerdict {
  const { ended } = seen;
  if (seen.marker !== undefined) return { class: seen.marker, why: 'the script reports this class' };
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
        ? { class: 'infra', why: `another process ended the script with ${ended.signal}` }
        : { class: 'scenario', why: `the script's interpreter died of ${ended.signal}` };
    case 'cancelled':
      return { class: 'infra', why: 'it was cancelled' };
    case 'exited':
      return exited(seen, ended.code);
  }
}

function exited(seen: PhaseEvidence, code: number): ScenarioVerdict {
  const { phase, stderr, script, unreachable, undeclared } = seen;
  if (phase === 'syntax') return { class: 'scenario', why: 'its text is not valid' };
  if (code === infraCode) return { class: 'infra', why: `exit code ${code}` };
  if (notRunnable.includes(code)) return notRun(seen, code);
  const error = scriptError([script], stderr);
  if (error !== undefined) return { class: 'scenario', why: `the script itself cannot be run: ${error.why}` };
  if (phase === 'selftest') return { class: 'scenario', why: 'it fails in selftest, without the product' };
  if (unreachable !== undefined) return { class: 'infra', why: `${unreachable} cannot be reached` };
  const words = seen.ownLines?.map(wordsOfTheWorld).find((found) => found !== undefined);
  // Without a connection to the world, it is not the world that failed.
  if (words !== undefined)
    return { class: undeclared === undefined ? 'infra' : 'scenario', why: `the script reports "${words}"` };
  return { class: 'product', why: `exit code ${code} in live` };
}

/** Exit code 126 or 127: the product's failure if the product lacks a program, or is itself the missing program. */
function notRun({ stderr, app }: PhaseEvidence, code: number): ScenarioVerdict {
  const { speaker = '', program = '' } = missingProgram(stderr) ?? {};
  // A scenario starts in the product's folder: relative paths are the product's.
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

/** A product that does not end is the product's failure; a scenario that waits while no program of the product runs is the
 *  scenario's. */
function timedOut({ phase, unreachable, productRan }: PhaseEvidence, afterMs: number): ScenarioVerdict {
  const late = `it did not end within ${afterMs / 1000}s`;
  if (phase !== 'live') return { class: 'scenario', why: `${late}, without the product` };
  if (unreachable !== undefined)
    return { class: 'infra', why: `${late}, and ${unreachable} cannot be reached` };
  return productRan === false
    ? { class: 'scenario', why: `${late}, and no program of the product was running` }
    : { class: 'product', why: late };
}

/** The lines of an output that are also in the script's text. */
export const ownLines = (text: string, output: string): readonly string[] =>
  output.split('\n').filter((line) => isOwnLine(line, text));

/** The class in the last line of standard error that names only a class. */
export const markerIn = (stderr: string): ScenarioClass | undefined => classNamed(stderr, scenarioClasses);

/** The class that decides among several failures: a failing product must be fixed in any case. */
export const worst = (classes: readonly ScenarioClass[]): ScenarioClass | undefined =>
  scenarioClasses.find((word) => classes.includes(word));
