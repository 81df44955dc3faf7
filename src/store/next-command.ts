/** Which runs need attention, and the command to run next after a run. */
import { existsSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { raisedLimit } from '../core/budget/limits.ts';
import { retriesUnfixable } from '../core/gates.ts';
import { unreachable } from '../core/json.ts';
import { quoteWord } from '../core/policy/words.ts';
import type { Manifest } from '../core/records/manifest.ts';
import type { RunResult } from '../core/records/result.ts';
import { namedRun, type RunSummary } from './runs.ts';

/** How the user calls factory, for the commands that a result proposes. */
export type Called = {
  readonly program: string;
  /** The command line that would start a run like this one. */
  readonly again?: string;
};

export const needsAttention = (status: RunSummary['status']): boolean =>
  status !== 'completed' && status !== 'running';

/** The next command for a run that needs attention; `run` is its id or path on the command line. */
export function nextOf(
  {
    status,
    resumable,
    failedNode,
    reason,
    offline,
  }: Pick<RunSummary, 'status' | 'failedNode' | 'reason' | 'offline'> & {
    /** A failed run that has not reached an exit. */
    readonly resumable: boolean;
  },
  program: string,
  run: string,
): string {
  switch (status) {
    case 'interrupted':
    case 'crashed':
    case 'paused_auth':
    case 'paused_billing':
      return `${program} resume ${run}`;
    case 'paused_quota':
    case 'paused_outage':
      return `${program} resume ${run} --wait`;
    case 'failed':
      if (failedNode !== '' && retriesUnfixable(reason))
        return `${program} fork ${run} --at ${failedNode} --before`;
      if (resumable)
        return [`${program} resume ${run}`, offline ? '--live' : [], raisedLimit(reason) ?? []]
          .flat()
          .join(' ');
      if (reason.startsWith('audit: ')) return `${program} audit ${run}`;
      return failedNode === '' ? `${program} why ${run}` : `${program} show ${run} ${failedNode}`;
    case 'unreadable':
      return `${program} verify ${run}`;
    case 'completed':
    case 'running':
      return '';
    default:
      return unreachable(status);
  }
}

/** The next command after a run that has ended or is suspended, with its delivery. */
export async function nextCommand(
  manifest: Pick<Manifest, 'git' | 'workdir_kind' | 'replay_of' | 'variables' | 'run_id'>,
  end: {
    readonly status: RunResult['status'];
    readonly exitNode: string | null;
    readonly failed: string | undefined;
    readonly byModel: boolean;
    readonly reason?: string;
  },
  runDir: string,
  cwd: string,
  { program, again }: Called,
): Promise<string> {
  const named = namedRun(runDir, cwd);
  if (end.status === 'completed') {
    if (manifest.git === undefined) return '';
    const to = manifest.workdir_kind === 'git' ? '' : ` --to ${quoteWord(await newFolder(manifest, cwd))}`;
    return `${program} deliver ${named}${to}`;
  }
  // The run reached an exit: a resume would change nothing.
  const reached = end.exitNode !== null && end.reason?.startsWith('audit: ') !== true;
  if (reached && again !== undefined && (end.byModel || end.failed === undefined)) return again;
  const stood = {
    status: end.status,
    resumable: end.exitNode === null,
    failedNode: end.failed ?? '',
    reason: end.reason ?? '',
    // A replay without an agent would stop at the same node again.
    offline: manifest.replay_of?.live === false,
  };
  return nextOf(stood, program, named);
}

/** A new folder named like the spec: next to the repository in `cwd`, not inside it. */
async function newFolder(manifest: Pick<Manifest, 'variables' | 'run_id'>, cwd: string): Promise<string> {
  const spec = manifest.variables['spec']?.file?.source;
  const own = spec === undefined ? '' : basename(spec, extname(spec));
  const name = own === '' ? manifest.run_id : own === 'spec' && spec ? basename(dirname(spec)) : own;
  const above = existsSync(join(cwd, '.git')) ? '..' : '.';
  for (let count = 1; ; count++) {
    const folder = `${above}/${name}${count === 1 ? '' : `-${count}`}`;
    if (!existsSync(resolve(cwd, folder))) return folder;
  }
}
