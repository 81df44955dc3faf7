/** What a node and the environment say about claude: attributes first, then `FACTORY_CLAUDE_*`. */
import type { AgentTask } from '../agent.ts';
import {
  BadSetting,
  type Environment,
  type Given,
  listed,
  oneOf,
  type ProgramSettings,
  pathIn,
  programSettings,
  settingSource,
  settingsOr,
  wordsIn,
} from '../program/settings.ts';

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

export type ClaudeDefaults = {
  readonly env: Environment;
  /** `--model` and `--effort`. */
  readonly model?: string;
  readonly effort?: string;
};

/** The program's own list of modes; another one it refuses itself, after its start. */
const modes = ['acceptEdits', 'auto', 'bypassPermissions', 'default', 'dontAsk', 'manual', 'plan'] as const;

/** It runs non-interactively: its permissions are fixed at launch. Reading needs none. */
const usualTools = 'Bash,Edit,Write,NotebookEdit';

/** Everything, or what is wrong and where. Pure. */
export const readSettings = (
  task: Pick<AgentTask, 'attributes' | 'workspace'>,
  defaults: ClaudeDefaults,
): { readonly settings: ClaudeSettings } | { readonly problem: string } =>
  settingsOr(() => {
    const source = settingSource('claude', 'FACTORY_CLAUDE', task, defaults.env);
    const { setting } = source;
    const path = setting('path') ?? { text: 'claude', from: 'claude.path' };
    const common = programSettings(source, path, defaults);
    const args = setting('args');
    return {
      ...common,
      // It has no lower word.
      effort: common.effort === 'none' || common.effort === 'minimal' ? 'low' : common.effort,
      permissionMode: oneOf(setting('permission_mode'), modes, 'acceptEdits'),
      allowedTools: setting('allowed_tools')?.text ?? usualTools,
      disallowedTools: setting('disallowed_tools')?.text,
      maxTurns: turns(setting('max_turns')),
      addDirs: listed(setting('add_dirs')).map((one) => pathIn(task.workspace, one)),
      settings: setting('settings')?.text,
      args: args === undefined ? [] : wordsIn(args),
    };
  });

function turns(said: Given | undefined): number | undefined {
  if (said === undefined) return undefined;
  if (!/^\d+$/.test(said.text) || Number(said.text) === 0)
    throw new BadSetting(`${said.from} is "${said.text}", which is no number of turns of at least 1`);
  return Number(said.text);
}
