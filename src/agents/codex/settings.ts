/** What a node and the environment say about codex: attributes first, then `ATTRACTOR_CODEX_*`. */
import { own } from '../../model/own.ts';
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

export type CodexSettings = {
  /** As it was configured, and absolute unless it is a name to be searched on PATH. */
  readonly executable: { readonly configured: string; readonly path: string };
  readonly sandbox: string;
  readonly approval: string | undefined;
  /** Absolute. */
  readonly workdir: string;
  readonly model: string | undefined;
  readonly profile: string | undefined;
  readonly effort: string | undefined;
  /** Absolute. */
  readonly addDirs: readonly string[];
  readonly overrides: readonly string[];
  readonly autoApprove: { readonly key: string; readonly commands: readonly string[] } | undefined;
  /** Relative to the workspace. */
  readonly hidden: readonly string[];
  readonly strictReadScope: boolean;
  readonly disableMcp: boolean;
  readonly skipGitRepoCheck: boolean;
  readonly bypass: boolean;
  readonly timeoutMs: number | undefined;
  readonly heartbeatMs: number;
  /** Further names of variables that hold its keys. */
  readonly envKeys: readonly string[];
  /** Whether its output is asked for as JSON lines; undefined where the program decides. */
  readonly json: boolean | undefined;
};

export type CodexDefaults = {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `--model` and `--effort`. */
  readonly model?: string;
  readonly effort?: string;
};

type Task = Pick<AgentTask, 'attributes' | 'workspace'>;
/** Everything, or what is wrong and where. Pure. */
export function readSettings(
  task: Task,
  defaults: CodexDefaults,
): { readonly settings: CodexSettings } | { readonly problem: string } {
  return settingsOr(() => read(task, defaults));
}

function read(task: Task, { env, model, effort }: CodexDefaults): CodexSettings {
  const { workspace } = task;
  const attribute = (name: string): Given | undefined => given(own(task.attributes, name), name);
  const either = (name: string): Given | undefined => {
    const variable = `ATTRACTOR_CODEX_${name.toUpperCase()}`;
    return attribute(`codex.${name}`) ?? given(env[variable], variable);
  };
  const inWorkspace = (one: Given): string => pathIn(workspace, one);
  const path = either('path') ?? { text: 'codex', from: 'codex.path' };
  const commands = listed(either('auto_approve_commands'));
  const key = either('auto_approve_config_key')?.text;
  if (commands.length > 0 && key === undefined)
    throw new Bad('codex.auto_approve_commands requires codex.auto_approve_config_key');
  const workdir = either('workdir');
  return {
    executable: {
      configured: path.text,
      path: path.text.includes('/') || path.text.includes('..') ? inWorkspace(path) : path.text,
    },
    sandbox: either('sandbox')?.text ?? 'workspace-write',
    approval: either('approval')?.text,
    workdir: workdir === undefined ? workspace : inWorkspace(workdir).replace(/(?<=.)\/+$/, ''),
    model:
      attribute('codex.model')?.text ??
      attribute('llm_model')?.text ??
      model ??
      variable(env, 'MODEL')?.text ??
      given(env['FACTORY_MODEL'], 'FACTORY_MODEL')?.text,
    profile: either('profile')?.text,
    effort:
      attribute('reasoning_effort')?.text ?? effort ?? given(env['FACTORY_EFFORT'], 'FACTORY_EFFORT')?.text,
    addDirs: listed(either('add_dirs')).map(inWorkspace),
    overrides: (either('config_overrides')?.text ?? '')
      .split(';;')
      .map((one) => one.trim())
      .filter((one) => one !== ''),
    autoApprove:
      commands.length === 0 || key === undefined
        ? undefined
        : { key, commands: commands.map((one) => one.text) },
    hidden: [
      ...(isTrue(attribute('codex.allow_read_scenarios')) ? [] : [scenarios]),
      ...listed(either('block_read_paths')).map(blocked),
    ],
    strictReadScope:
      isTrue(attribute('codex.strict_read_scope')) || isTrue(variable(env, 'STRICT_READ_SCOPE')),
    disableMcp: isTrue(attribute('codex.disable_mcp')) || isTrue(variable(env, 'DISABLE_MCP')),
    skipGitRepoCheck:
      isTrue(attribute('codex.skip_git_repo_check')) || isTrue(variable(env, 'SKIP_GIT_REPO_CHECK')),
    bypass: isTrue(attribute('codex.dangerous_bypass')) || isTrue(variable(env, 'DANGEROUS_BYPASS')),
    timeoutMs: time(attribute('codex.timeout_seconds')) ?? time(variable(env, 'TIMEOUT_SECONDS')),
    heartbeatMs:
      time(attribute('codex.heartbeat_seconds')) ?? time(variable(env, 'HEARTBEAT_SECONDS')) ?? 15_000,
    envKeys: listed(either('env_keys')).map(variableName),
    json: either('json') === undefined ? undefined : isTrue(either('json')),
  };
}

const variable = (env: CodexDefaults['env'], name: string): Given | undefined =>
  given(env[`ATTRACTOR_CODEX_${name}`], `ATTRACTOR_CODEX_${name}`);
