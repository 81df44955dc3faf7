/** Classifies the failure of a tool or verification node. The first rule that applies decides: the class the node
 *  reports itself, the evidence of how it ended, for a scenario a guess from its output, else the product. Pure. */

import type { Attribution, Rerun } from '../model/attribution.ts';
import type { FailureClass } from '../model/outcome.ts';
import { scenariosNamed } from './scenarios.ts';
import { missingProgram, scriptError, selftestOf } from './script-errors.ts';
import { isOwnLine, wordsOfTheWorld } from './world-words.ts';

/** A class that a node reports itself, and in which place. */
export type Word = { readonly class: FailureClass; readonly where: string };

/** A command that failed. */
export type Ended = {
  readonly said: Word | undefined;
  readonly exit:
    | { readonly kind: 'exited'; readonly code: number }
    | { readonly kind: 'signalled'; readonly signal: string }
    | { readonly kind: 'timed_out' }
    | { readonly kind: 'not_found'; readonly program: string; readonly noRoom?: true };
  /** With its variables replaced. */
  readonly command: string;
  /** Workspace paths that hold scenario scripts. */
  readonly scenarios: readonly string[];
  /** The node has `judge=true`, whatever its command names. */
  readonly judge: boolean;
  /** The ends of both streams. */
  readonly stdout: string;
  readonly stderr: string;
  /** The texts of the scenario scripts that the command names. */
  readonly texts: readonly string[];
};

/** The exit code of a scenario whose environment lacks something. */
export const infraCode = 86;
/** Exit codes of a shell whose command cannot be run, or is missing. */
export const notRunnable: readonly number[] = [126, 127];

/** Signals that are sent by other processes; all others are crashes. */
export const isFromOutside = (signal: string): boolean =>
  ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGKILL', 'SIGTERM'].includes(signal);

/** The class of the last line `failure_class=product|scenario|infra|config`; standard error before output. */
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

/** The class of the last line that is `failure_class=` and one of `classes`. Searched line by line: a pattern that
 *  may begin with white space takes quadratic time in a row of empty lines. */
export function classSaid<T extends string>(text: string, classes: readonly T[]): T | undefined {
  const lines = text.split(/[\n\r]/).map((line) => line.trim());
  const last = lines.findLast((line) => classes.some((one) => line === `failure_class=${one}`));
  return classes.find((one) => last === `failure_class=${one}`);
}

/** Whether a command's result is a scenario's verdict. */
export const isJudge = ({ command, scenarios, judge }: Pick<Ended, 'command' | 'scenarios' | 'judge'>) =>
  judge || scenariosNamed(command, scenarios).length > 0;

export function blame(ended: Ended): Attribution {
  const { said, exit } = ended;
  if (said !== undefined)
    return { class: said.class, how: 'said', why: `failure_class=${said.class} in ${said.where}` };
  const evidence = scenarioEvidence(ended) ?? exitEvidence(ended);
  if (evidence !== undefined) return { class: evidence[0], how: 'evidence', why: evidence[1] };
  const words = isJudge(ended) ? ownWords(ended) : undefined;
  if (words !== undefined) return { class: 'infra', how: 'words', why: `it printed "${words}"` };
  const why = exit.kind === 'exited' ? `exit code ${exit.code}` : exit.kind;
  return { class: 'product', how: 'default', why: `${why}; no evidence of another cause` };
}

type Evidence = readonly [FailureClass, string] | undefined;

/** Evidence that the scenario itself, or the environment, failed. */
function scenarioEvidence(ended: Ended): Evidence {
  const { exit, command, scenarios, stderr, stdout } = ended;
  if (exit.kind === 'timed_out') return ['timeout', 'it was still running when its time was over'];
  if (exit.kind === 'exited' && exit.code === infraCode) return ['infra', `exit code ${infraCode}`];
  if (exit.kind === 'not_found' && exit.noRoom === true)
    return ['infra', `this machine lacked the resources to start ${exit.program}`];
  const named = scenariosNamed(command, scenarios);
  const broken = scriptError(named, stderr);
  if (broken !== undefined) return ['scenario', `${broken.script} itself cannot be run: ${broken.why}`];
  if (exit.kind === 'not_found' && named.includes(exit.program.replace(/^\.\//, '')))
    return ['scenario', `${exit.program} itself cannot be run`];
  if (!isJudge(ended) || (exit.kind === 'exited' && notRunnable.includes(exit.code))) return undefined;
  const selftest = selftestOf(command, `${stderr}\n${stdout}`);
  if (selftest !== undefined) return ['scenario', selftest];
  return exit.kind === 'signalled' && isFromOutside(exit.signal)
    ? ['infra', `killed by ${exit.signal}`]
    : undefined;
}

/** What the exit shows. A missing program of the workspace is the product's fault, any other the configuration's. */
function exitEvidence(ended: Ended): Evidence {
  const { exit, scenarios, stderr } = ended;
  if (exit.kind === 'signalled') return ['product', `ended by ${exit.signal}`];
  if (exit.kind === 'not_found')
    return exit.program.includes('/')
      ? ['product', `there is no ${exit.program}`]
      : ['config', `there is no program ${exit.program}`];
  if (exit.kind !== 'exited') return undefined;
  if (notRunnable.includes(exit.code)) {
    const program = missingProgram(stderr)?.program;
    const ofProduct = program?.includes('/') === true && !program.startsWith('/');
    if (ofProduct && isJudge(ended) && scenariosNamed(program, scenarios).length === 0)
      return ['product', `there is no ${program} that can be run`];
    return ['config', `exit code ${exit.code}: a program that it starts is missing or cannot be run`];
  }
  const [, script] =
    /^(?:\S*\/)?(?:da|a)?sh: (?:\d+: )?(?:cannot|can't) open '?(\S+?)'?:/m.exec(stderr) ?? [];
  return exit.code === 2 && script !== undefined ? ['config', `there is no script ${script}`] : undefined;
}

/** Words about a live service in a line that is in the scenario's own text: any other line may be the product's. */
const ownWords = ({ stderr, stdout, texts }: Ended): string | undefined =>
  `${stderr}\n${stdout}`
    .split('\n')
    .filter((line) => texts.some((text) => isOwnLine(line, text)))
    .map(wordsOfTheWorld)
    .find((words) => words !== undefined);

/** The second of two runs of the same scenario on the same files. */
export type Second = {
  readonly passed: boolean;
  readonly attribution: Attribution | undefined;
  readonly exitCode: number | null;
};

/** The class of a first failure of class product after a second run in a clean copy. */
export function blameAgain(
  first: { readonly attribution: Attribution; readonly exitCode: number | null },
  second: Second,
): { readonly attribution: Attribution; readonly result: Rerun['result'] } {
  const { attribution: was, exitCode } = first;
  const flaky = (why: string): Attribution => ({ class: 'scenario', how: 'rerun', why: `flaky: ${why}` });
  if (second.passed) return { result: 'passed', attribution: flaky('failed, then passed in a clean copy') };
  const then = second.attribution;
  if (exitCode === second.exitCode && then?.class === 'product') {
    const why = `${was.why}; failed alike in a clean copy`;
    return { result: 'alike', attribution: { ...was, how: was.how === 'said' ? 'said' : 'rerun', why } };
  }
  const result = 'differently';
  // A reported class decides, the later one first. A second run that fails by itself (86, the machine) shows nothing
  // about the product.
  if (then !== undefined && (then.how === 'said' || then.class === 'infra'))
    return { result, attribution: { ...then, why: `${then.why}, in a clean copy` } };
  if (was.how === 'said') return { result, attribution: was };
  const codes = [exitCode, second.exitCode].map((code) =>
    code === null ? 'no exit code' : `exit code ${code}`,
  );
  return { result, attribution: flaky(`failed with ${codes[0]}, then in a clean copy with ${codes[1]}`) };
}
