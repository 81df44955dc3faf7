/** Git commands that reach a remote, with the user's ways to connect and without questions. */
import { join } from 'node:path';
import type { Environment, Spawn } from '../core/contracts/process.ts';
import { textsToMask } from '../core/policy/secrets.ts';
import { readSome } from '../platform/files/read.ts';
import { removeTree } from '../platform/files/remove.ts';
import { makeTemporary, temporaryOf } from '../platform/files/temporary.ts';
import { noHooks, withoutGit } from '../platform/git.ts';

const limitMs = 60_000;

/** Variables by which git reaches remotes; those that name a repository or an index are not among them. */
const connecting =
  /^GIT_(?:SSH|SSH_COMMAND|SSH_VARIANT|ASKPASS|SSL_|HTTP_|PROXY|CONFIG_(?:GLOBAL|SYSTEM|NOSYSTEM|COUNT|KEY_\d+|VALUE_\d+)|EXEC_PATH)/;

export type RemoteCall = {
  readonly repo: string;
  readonly env: Environment;
  readonly signal?: AbortSignal;
  /** Settings besides those that keep it quiet. */
  readonly settings?: readonly string[];
  /** Called when all is ready, before git begins. */
  readonly before?: () => void;
};

/** Runs `git ARGS` in `repo`. Never rejects for what git does, never asks for a password. */
export async function callRemote(
  { repo, env, signal, settings = [], before }: RemoteCall,
  args: readonly string[],
  spawn: Spawn,
): Promise<{ readonly ok: boolean; readonly stdout: string; readonly stderr: string }> {
  const folder = await makeTemporary(temporaryOf(env), 'factory-remote');
  try {
    const [stdoutFile, stderrFile] = [join(folder, 'out'), join(folder, 'err')];
    const passed = new Set(Object.keys(env).filter((name) => connecting.test(name)));
    const quiet = [...noHooks, 'core.fsmonitor=false', 'gc.auto=0', ...settings];
    before?.();
    const ended = await spawn.run({
      argv: ['git', ...quiet.flatMap((setting) => ['-c', setting]), ...args],
      cwd: repo,
      env: { ...withoutGit(env, passed), GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C' },
      stdoutFile,
      stderrFile,
      mask: textsToMask(env),
      timeoutMs: limitMs,
      ...(signal === undefined ? {} : { signal }),
    });
    const stdout = (await readSome(stdoutFile, 4000, 'tail')) ?? '';
    const stderr = (await readSome(stderrFile, 4000, 'tail')) ?? '';
    if (ended.kind === 'exited') return { ok: ended.code === 0, stdout, stderr };
    const why = ended.kind === 'timed_out' ? `[TIMEOUT] after ${limitMs / 1000} s` : `[${ended.kind}]`;
    return { ok: false, stdout, stderr: `${stderr}${why}` };
  } finally {
    await removeTree(folder);
  }
}
