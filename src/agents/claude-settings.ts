/** What a node and the environment say about claude: attributes first, then `FACTORY_CLAUDE_*`. */
import { join, resolve } from 'node:path';
import type { Environment } from '../core/contracts/process.ts';
import { isReadOnly } from '../core/settings/node.ts';
import {
  type AttributeTable,
  anyPath,
  anyPaths,
  attr,
  count,
  duration,
  list,
  paths,
  text,
  trimmed,
} from '../core/settings/types.ts';
import {
  BadSetting,
  type ProgramDefaults,
  type ProgramSettings,
  pathIn,
  programSettings,
  readSettings,
  type SettingsTask,
  settingsOr,
  wordsIn,
} from './program/settings.ts';

export const claudeAttributes = {
  'claude.path': attr(anyPath(), 'The program; a name is looked up on PATH.', { unset: 'claude' }),
  'claude.workdir': attr(anyPath(), 'Its working directory; may be absolute.', { unset: 'the workspace' }),
  'claude.add_dirs': attr(anyPaths(), 'Further directories that it may use (`--add-dir`).'),
  'claude.model': attr(trimmed(), 'Its model (`--model`).', { unset: 'llm_model' }),
  'claude.permission_mode': attr(trimmed(), 'Its permission mode.', { unset: 'acceptEdits' }),
  'claude.allowed_tools': attr(trimmed(), 'Tools that it may use, in its own notation.', {
    unset: 'Bash,Edit,Write,NotebookEdit',
    example: 'Bash(git *),Edit',
  }),
  'claude.disallowed_tools': attr(trimmed(), 'Tools that it may not use, in its own notation.'),
  'claude.max_turns': attr(count(1), 'It fails after this many turns.', { unset: 'no limit' }),
  'claude.settings': attr(trimmed(), 'A settings file, or the settings as JSON text.'),
  'claude.args': attr(text(), 'Further arguments, split into words without a shell.'),
  'claude.timeout': attr(
    duration(),
    "How long it may take; replaces the default timeout of the node, not the node's own.",
  ),
  'claude.heartbeat': attr(duration(), 'The interval of log records while it runs.', { unset: '15s' }),
  'claude.env_keys': attr(list(), 'Further variables with its keys.', { example: 'AWS_ACCESS_KEY_ID' }),
  'claude.block_read_paths': attr(paths(), 'Paths of the workspace that the agent cannot read.'),
} as const satisfies AttributeTable;

/** Where claude keeps its configuration, login and sessions; undefined where there is neither CLAUDE_CONFIG_DIR nor a home. */
export function claudeHome(env: Environment): string | undefined {
  const folder = env['CLAUDE_CONFIG_DIR']?.trim() ?? '';
  if (folder !== '') return resolve(folder);
  const user = env['HOME']?.trim() ?? '';
  return user === '' ? undefined : join(user, '.claude');
}

/** `effort` is `low`, `medium`, `high` or `xhigh`, its own words. */
export type ClaudeSettings = ProgramSettings & {
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
};

/** The program's own list of modes; another one it refuses itself, after its start. */
const modes = ['acceptEdits', 'auto', 'bypassPermissions', 'default', 'dontAsk', 'manual', 'plan'] as const;

/** It runs non-interactively: its permissions are fixed at launch. Reading needs none. */
const usualTools = 'Bash,Edit,Write,NotebookEdit';
const readingTools = 'Read,Glob,Grep';

/** Everything, or what is wrong and where. Pure. */
export const readClaudeSettings = (
  task: SettingsTask,
  defaults: ProgramDefaults,
): { readonly settings: ClaudeSettings } | { readonly problem: string } =>
  settingsOr(() => {
    const { values, from } = readSettings(['claude', claudeAttributes, 'FACTORY_CLAUDE'], task, defaults.env);
    const path = values.path ?? 'claude';
    const common = programSettings('claude', { values: { ...values, path }, from }, task, defaults);
    // It runs non-interactively: what is not allowed is denied.
    const readOnly = isReadOnly(task.settings);
    const mode = readOnly ? 'default' : (values.permission_mode ?? 'acceptEdits');
    if (!modes.some((known) => known === mode))
      throw new BadSetting(`${from('permission_mode')} is "${mode}", which is none of ${modes.join(', ')}`);
    return {
      ...common,
      // It has no lower word.
      effort: common.effort === 'none' || common.effort === 'minimal' ? 'low' : common.effort,
      permissionMode: mode,
      allowedTools: readOnly ? readingTools : (values.allowed_tools ?? usualTools),
      disallowedTools: readOnly
        ? [usualTools, ...(values.disallowed_tools === undefined ? [] : [values.disallowed_tools])].join(',')
        : values.disallowed_tools,
      maxTurns: values.max_turns,
      addDirs: (values.add_dirs ?? []).map((one) => pathIn(task.workspace, one)),
      settings: values.settings,
      args: wordsIn(values.args ?? '', from('args')),
    };
  });
