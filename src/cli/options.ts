/** The options of the verbs: how each is written, what its help says, and what its value becomes. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Diagnostic, wrong } from '../core/diagnostic.ts';
import { sandboxWords } from '../core/policy/confinement.ts';
import { passesAll } from '../core/policy/secrets.ts';
import { parsePoint } from '../core/records/names.ts';
import { duration, isVariableName, tooLarge } from '../core/settings/types.ts';

/** A value that an option cannot have; the command line prints it. */
export class BadValue extends Error {
  readonly problem: Diagnostic;
  constructor(message: string, fix: string) {
    super(message);
    this.problem = wrong('usage', message, fix);
  }
}

/** An option; `read` makes its value of what was typed, and of the values before it. */
export function option<T>(flags: string, about: string, read?: (typed: string, before: T) => T): Option {
  const made = new Option(flags, about);
  return read === undefined ? made : made.argParser(read);
}

export function withOptions(command: Command, options: readonly Option[]): Command {
  for (const one of options) command.addOption(one);
  return command;
}

export const notEmpty = (value: string): string => {
  if (value.trim() === '') throw new InvalidArgumentError('The value is empty.');
  return value;
};

export const repeatable = (value: string, before: readonly string[] = []): readonly string[] => [
  ...before,
  value,
];

/** A whole number of `least` at least, and of `most` at most. */
export const wholeNumber =
  (least: number, most = Number.MAX_SAFE_INTEGER) =>
  (value: string): number => {
    const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
    if (Number.isSafeInteger(number) && number >= least && number <= most) return number;
    const range = most === Number.MAX_SAFE_INTEGER ? `, ${least} or greater` : ` from ${least} to ${most}`;
    throw new InvalidArgumentError(`It must be a whole number${range}.`);
  };

const whole = (flag: string, least: number, example: number) => (value: string) => {
  const text = value.trim();
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(number) && number >= least) return number;
  const why = number > Number.MAX_SAFE_INTEGER ? tooLarge : `is not a whole number of at least ${least}`;
  throw new BadValue(`${flag} ${value} ${why}`, `for example ${flag} ${example}`);
};

export const milliseconds = (flag: string, example: string) => (value: string) => {
  const read = duration().read({ kind: 'string', text: value });
  if (read.ok) return read.value;
  throw new BadValue(`${flag} ${value} ${read.why}`, `for example ${flag} ${example}`);
};

function dollars(value: string): number {
  const flag = '--max-cost-usd';
  const number = /^\d+(?:\.\d+)?$/.test(value.trim()) ? Number(value) : Number.NaN;
  if (Number.isFinite(number)) return number;
  const why = Number.isNaN(number) ? 'is not a number of at least 0' : 'is too large';
  throw new BadValue(`${flag} ${value} ${why}`, `for example ${flag} 2.50`);
}

function sandboxWord(value: string): string {
  if (sandboxWords.some((word) => word === value)) return value;
  throw new BadValue(
    `--sandbox ${value} is none of ${sandboxWords.join(', ')}`,
    'for example --sandbox bwrap, which refuses to run where nodes cannot be confined',
  );
}

function unknownCost(value: string): string {
  if (value === 'stop' || value === 'allow') return value;
  throw new BadValue(`--unknown-cost ${value} is neither stop nor allow`, 'for example --unknown-cost allow');
}

/** Names of variables, with commas between them. */
function variableNames(value: string, before: readonly string[] = []): readonly string[] {
  const names = value
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const bad = names.find((name) => name !== passesAll && !isVariableName(name));
  if (bad === undefined) return [...before, ...names];
  throw new BadValue(
    `--env-pass: "${bad}" is no name of a variable`,
    'names stand alone or with commas between them: --env-pass A_KEY,B_TOKEN; * is all of them',
  );
}

function variable(value: string, before: Readonly<Record<string, string>> = {}) {
  const at = value.indexOf('=');
  if (at > 0) return { ...before, [value.slice(0, at)]: value.slice(at + 1) };
  throw new BadValue(`--var ${value} is not NAME=VALUE`, 'for example --var spec=my-spec.md');
}

/** An execution of a node. */
export const point = (flag: string) => (value: string) => {
  const read = parsePoint(value);
  if (!('problem' in read)) return read;
  throw new BadValue(`${flag} ${read.problem}`, read.fix.replace('--at', flag));
};

export const runsdir = (about = 'directory of the runs (default: .factory/runs)') =>
  option('--runsdir <dir>', about, notEmpty);
export const runIdOption = (about = 'id of the run (default: a ULID)') => option('--run-id <id>', about);
export const json = (about = 'print the result as JSON') => option('--json', about);
export const noColor = () => option('--no-color', 'disable colors (also: NO_COLOR)');
/** Of a verb that reads one run. */
export const looking = (about?: string) => [runsdir(), json(about), noColor()];

/** Values of `--agent`. */
export const everyAgent =
  'openai, codex, claude, command, scripted, fake, stub; a comma-separated list is tried in order';

/** How much a verb that runs nodes prints, and how; `quiet` and `verbose` say what the two flags do there. */
export const logOptions = (quiet = 'print errors only', verbose = 'print debug records too') => [
  option('-q, --quiet', quiet).conflicts('verbose'),
  option('-v, --verbose', verbose),
  option('--log-level <level>', 'lowest level to log (also: FACTORY_LOG_LEVEL)').choices([
    'debug',
    'info',
    'warn',
    'error',
  ]),
  option('--log-format <format>', 'format of log records (also: FACTORY_LOG_FORMAT)').choices([
    'text',
    'json',
  ]),
  noColor(),
];

/** What a run may spend and reach: of every verb that starts one. */
export const boundOptions = () => [
  option('--sandbox <word>', 'sandbox of the nodes: auto, bwrap, none (default: auto)', sandboxWord),
  option('--env-pass <names>', 'secrets that nodes may read, by name (* for all); repeatable', variableNames),
  option('--max-cost-usd <usd>', 'cost limit of the model calls, in US dollars', dollars),
  option(
    '--max-tokens <n>',
    'token limit of the model calls, input and output together',
    whole('--max-tokens', 0, 500_000),
  ),
  option(
    '--unknown-cost <word>',
    'under a cost limit: stop (default) or allow calls of unknown cost',
    unknownCost,
  ),
  option('--prices <file>', 'file with prices that replace bundled ones (also: FACTORY_PRICES)', notEmpty),
];

/** Of every verb that runs the nodes of a pipeline: variables, agents, limits, output. */
export const runningOptions = () => [
  ...boundOptions(),
  option('--var <name=value>', 'set a variable of the pipeline; repeatable', variable),
  option('--agent <name>', `agent to use: ${everyAgent}`, notEmpty),
  option('--model <name>', 'model for nodes without llm_model', notEmpty),
  option(
    '--effort <word>',
    'reasoning effort for nodes without one: none, minimal, low, medium, high, xhigh',
    notEmpty,
  ),
  option('--script <file>', 'agent script with prepared answers (implies --agent scripted)'),
  option('--max-steps <n>', 'limit of node executions in the run', whole('--max-steps', 1, 500)),
  option(
    '--max-visits <n>',
    'limit of executions per node, instead of the limits in the graph',
    whole('--max-visits', 1, 100),
  ),
  option('--max-wall <duration>', 'time limit of the run, such as 2h', milliseconds('--max-wall', '2h')),
  option(
    '--park-after <duration>',
    'longest wait for a quota or an outage before the run is suspended (default: 2m)',
    milliseconds('--park-after', '10m'),
  ),
  option(
    '--max-outage <duration>',
    'with --wait: longest outage that is waited for (default: 8h)',
    milliseconds('--max-outage', '12h'),
  ),
  option('--wait', 'wait while the run is suspended, then resume it'),
  json(),
  ...logOptions(),
];

/** Defaults of a compilation; other runs have those of the engine. */
export const compileDefaults = { model: 'gpt-5.2-codex', effort: 'medium', attempts: 5 } as const;

/** Of `plan SPEC`. */
export const compileOptions = () => [
  ...boundOptions(),
  ...logOptions('print errors only', 'print debug records and every finding of every attempt'),
  option('--spec <file>', 'the spec, as a flag', notEmpty),
  option('--outdir <dir>', 'also write the work orders to this directory', notEmpty),
  option('--overwrite', 'replace existing work orders'),
  option('--template <file>', 'prompt template with {{PRODUCT_SPEC}}', notEmpty),
  option('--artifacts-dir <dir>', 'directory for the artifacts (default: $ARTIFACTS_DIR, else ./artifacts)'),
  option('--repo <dir>', 'plan changes of the files in this directory (default: an empty one)', notEmpty),
  option('--print-summary', 'print compile_summary.json at the end'),
  option('--strict', 'also refuse shell syntax and commands that a build would refuse'),
  option('--model <name>', `model to use (default: ${compileDefaults.model})`),
  option('--effort <level>', `reasoning effort (default: ${compileDefaults.effort})`),
  option('--max-attempts <n>', `answers to check before giving up (default: ${compileDefaults.attempts})`),
  option('--agent <name>', `agent to use: ${everyAgent}`),
  option('--script <file>', 'agent script with prepared answers for the nodes plan and revise'),
  runsdir(),
  runIdOption(),
  json('print the run record as JSON'),
];

/** What `--notify` sends to: a command line, or the URL of a server. */
function notifyTarget(value: string): string {
  const target = notEmpty(value).trim();
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(target)?.[1];
  if (scheme === undefined) return target;
  const bad = (why: string) =>
    new BadValue(`--notify: ${why}`, 'for example --notify https://example.org/hook');
  if (!/^https?$/i.test(scheme)) throw bad(`${scheme} is neither http nor https`);
  if (!URL.canParse(target)) throw bad('this is not a URL');
  const { username, password } = new URL(target);
  if (username !== '' || password !== '') throw bad('the URL must not have a user or password');
  return target;
}

/** Of the verbs whose run can continue in the background. */
export const detachOptions = () => [
  option('--detach', 'run in the background: print the run id and exit'),
  option(
    '--notify <command|url>',
    'when the run ends or is suspended, pass a JSON notice to this command or POST it to this URL',
    notifyTarget,
  ),
];

/** Of the verbs that start or resume a run. */
export const runOptions = () => [
  runsdir(),
  option(
    '--workdir <dir>',
    'directory to copy into the run (default: the graph attribute workdir, else .)',
    notEmpty,
  ),
  ...detachOptions(),
  ...runningOptions(),
  option('--accept-changes', 'resume with a changed pipeline, prompts or flags'),
  option('--now', 'resume a suspended run before its time'),
  option('--take-over', 'take over a run whose owner is stopped or on another host, without waiting'),
];

/** The default model. */
export const defaultModel = 'gpt-5.2';
