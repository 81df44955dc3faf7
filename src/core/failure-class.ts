/** Classifies the failure of a tool or verification node. The first rule that applies decides: the class the node
 *  reports itself, the evidence of how it ended, for a scenario a guess from its output, else the product. Pure. */
import { type Attribution, type FailureClass, notRunnable, type Rerun } from './outcome.ts';
import { scenariosNamed } from './policy/holdout-paths.ts';

/** A class that a node reports itself, and in which place. */
export type FailureWord = { readonly class: FailureClass; readonly where: string };

/** A command that failed. */
export type EndedCommand = {
  readonly word: FailureWord | undefined;
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

/** Signals that are sent by other processes; all others are crashes. */
export const isFromOutside = (signal: string): boolean =>
  ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGKILL', 'SIGTERM'].includes(signal);

/** The class of the last line `failure_class=product|scenario|infra|config`; standard error before output. */
export function failureWordIn(stderr: string, stdout: string): FailureWord | undefined {
  for (const [where, text] of [
    ['standard error', stderr],
    ['standard output', stdout],
  ] as const) {
    const found = classNamed(text, ['product', 'scenario', 'infra', 'config']);
    if (found !== undefined) return { class: found, where };
  }
  return undefined;
}

/** The class of the last line that is `failure_class=` and one of `classes`. Searched line by line: a pattern that
 *  may begin with white space takes quadratic time in a row of empty lines. */
export function classNamed<T extends string>(text: string, classes: readonly T[]): T | undefined {
  const lines = text.split(/[\n\r]/).map((line) => line.trim());
  const last = lines.findLast((line) => classes.some((one) => line === `failure_class=${one}`));
  return classes.find((one) => last === `failure_class=${one}`);
}

/** Whether a command's result is a scenario's verdict. */
export const isJudge = ({
  command,
  scenarios,
  judge,
}: Pick<EndedCommand, 'command' | 'scenarios' | 'judge'>) =>
  judge || scenariosNamed(command, scenarios).length > 0;

export function classifyFailure(ended: EndedCommand): Attribution {
  const { word, exit } = ended;
  if (word !== undefined)
    return { class: word.class, how: 'said', why: `failure_class=${word.class} in ${word.where}` };
  const evidence = scenarioEvidence(ended) ?? exitEvidence(ended);
  if (evidence !== undefined) return { class: evidence[0], how: 'evidence', why: evidence[1] };
  const words = isJudge(ended) ? ownWords(ended) : undefined;
  if (words !== undefined) return { class: 'infra', how: 'words', why: `it printed "${words}"` };
  const why = exit.kind === 'exited' ? `exit code ${exit.code}` : exit.kind;
  return { class: 'product', how: 'default', why: `${why}; no evidence of another cause` };
}

type Evidence = readonly [FailureClass, string] | undefined;

/** Evidence that the scenario itself, or the environment, failed. */
function scenarioEvidence(ended: EndedCommand): Evidence {
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
function exitEvidence(ended: EndedCommand): Evidence {
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
const ownWords = ({ stderr, stdout, texts }: EndedCommand): string | undefined =>
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
export function classifyAgain(
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

/* Guesses from words: lines in which a scenario reports that a live service failed. Pure. */

/** A line with a comparison is an assertion about the product, and one that names this machine is about its server. */
const unlike =
  /\b(?:expect\w*|assert\w*|want\w*|got|actual\w*|should|received)\b|localhost|\b127\.0\.0\.1\b|\[?::1\]?/i;
const ofTheWorld: readonly RegExp[] = [
  /\b\w*API_KEY\b.*\b(?:missing|not set|unset|required|invalid|incorrect|undefined|empty)\b|\b(?:missing|no|invalid|incorrect|set)\b.*API_KEY/i,
  /not set for live/i,
  /\bstatus(?: code)?[\s:=]*40[134]\b/i,
  /\bnot_found_error\b/i,
  /\bquota\b/i,
  /\brate[ _-]?limit/i,
  /models list failed/i,
  /\bconnection (?:refused|reset|aborted|timed out|timeout|failed|error)\b|\bcould not connect\b|\bECONN(?:REFUSED|RESET|ABORTED)\b/i,
  /\b(?:connect|connection|request|read|gateway|network|dns|tls|ssl|socket|handshake) ?(?:timeout|timed out)\b|\bETIMEDOUT\b/i,
  /\bEAI_AGAIN\b|\bENOTFOUND\b|Could not resolve host|Temporary failure in name resolution/i,
];

/** The words of a printed line that report a live service, 80 characters at most; undefined where none do. */
export function wordsOfTheWorld(line: string): string | undefined {
  if (unlike.test(line)) return undefined;
  const found = ofTheWorld.map((words) => words.exec(line)?.[0]).find((words) => words !== undefined);
  return found?.trim().slice(0, 80);
}

/** Whether a script's text contains a printed line literally. A line of a word or two may be the product's too. */
export const isOwnLine = (line: string, text: string): boolean =>
  line.trim().length >= 12 && text.includes(line.trim());

/* Messages of shells, interpreters and the scenario harness that show that a scenario itself is broken. Pure. */

/** The first of `scripts` that its interpreter could not run, by standard error: it is missing, not executable or
 *  no valid text, or it uses an undefined name. */
export function scriptError(
  scripts: readonly string[],
  stderr: string,
): { readonly script: string; readonly why: string } | undefined {
  for (const script of scripts)
    for (const pattern of errorsOf(script)) {
      const why = pattern.exec(stderr)?.[1];
      if (why !== undefined) return { script, why: why.trim().slice(0, 120) };
    }
  return undefined;
}

function errorsOf(script: string): RegExp[] {
  const name = `(?:\\S*/)?${script.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')}`;
  const shell = '(?:\\S*sh: (?:line )?(?:\\d+: )?)?';
  return [
    `^${shell}${name}: ((?:not found|No such file|Permission denied|cannot execute|.*bad interpreter|Is a directory|Exec format error|command not found).*)$`,
    `^${shell}${name}: ((?:line )?\\d+: (?:[Ss]yntax error.*|unexpected EOF.*|.*(?:unbound variable|parameter not set|[Bb]ad substitution)))$`,
    `(?:^${shell}|: )((?:cannot|can't) open(?: file)?|Cannot find module) '?(?:file://)?${name}'?`,
    // For Python and Node right below the location: an exception of the script may quote the product's output.
    `^ *File "${name}", line \\d+.*\\n(?: {4}.*\\n)*((?:Syntax|Indentation|Tab|Name|UnboundLocal)Error\\b.*)$`,
    `^${name}:\\d+\\n(?:.*\\n){1,3}?((?:Syntax|Reference)Error\\b.*)$`,
  ].map((source) => new RegExp(source, 'm'));
}

/** The last program that a shell script (`speaker`) could not start; paths in a run's workspace are relative to it. */
export function missingProgram(
  stderr: string,
): { readonly speaker: string; readonly program: string } | undefined {
  const [, speaker, program] = [...stderr.matchAll(/^(\S+): (?:line )?\d+: (\S+): .+$/gm)].at(-1) ?? [];
  if (speaker === undefined || program === undefined) return undefined;
  return { speaker, program: program.replace(/^.*\/workspace\//, '').replace(/^(?:\.\/)+/, './') };
}

/** Why a failure happened in the scenario's selftest, before it reached the product; undefined where it did not. */
function selftestOf(command: string, output: string): string | undefined {
  const line = output
    .split('\n')
    .map((one) => one.trim())
    .findLast((one) => /^\[preflight\].*\b(?:selftest|live)\b/i.test(one));
  if (line !== undefined) {
    // A script may have either word in its name: the first one is the harness's.
    const inSelftest = /\b(?:selftest|live)\b/i.exec(line)?.[0].toLowerCase() === 'selftest';
    const over = /\b(?:pass(?:ed)?|ok|done|succeeded|completed?|good)\b/i.test(line);
    return inSelftest && !over ? `the harness was at: ${line.slice(0, 140)}` : undefined;
  }
  const modes = [...command.matchAll(/\bSCENARIO_MODE=["']?(\w+)/g)].map(([, mode]) => mode);
  return modes.length > 0 && modes.every((mode) => mode === 'selftest')
    ? 'the scenario was testing itself (SCENARIO_MODE=selftest)'
    : undefined;
}
