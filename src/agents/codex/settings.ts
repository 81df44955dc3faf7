/** What a node and the environment say about codex: attributes first, then `ATTRACTOR_CODEX_*`. */
import type { AgentTask } from '../agent.ts';
import {
  BadSetting,
  type Environment,
  isTrue,
  listed,
  type ProgramSettings,
  pathIn,
  programSettings,
  settingSource,
  settingsOr,
} from '../program/settings.ts';

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

export type CodexDefaults = {
  readonly env: Environment;
  /** `--model` and `--effort`. */
  readonly model?: string;
  readonly effort?: string;
};

/** Everything, or what is wrong and where. Pure. */
export const readSettings = (
  task: Pick<AgentTask, 'attributes' | 'workspace'>,
  defaults: CodexDefaults,
): { readonly settings: CodexSettings } | { readonly problem: string } =>
  settingsOr(() => {
    const source = settingSource('codex', 'ATTRACTOR_CODEX', task, defaults.env);
    const { setting, flag } = source;
    const path = setting('path') ?? { text: 'codex', from: 'codex.path' };
    const commands = listed(setting('auto_approve_commands')).map(({ text }) => text);
    const key = setting('auto_approve_config_key')?.text;
    if (commands.length > 0 && key === undefined)
      throw new BadSetting('codex.auto_approve_commands requires codex.auto_approve_config_key');
    const json = setting('json');
    return {
      ...programSettings(source, path, defaults, '_seconds'),
      sandbox: setting('sandbox')?.text ?? 'workspace-write',
      approval: setting('approval')?.text,
      profile: setting('profile')?.text,
      addDirs: listed(setting('add_dirs')).map((one) => pathIn(task.workspace, one)),
      overrides: (setting('config_overrides')?.text ?? '')
        .split(';;')
        .map((one) => one.trim())
        .filter((one) => one !== ''),
      autoApprove: commands.length === 0 || key === undefined ? undefined : { key, commands },
      strictReadScope: flag('strict_read_scope'),
      disableMcp: flag('disable_mcp'),
      skipGitRepoCheck: flag('skip_git_repo_check'),
      bypass: flag('dangerous_bypass'),
      json: json === undefined ? undefined : isTrue(json),
    };
  });
