/** The options of the verbs: how each is written, what its help says, and what its value becomes. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Environment } from '../core/contracts/process.ts';
import { type Diagnostic, wrong } from '../core/diagnostic.ts';
import { labelForm, labelFormWords, priorityBound } from '../core/records/job.ts';
import { parsePoint } from '../core/records/names.ts';
import { flagOfSetting, runSettings, type SettingName, settingNames } from '../core/settings/run.ts';
import { type AttributeSpec, type AttributeType, bytes, duration } from '../core/settings/types.ts';
import type { TypedFlag } from '../keeper/passed-flags.ts';

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

/** The flag of a setting: its text is read like the attribute's, and its value has the setting's name. */
export function settingOption(name: SettingName): Option {
  const spec: AttributeSpec = runSettings[name];
  const { flag = '', help = spec.does, variable } = spec;
  const more = [
    ...(spec.default === undefined ? [] : [`(default: ${spec.default})`]),
    ...(variable === undefined ? [] : [`(also: ${variable})`]),
  ];
  const read = readAs(flagOfSetting(spec), spec, spec.example);
  const made = option<unknown>(flag, [help, ...more].join(' '), (typed, before) => {
    const value = read(notEmpty(typed));
    return Array.isArray(value) && Array.isArray(before) ? [...before, ...value] : value;
  });
  made.attributeName = () => name;
  if (spec.words !== undefined) made.argChoices = [...spec.words];
  return made;
}

/** The same for a run that another process begins: its value is kept with the texts that gave it. */
function passedOption(name: SettingName): Option {
  const made = settingOption(name);
  const read = made.parseArg as (typed: string, before: unknown) => unknown;
  return made.argParser<TypedFlag | undefined>((typed, before) => ({
    value: read(typed, before?.value),
    typed: [...(before?.typed ?? []), typed],
  }));
}

/** The flag of an option with this name. */
export const flagOfOption = (name: string): string =>
  name in runSettings
    ? flagOfSetting(runSettings[name as SettingName])
    : `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** Reads the value of a flag. */
const readAs =
  <T>(flag: string, type: AttributeType<T>, example: string) =>
  (typed: string): T => {
    const read = type.read({ kind: 'string', text: typed });
    if (read.ok) return read.value;
    throw new BadValue(`${flag} ${typed} ${read.why}`, `for example ${flag} ${example}`);
  };

export const milliseconds = (flag: string, example: string) => readAs(flag, duration(), example);
/** In bytes. */
export const size = (flag: string, example: string) => readAs(flag, bytes(0), example);

/** Of every verb that starts a run. */
const boundSettings: readonly SettingName[] = [
  ...(['sandbox', 'env_pass', 'max_cost_usd', 'max_tokens', 'unknown_cost', 'prices'] as const),
];
/** Those that only some of these verbs have. */
const someSettings: readonly SettingName[] = ['workdir', 'holdout_from', 'labels', 'name'];
const runningSettings = settingNames.filter(
  (name) => 'flag' in runSettings[name] && !boundSettings.includes(name) && !someSettings.includes(name),
);

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
/** Where the queue is, of every verb that uses it. */
export const dbOption = () =>
  option(
    '--db <url>',
    'the queue of the runs directory is in this PostgreSQL database (also: FACTORY_DB)',
    notEmpty,
  );
/** The database that a verb names, or its environment. */
export const databaseUrlOf = (
  { db }: { readonly db?: string },
  { env }: { readonly env: Environment },
): string | undefined => {
  const url = db ?? env['FACTORY_DB']?.trim();
  return url === '' ? undefined : url;
};
export const runIdOption = (about = 'id of the run (default: a ULID)') => option('--run-id <id>', about);
export const json = (about = 'print the result as JSON') => option('--json', about);
export const noColor = () => option('--no-color', 'disable colors (also: NO_COLOR)');
/** Of a verb that reads one run. */
export const looking = (about?: string) => [runsdir(), json(about), noColor()];

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
export const boundOptions = () => boundSettings.map(settingOption);

/** Of every verb that runs the nodes of a pipeline: variables, agents, limits, output. */
export const runningOptions = () => [
  ...boundOptions(),
  option('--var <name=value>', 'set a variable of the pipeline; repeatable', variable),
  ...runningSettings.map(settingOption),
  option('--wait', 'wait while the run is suspended, then resume it'),
  json(),
  ...logOptions(),
];

/** A priority, also below 0. */
export const priorityOption = (about = 'a higher one goes first (default: 0)') =>
  option(`--priority <n>`, about, (typed) => {
    const number = /^[+-]?\d+$/.test(typed) ? Number(typed) : Number.NaN;
    if (Math.abs(number) <= priorityBound) return number;
    throw new InvalidArgumentError(`It must be a whole number from -${priorityBound} to ${priorityBound}.`);
  });

export const notBeforeOption = () =>
  option('--not-before <time>', 'begin at this time or later: 22:00, 2026-03-01T22:00:00Z or 8h', notEmpty);

/** Of `submit`: how it is queued, and the flags of a run that another process begins. */
export const submitOptions = () => [
  runsdir(),
  dbOption(),
  priorityOption(),
  notBeforeOption(),
  option('--key <id>', 'id of the run: with the id of one that is there, nothing is submitted', notEmpty),
  option('--in-order', 'begin each run when the one before it has left the queue'),
  ...passedOptions(),
  json(),
  option('-q, --quiet', 'print run ids only'),
  noColor(),
];

/** Flags of `run` that a submitted run may have. */
export const passedOptions = (without: readonly SettingName[] = []) => [
  ...settingNames.filter((name) => 'flag' in runSettings[name] && !without.includes(name)).map(passedOption),
  option('--var <name=value>', 'set a variable of the pipeline; repeatable', variable),
  option('--strict', 'treat attributes without effect as errors'),
  option('--allow-dirty', 'commit uncommitted changes of the workdir first'),
  notifyOption(),
];

export function nameOfJob(typed: string): string {
  if (labelForm.test(typed)) return typed;
  throw new InvalidArgumentError(`It must be ${labelFormWords}.`);
}

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
  option('--model <name>', `model to use (default: ${compileDefaults.model}, of another provider its first)`),
  option('--effort <level>', `reasoning effort (default: ${compileDefaults.effort})`),
  option('--max-attempts <n>', `answers to check before giving up (default: ${compileDefaults.attempts})`),
  settingOption('agent'),
  settingOption('agent_script'),
  settingOption('provider'),
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

export const notifyOption = (
  about = 'when the run ends or is suspended, pass a JSON notice to this command or POST it to this URL',
) => option('--notify <command|url>', about, notifyTarget);

/** Of the verbs whose run can continue in the background. */
export const detachOptions = () => [
  option('--detach', 'run in the background: print the run id and exit'),
  notifyOption(),
];

/** Of the verbs that start or resume a run. */
export const runOptions = () => [
  runsdir(),
  settingOption('workdir'),
  ...detachOptions(),
  ...runningOptions(),
  option('--accept-changes', 'resume with a changed pipeline, prompts or flags'),
  option('--now', 'resume a suspended run before its time'),
  option('--take-over', 'take over a run whose owner is stopped or on another host, without waiting'),
];

/** The default model. */
export const defaultModel = 'gpt-5.2';
