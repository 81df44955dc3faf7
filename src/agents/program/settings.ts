/** Reads what a node and the environment say about an agent's program: attributes first, then variables. */
import { isAbsolute, join, normalize } from 'node:path';
import type { AgentTask } from '../../core/contracts/agent.ts';
import type { Environment } from '../../core/contracts/process.ts';
import { own } from '../../core/json.ts';
import { splitWords } from '../../core/policy/words.ts';
import { durationMs } from '../../core/settings/types.ts';

/** A text and where it comes from, for messages. */
export type GivenText = { readonly text: string; readonly from: string };

/** What is wrong and where; thrown while settings are read, and caught by `settingsOr`. */
export class BadSetting extends Error {}

/** Settings that all agent programs have. */
export type ProgramSettings = {
  /** As configured, and absolute unless it is a name to be searched on PATH. */
  readonly executable: { readonly configured: string; readonly path: string };
  /** Where it starts, absolute. */
  readonly workdir: string;
  readonly model: string | undefined;
  readonly effort: string | undefined;
  /** Further names of variables that hold its keys. */
  readonly envKeys: readonly string[];
  /** Paths that it must not read, relative to the workspace. */
  readonly hidden: readonly string[];
  readonly timeoutMs: number | undefined;
  readonly heartbeatMs: number;
};

/** The texts of one agent's settings. */
export type SettingSource = {
  readonly agent: string;
  readonly workspace: string;
  readonly env: Environment;
  attribute(name: string): GivenText | undefined;
  variable(name: string): GivenText | undefined;
  /** The attribute `<agent>.<name>`, else its variable. */
  setting(name: string): GivenText | undefined;
  /** Whether the attribute `<agent>.<name>` or its variable is true. */
  flag(name: string): boolean;
};

/** `prefix`: of its variables, such as `FACTORY_CLAUDE`. */
export function settingSource(
  agent: string,
  prefix: string,
  { attributes, workspace }: Pick<AgentTask, 'attributes' | 'workspace'>,
  env: Environment,
): SettingSource {
  const attribute = (name: string) => given(own(attributes, name), name);
  const variable = (name: string) => {
    const from = `${prefix}_${name.toUpperCase()}`;
    return given(env[from], from);
  };
  return {
    agent,
    workspace,
    env,
    attribute,
    variable,
    setting: (name) => attribute(`${agent}.${name}`) ?? variable(name),
    flag: (name) => isTrue(attribute(`${agent}.${name}`)) || isTrue(variable(name)),
  };
}

/** `flags`: `--model` and `--effort`. `unit`: what the names of its times end with. */
export function programSettings(
  source: SettingSource,
  program: GivenText,
  flags: { readonly model?: string; readonly effort?: string },
  unit: '' | '_seconds' = '',
): ProgramSettings {
  const { agent, workspace, env, attribute, variable, setting } = source;
  const workdir = setting('workdir');
  const time = (name: string) =>
    milliseconds(attribute(`${agent}.${name}${unit}`)) ?? milliseconds(variable(`${name}${unit}`));
  const { text } = program;
  return {
    executable: {
      configured: text,
      path: text.includes('/') || text.includes('..') ? pathIn(workspace, program) : text,
    },
    workdir: workdir === undefined ? workspace : pathIn(workspace, workdir).replace(/(?<=.)\/+$/, ''),
    model:
      attribute(`${agent}.model`)?.text ??
      attribute('llm_model')?.text ??
      flags.model ??
      variable('model')?.text ??
      given(env['FACTORY_MODEL'], '')?.text,
    effort: attribute('reasoning_effort')?.text ?? flags.effort ?? given(env['FACTORY_EFFORT'], '')?.text,
    envKeys: listedEntries(setting('env_keys')).map(variableName),
    hidden: [
      ...(isTrue(attribute(`${agent}.allow_read_scenarios`)) ? [] : [scenarios]),
      ...listedEntries(setting('block_read_paths')).map(hiddenPath),
    ],
    timeoutMs: time('timeout'),
    heartbeatMs: time('heartbeat') ?? 15_000,
  };
}

/** Hidden from agents unless the node allows it. */
const scenarios = 'scripts/scenarios/';

/** What `read` returns, or the message of the `BadSetting` that it threw. */
export function settingsOr<T>(read: () => T): { readonly settings: T } | { readonly problem: string } {
  try {
    return { settings: read() };
  } catch (error) {
    if (error instanceof BadSetting) return { problem: error.message };
    throw error;
  }
}

/** Undefined for a text that is missing or blank. */
export function given(text: string | undefined, from: string): GivenText | undefined {
  const trimmed = text?.trim() ?? '';
  return trimmed === '' ? undefined : { text: trimmed, from };
}

/** The entries of a comma-separated list. */
export const listedEntries = (list: GivenText | undefined): readonly GivenText[] =>
  (list?.text ?? '').split(',').flatMap((text) => given(text, list?.from ?? '') ?? []);

export const isTrue = (said: GivenText | undefined): boolean => /^(?:1|t|true|yes)$/i.test(said?.text ?? '');

/** A bare number means seconds, and 0 that nothing is set. */
function milliseconds(said: GivenText | undefined): number | undefined {
  if (said === undefined) return undefined;
  const ms = /^\d+$/.test(said.text) ? Number(said.text) * 1000 : durationMs(said.text);
  if (ms === undefined)
    throw new BadSetting(`${said.from} is "${said.text}", which is no length of time: write 900 or 15m`);
  return ms === 0 ? undefined : ms;
}

/** An absolute path, or one relative to the workspace made absolute. */
export function pathIn(workspace: string, { text, from }: GivenText): string {
  if (/~|\.\./.test(text)) throw new BadSetting(`${from}: "${text}" may have neither "~" nor ".."`);
  return isAbsolute(text) ? normalize(text) : join(workspace, text);
}

function hiddenPath({ text, from }: GivenText): string {
  if (isAbsolute(text) || /~|\.\./.test(text))
    throw new BadSetting(`${from}: "${text}" is not inside the workspace: no leading "/", no "~", no ".."`);
  if (/^[./]*$/.test(text)) throw new BadSetting(`${from}: "${text}" is the whole workspace`);
  return text;
}

function variableName({ text, from }: GivenText): string {
  if (!/^[A-Za-z_]\w*$/.test(text)) throw new BadSetting(`${from}: "${text}" is no name of a variable`);
  return text;
}

/** The words of a command line, split without a shell. */
export function wordsIn({ text, from }: GivenText): readonly string[] {
  const split = splitWords(text);
  if ('problem' in split) throw new BadSetting(`${from}: ${split.problem} (at character ${split.at + 1})`);
  return split.words;
}

/** One of a few words. */
export function oneOf<const W extends string>(
  said: GivenText | undefined,
  words: readonly W[],
  byDefault: W,
): W {
  if (said === undefined) return byDefault;
  const found = words.find((word) => word === said.text);
  if (found === undefined)
    throw new BadSetting(`${said.from} is "${said.text}", which is none of ${words.join(', ')}`);
  return found;
}
