/** What a node and the environment say about claude: attributes first, then `FACTORY_CLAUDE_*`. */

import { own } from '../../model/own.ts';
import { splitWords } from '../../policy/words.ts';
import type { AgentTask } from '../agent.ts';
import {
  Bad,
  blocked,
  type Given,
  given,
  isTrue,
  listed,
  pathIn,
  scenarios,
  settingsOr,
  time,
  variableName,
} from '../program/words.ts';

export type ClaudeSettings = {
  /** As it was configured, and absolute unless it is a name to be searched on PATH. */
  readonly executable: { readonly configured: string; readonly path: string };
  /** Where it starts, absolute. */
  readonly workdir: string;
  readonly model: string | undefined;
  /** `low`, `medium`, `high` or `xhigh`, its own words. */
  readonly effort: string | undefined;
  readonly permissionMode: string;
  /** In its own notation: `Bash(git *),Edit`. */
  readonly allowedTools: string;
  readonly disallowedTools: string | undefined;
  readonly maxTurns: number | undefined;
  /** Absolute. */
  readonly addDirs: readonly string[];
  /** A file or a JSON text. */
  readonly settings: string | undefined;
  /** Further words of its command line. */
  readonly args: readonly string[];
  /** Relative to the workspace. */
  readonly hidden: readonly string[];
  readonly timeoutMs: number | undefined;
  readonly heartbeatMs: number;
  readonly envKeys: readonly string[];
};

export type ClaudeDefaults = {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `--model` and `--effort`. */
  readonly model?: string;
  readonly effort?: string;
};

/** The program's own list of modes; another one it refuses itself, after its start. */
const modes = ['acceptEdits', 'auto', 'bypassPermissions', 'default', 'dontAsk', 'manual', 'plan'];

/** Nobody is there to be asked: what it may do it is told at its start. Reading needs no leave. */
const usualTools = 'Bash,Edit,Write,NotebookEdit';

/** Everything, or what is wrong and where. Pure. */
export const readSettings = (
  task: Pick<AgentTask, 'attributes' | 'workspace'>,
  defaults: ClaudeDefaults,
): { readonly settings: ClaudeSettings } | { readonly problem: string } =>
  settingsOr(() => read(task, defaults));

function read(
  { attributes, workspace }: Pick<AgentTask, 'attributes' | 'workspace'>,
  { env, model, effort }: ClaudeDefaults,
): ClaudeSettings {
  const attribute = (name: string): Given | undefined => given(own(attributes, name), name);
  const variable = (name: string): Given | undefined => {
    const from = `FACTORY_CLAUDE_${name.toUpperCase()}`;
    return given(env[from], from);
  };
  const either = (name: string): Given | undefined => attribute(`claude.${name}`) ?? variable(name);
  const path = either('path') ?? { text: 'claude', from: 'claude.path' };
  const workdir = either('workdir');
  const mode = either('permission_mode');
  if (mode !== undefined && !modes.includes(mode.text))
    throw new Bad(`${mode.from} is "${mode.text}", which is none of ${modes.join(', ')}`);
  return {
    executable: {
      configured: path.text,
      path: path.text.includes('/') || path.text.includes('..') ? pathIn(workspace, path) : path.text,
    },
    workdir: workdir === undefined ? workspace : pathIn(workspace, workdir).replace(/(?<=.)\/+$/, ''),
    model:
      attribute('claude.model')?.text ??
      attribute('llm_model')?.text ??
      model ??
      variable('model')?.text ??
      given(env['FACTORY_MODEL'], 'FACTORY_MODEL')?.text,
    effort: effortOf(
      attribute('reasoning_effort')?.text ?? effort ?? given(env['FACTORY_EFFORT'], 'FACTORY_EFFORT')?.text,
    ),
    permissionMode: mode?.text ?? 'acceptEdits',
    allowedTools: either('allowed_tools')?.text ?? usualTools,
    disallowedTools: either('disallowed_tools')?.text,
    maxTurns: turns(either('max_turns')),
    addDirs: listed(either('add_dirs')).map((one) => pathIn(workspace, one)),
    settings: either('settings')?.text,
    args: words(either('args')),
    hidden: [
      ...(isTrue(attribute('claude.allow_read_scenarios')) ? [] : [scenarios]),
      ...listed(either('block_read_paths')).map(blocked),
    ],
    timeoutMs: time(either('timeout')),
    heartbeatMs: time(either('heartbeat')) ?? 15_000,
    envKeys: listed(either('env_keys')).map(variableName),
  };
}

/** It has no words for thinking less than little. */
const effortOf = (word: string | undefined): string | undefined =>
  word === 'none' || word === 'minimal' ? 'low' : word;

function turns(said: Given | undefined): number | undefined {
  if (said === undefined) return undefined;
  if (!/^\d+$/.test(said.text) || Number(said.text) === 0)
    throw new Bad(`${said.from} is "${said.text}", which is no number of turns of at least 1`);
  return Number(said.text);
}

function words(said: Given | undefined): readonly string[] {
  if (said === undefined) return [];
  const split = splitWords(said.text);
  if ('problem' in split) throw new Bad(`${said.from}: ${split.problem} (at character ${split.at + 1})`);
  return split.words;
}
