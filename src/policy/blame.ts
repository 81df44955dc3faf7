/** Whose failure it is. One ladder for every command of a tool or a verification: its own word, else the evidence of how
 *  it ended, else, for a scenario only, a guess from what it printed, else the product. */

import type { Attribution, Rerun } from '../model/attribution.ts';
import type { FailureClass } from '../model/outcome.ts';
import { cannotRun, notStarted, phaseOf } from './harness.ts';
import { scenariosNamed } from './scenarios.ts';
import { isOwnLine, wordsOfTheWorld } from './world-words.ts';

/** A class that a stage names itself, and where it says so. */
export type Word = { readonly class: FailureClass; readonly where: string };

/** A command that failed. */
export type Ended = {
  readonly said: Word | undefined;
  readonly exit:
    | { readonly kind: 'exited'; readonly code: number }
    | { readonly kind: 'signalled'; readonly signal: string }
    | { readonly kind: 'timed_out' }
    | { readonly kind: 'not_found'; readonly program: string; readonly noRoom?: true };
  /** As it was run, its variables put in. */
  readonly command: string;
  /** Workspace paths that hold scenario scripts. */
  readonly scenarios: readonly string[];
  /** The node is said to be a judge, whatever its command names. */
  readonly judge: boolean;
  /** The ends of what it printed. */
  readonly stdout: string;
  readonly stderr: string;
  /** The texts of the scenario scripts that it names. */
  readonly texts: readonly string[];
};

/** Exit codes by which a scenario blames the machine, and a shell the command itself. */
const infraCode = 86;
const notRunnable = 126;
const notFound = 127;

/** Signals that somebody sends; the others are crashes. */
const fromOutside: ReadonlySet<string> = new Set(['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGKILL', 'SIGTERM']);

/** The last line of its own that says `failure_class=product|scenario|infra|config`; standard error before output. */
export function saidIn(stderr: string, stdout: string): Word | undefined {
  for (const [where, text] of [
    ['standard error', stderr],
    ['standard output', stdout],
  ] as const) {
    const found = classSaid(text, ['product', 'scenario', 'infra', 'config']);
    if (found !== undefined) return { class: found, where };
  }
  return undefined;
}

/** The class of the last line that says `failure_class=` and one of `classes`. Line by line: a pattern that may begin with
 *  blanks reads a row of empty lines again from each of them. */
export function classSaid<T extends string>(text: string, classes: readonly T[]): T | undefined {
  const lines = text.split(/[\n\r]/).map((line) => line.trim());
  const last = lines.findLast((line) => classes.some((one) => line === `failure_class=${one}`));
  return classes.find((one) => last === `failure_class=${one}`);
}

/** Whether a command's verdict is that of a scenario. */
export const isJudge = ({ command, scenarios, judge }: Pick<Ended, 'command' | 'scenarios' | 'judge'>) =>
  judge || scenariosNamed(command, scenarios).length > 0;

/** Pure. The ladder, from the surest to the least sure. */
export function blame(ended: Ended): Attribution {
  const { said } = ended;
  if (said !== undefined)
    return { class: said.class, how: 'said', why: `failure_class=${said.class} in ${said.where}` };
  return evidenceOf(ended) ?? guess(ended) ?? byDefault(ended);
}

function evidenceOf(ended: Ended): Attribution | undefined {
  const { exit, command, scenarios, stderr, stdout } = ended;
  const evidence = (of: FailureClass, why: string): Attribution => ({ class: of, how: 'evidence', why });
  if (exit.kind === 'timed_out') return evidence('timeout', 'it was still running when its time was over');
  if (exit.kind === 'exited' && exit.code === infraCode) return evidence('infra', `exit code ${infraCode}`);
  if (exit.kind === 'not_found' && exit.noRoom === true)
    return evidence('infra', `this machine had no room to start ${exit.program}`);
  const named = scenariosNamed(command, scenarios);
  const broken = cannotRun(named, stderr);
  if (broken !== undefined)
    return evidence('scenario', `${broken.script} itself cannot be run: ${broken.why}`);
  if (exit.kind === 'not_found') {
    if (named.some((script) => script === exit.program.replace(/^\.\//, '')))
      return evidence('scenario', `${exit.program} itself cannot be run`);
    // A program of the workspace's own that is missing was to be made; another one is the machine's.
    return exit.program.includes('/')
      ? evidence('product', `there is no ${exit.program}`)
      : evidence('config', `there is no program ${exit.program}`);
  }
  if (exit.kind === 'exited' && (exit.code === notRunnable || exit.code === notFound)) {
    const program = notStarted(stderr);
    // What the scenario misses of the workspace was to be made; anything else is missed on this machine.
    const made = program?.includes('/') === true && !program.startsWith('/');
    if (made && isJudge(ended) && scenariosNamed(program, scenarios).length === 0)
      return evidence('product', `there is no ${program} that can be run`);
    const why = exit.code === notFound ? 'is not there' : 'cannot be run';
    return evidence('config', `exit code ${exit.code}: a program that it starts ${why}`);
  }
  const phase = isJudge(ended) ? phaseOf(command, stdout, stderr) : undefined;
  if (phase !== undefined) return evidence('scenario', phase);
  if (exit.kind === 'signalled')
    return isJudge(ended) && fromOutside.has(exit.signal)
      ? evidence('infra', `ended from outside by ${exit.signal}`)
      : evidence('product', `ended by ${exit.signal}`);
  const opened = /^(?:\S*\/)?(?:sh|dash|ash): (?:\d+: )?(?:cannot open|can't open) '?(\S+?)'?:/m.exec(stderr);
  // What some shells answer for a script that is not there.
  if (exit.code === 2 && opened?.[1] !== undefined)
    return evidence('config', `there is no script ${opened[1]}`);
  return undefined;
}

/** Only for scenarios, which ask live services, and only where a line stands in their own text: the words of any other are
 *  those of the product. */
function guess(ended: Ended): Attribution | undefined {
  if (!isJudge(ended)) return undefined;
  for (const line of `${ended.stderr}\n${ended.stdout}`.split('\n')) {
    if (!ended.texts.some((text) => isOwnLine(line, text))) continue;
    const found = wordsOfTheWorld(line);
    if (found !== undefined) return { class: 'infra', how: 'words', why: `it printed "${found}"` };
  }
  return undefined;
}

function byDefault({ exit }: Ended): Attribution {
  const why = exit.kind === 'exited' ? `exit code ${exit.code}` : exit.kind;
  return { class: 'product', how: 'default', why: `${why}, and nothing speaks for anything else` };
}

/** One of two runs of the same scenario on the same files. */
export type Second = {
  readonly passed: boolean;
  readonly attribution: Attribution | undefined;
  readonly exitCode: number | null;
};

/** Pure. What a second failure in a clean copy makes of a first one of class product. */
export function blameAgain(
  first: { readonly attribution: Attribution; readonly exitCode: number | null },
  second: Second,
): { readonly attribution: Attribution; readonly result: Rerun['result'] } {
  const flaky = (why: string): Attribution => ({ class: 'scenario', how: 'rerun', why });
  if (second.passed)
    return { result: 'passed', attribution: flaky('flaky: failed, then passed in a clean copy') };
  const then = second.attribution;
  if (first.exitCode === second.exitCode && then?.class === 'product') {
    const { how, why } = first.attribution;
    const alike = 'failed alike in a clean copy';
    return {
      result: 'alike',
      attribution: { class: 'product', how: how === 'said' ? 'said' : 'rerun', why: `${why}; ${alike}` },
    };
  }
  const result = 'differently';
  // Whoever says whose failure it is decides: the second time, else the first. What breaks only the second run (86, a
  // machine that fails) has shown nothing of the product.
  if (then !== undefined && (then.how === 'said' || then.class === 'infra'))
    return { result, attribution: { ...then, why: `${then.why}, when it was run again in a clean copy` } };
  if (first.attribution.how === 'said') return { result, attribution: first.attribution };
  return {
    result,
    attribution: flaky(
      `flaky: failed with ${codeWords(first.exitCode)}, then in a clean copy with ${codeWords(second.exitCode)}`,
    ),
  };
}

const codeWords = (code: number | null): string => (code === null ? 'no exit code' : `exit code ${code}`);
