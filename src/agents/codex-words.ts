/** What `codex` is started with: its words, and what it must not read. */
import { tmpdir } from 'node:os';
import { relative, resolve } from 'node:path';
import type { ReadScope } from '../core/contracts/agent.ts';
import type { Environment } from '../core/contracts/process.ts';
import type { CodexSettings } from './codex-settings.ts';
import type { ThreadSession } from './program/thread.ts';

const mcpKey = 'mcp_servers.memory_ops.enabled';

/** Everything after the program's name, in the order that scripts around it know. `modern` is a program that
 *  understands `--json` and needs a flag for a folder without git. */
export function codexArgv(
  settings: CodexSettings,
  files: { readonly schema: string; readonly response: string },
  modern: boolean,
  session?: Pick<ThreadSession, 'resumes' | 'aside'>,
): string[] {
  const { approval, model, profile, effort, overrides, autoApprove } = settings;
  const pair = (flag: string, value: string | undefined) => (value === undefined ? [] : [flag, value]);
  const words = [...overrides];
  if (effort !== undefined && !overrides.some(sets('model_reasoning_effort')))
    words.push(`model_reasoning_effort=${JSON.stringify(effort)}`);
  if (settings.disableMcp && !overrides.some(sets(mcpKey))) words.push(`${mcpKey}=false`);
  if (autoApprove !== undefined)
    words.push(`${autoApprove.key}=[${autoApprove.commands.map((one) => JSON.stringify(one)).join(',')}]`);
  // With an empty database it would take the user's sessions for new ones, and ask a model what to remember of them.
  if (session?.aside !== undefined) words.push('features.memories=false');
  return [
    ...pair('-a', approval),
    'exec',
    ...pair('-s', settings.sandbox),
    ...pair('-m', model),
    ...pair('-p', profile),
    ...words.flatMap((one) => ['-c', one]),
    '-C',
    settings.workdir,
    ...(settings.skipGitRepoCheck || modern ? ['--skip-git-repo-check'] : []),
    ...settings.addDirs.flatMap((dir) => ['--add-dir', dir]),
    ...(settings.bypass ? ['--dangerously-bypass-approvals-and-sandbox'] : []),
    ...((settings.json ?? modern) ? ['--json'] : []),
    '--color',
    'never',
    '--output-schema',
    files.schema,
    '-o',
    files.response,
    ...(session?.resumes === undefined ? [] : ['resume', session.resumes]),
    '-',
  ];
}

const sets = (key: string) => (override: string) => override.split('=')[0]?.trim() === key;

/** What codex must not read. A strict scope is what the node names below the workspace: its workdir and its added
 *  folders, with the program itself. Where it names none, all of the workspace is its work, and nothing more is hidden.
 *  `narrow` is false then. */
export function readScopeOf(
  settings: CodexSettings,
  workspace: string,
): { readonly scope: ReadScope; readonly narrow: boolean } {
  const inside = (path: string): string[] => {
    const below = relative(workspace, path);
    return below === '' || below === '..' || below.startsWith('../') ? [] : [below];
  };
  const named = [settings.workdir, ...settings.addDirs].flatMap(inside);
  const narrow = settings.strictReadScope && named.length > 0;
  const program = settings.executable.path.includes('/') ? inside(settings.executable.path) : [];
  return {
    scope: { hidden: settings.hidden, ...(narrow ? { only: [...named, ...program] } : {}) },
    narrow,
  };
}

/** Whether the folder lies where temporary files do. There codex does not install its sandbox helper: every
 *  command of the model's fails, and the program ends with 0 all the same. */
export function isTemporary(home: string, env: Environment): boolean {
  const temporary = resolve(env['TMPDIR']?.trim() || tmpdir());
  return home === temporary || home.startsWith(`${temporary.replace(/\/$/, '')}/`);
}
