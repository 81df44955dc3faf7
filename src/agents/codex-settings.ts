/** What a node and the environment say about codex: attributes first, then `ATTRACTOR_CODEX_*`. */
import { join, resolve } from 'node:path';
import type { Environment } from '../core/contracts/process.ts';
import { isReadOnly } from '../core/settings/node.ts';
import {
  type AttributeTable,
  anyPath,
  anyPaths,
  attr,
  duration,
  flag,
  list,
  paths,
  text,
  trimmed,
} from '../core/settings/types.ts';
import type { HomeNames } from './program/home.ts';
import {
  BadSetting,
  type ProgramDefaults,
  type ProgramSettings,
  pathIn,
  programSettings,
  readSettings,
  type SettingsTask,
  settingsOr,
} from './program/settings.ts';

export const codexAttributes = {
  'codex.path': attr(anyPath(), 'The program; a name is looked up on PATH.', { unset: 'codex' }),
  'codex.workdir': attr(anyPath(), 'Its working directory (`-C`); may be absolute.', {
    unset: 'the workspace',
  }),
  'codex.add_dirs': attr(anyPaths(), 'Further directories that it may use (`--add-dir`).'),
  'codex.sandbox': attr(trimmed(), 'Its own sandbox (`-s`).', { unset: 'workspace-write' }),
  'codex.approval': attr(trimmed(), 'Its approval policy (`-a`).'),
  'codex.model': attr(trimmed(), 'Its model (`-m`).', { unset: 'llm_model' }),
  'codex.profile': attr(trimmed(), 'Its profile (`-p`).'),
  'codex.config_overrides': attr(text(), 'Values for `-c`, separated by `;;`.'),
  'codex.auto_approve_commands': attr(
    list(),
    'Commands that it may run without asking, written as `-c KEY=["…"]`.',
  ),
  'codex.auto_approve_config_key': attr(trimmed(), 'The KEY of codex.auto_approve_commands.'),
  'codex.skip_git_repo_check': attr(flag(), 'Passes `--skip-git-repo-check`.', { default: 'false' }),
  'codex.dangerous_bypass': attr(flag(), 'Passes `--dangerously-bypass-approvals-and-sandbox`.', {
    default: 'false',
  }),
  'codex.disable_mcp': attr(flag(), 'Disables its server `memory_ops`.', { default: 'false' }),
  'codex.timeout_seconds': attr(
    duration(),
    "Seconds or a duration that it may take; replaces the default timeout of the node, not the node's own.",
  ),
  'codex.heartbeat_seconds': attr(duration(), 'The interval of log records while it runs.', { unset: '15s' }),
  'codex.env_keys': attr(list(), 'Variables with its keys, besides OPENAI_API_KEY and CODEX_API_KEY.'),
  'codex.json': attr(flag(), 'Whether `--json` is passed.', { unset: 'yes, unless the program is a script' }),
  'codex.block_read_paths': attr(paths(), 'Paths of the workspace that the agent cannot read.'),
  'codex.strict_read_scope': attr(
    flag(),
    'Hides everything but codex.workdir, codex.add_dirs and a program in the workspace.',
    { default: 'false' },
  ),
} as const satisfies AttributeTable;

/** Where codex keeps its configuration and login, absolute; undefined where there is neither CODEX_HOME nor a home. */
export function codexHome(env: Environment): string | undefined {
  const folder = env['CODEX_HOME']?.trim() ?? '';
  if (folder !== '') return resolve(folder);
  const home = env['HOME']?.trim() ?? '';
  return home === '' ? undefined : join(resolve(home), '.codex');
}

/** In its home: its logins, which programs it runs, and what it is instructed in every session. Not its `installation_id`: it opens
 *  that for writing, ends where it cannot, and makes another one. */
export const codexNames: HomeNames = {
  login: ['auth.json', '.credentials.json'],
  settings:
    /^(?:.*\.toml|\.env|hooks(?:\.json)?|rules|prompts|agents|plugins|AGENTS(?:\.override)?\.md|version\.json)$/,
  shared: ['skills'],
};

export type CodexSettings = ProgramSettings & {
  readonly sandbox: string;
  readonly approval: string | undefined;
  readonly profile: string | undefined;
  /** Absolute. */
  readonly addDirs: readonly string[];
  readonly overrides: readonly string[];
  readonly autoApprove: { readonly key: string; readonly commands: readonly string[] } | undefined;
  readonly strictReadScope: boolean;
  readonly disableMcp: boolean;
  readonly skipGitRepoCheck: boolean;
  readonly bypass: boolean;
  /** Whether its output is asked for as JSON lines; undefined where the program decides. */
  readonly json: boolean | undefined;
};

/** Everything, or what is wrong and where. Pure. */
export const readCodexSettings = (
  task: SettingsTask,
  defaults: ProgramDefaults,
): { readonly settings: CodexSettings } | { readonly problem: string } =>
  settingsOr(() => {
    const { values, from } = readSettings(['codex', codexAttributes, 'ATTRACTOR_CODEX'], task, defaults.env);
    const { auto_approve_commands: commands, auto_approve_config_key: key } = values;
    if (commands !== undefined && key === undefined)
      throw new BadSetting('codex.auto_approve_commands requires codex.auto_approve_config_key');
    const readOnly = isReadOnly(task.settings);
    const times = { timeout: values.timeout_seconds, heartbeat: values.heartbeat_seconds };
    const common = { ...values, ...times, path: values.path ?? 'codex' };
    return {
      ...programSettings('codex', { values: common, from }, task, defaults),
      sandbox: readOnly ? 'read-only' : (values.sandbox ?? 'workspace-write'),
      approval: values.approval,
      profile: values.profile,
      addDirs: (values.add_dirs ?? []).map((one) => pathIn(task.workspace, one)),
      overrides: (values.config_overrides ?? '')
        .split(';;')
        .map((one) => one.trim())
        .filter((one) => one !== ''),
      autoApprove: commands === undefined || key === undefined ? undefined : { key, commands },
      strictReadScope: values.strict_read_scope === true,
      disableMcp: values.disable_mcp === true,
      skipGitRepoCheck: values.skip_git_repo_check === true,
      bypass: values.dangerous_bypass === true && !readOnly,
      json: values.json,
    };
  });
