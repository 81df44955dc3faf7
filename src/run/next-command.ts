/** Which runs need attention, and the command to run next after a run. */
import { existsSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { raisedLimit } from '../core/budget/limits.ts';
import { retriesUnfixable } from '../core/gates.ts';
import { unreachable } from '../core/json.ts';
import { quoteWord } from '../core/policy/words.ts';
import { raisedWindows } from '../core/quota-windows.ts';
import type { EndCause } from '../core/records/checkpoint.ts';
import type { Manifest } from '../core/records/manifest.ts';
import type { RunResult } from '../core/records/result.ts';
import { packageRoot } from '../platform/package.ts';
import { namedRun } from './runs.ts';
import type { RunSummary } from './summary.ts';

/** How the user calls factory, for the commands that a result proposes. */
export type Called = {
  readonly program: string;
  /** The command line that would start a run like this one. */
  readonly again?: string;
};

export const needsAttention = (status: RunSummary['status']): boolean =>
  status !== 'completed' && status !== 'running';

/** How a run ended. */
type StoodRun = Pick<RunSummary, 'status' | 'failedNode' | 'reason' | 'cause' | 'offline' | 'pipeline'> & {
  /** A failed run that has not reached an exit. */
  readonly resumable: boolean;
  /** A question was answered, and the run has not taken the answer yet. */
  readonly answered?: boolean;
};

/** The next command for a run that needs attention; `run` is its id or path on the command line. Where the pipeline has to be
 *  edited first, a comment behind the command says what. */
export function nextOf(stood: StoodRun, program: string, run: string): string {
  const { status, offline } = stood;
  switch (status) {
    case 'interrupted':
    case 'crashed':
    case 'paused_auth':
    case 'paused_billing':
    case 'paused_disk':
      return `${program} resume ${run}`;
    case 'paused_answer':
      return `${program} ${stood.answered === true ? 'resume' : 'answer'} ${run}`;
    case 'paused_quota':
      return `${program} resume ${run} ${raisedWindows(stood.reason) ?? '--wait'}`;
    case 'paused_outage':
    case 'paused_wait':
    case 'paused_cap':
      return `${program} resume ${run} --wait`;
    case 'failed':
      return offline && stood.resumable
        ? `${program} resume ${run} --live`
        : afterFailure(stood, program, run);
    case 'unreadable':
      return `${program} verify ${run}`;
    case 'overridden':
      return `${program} why ${run}`;
    case 'completed':
    case 'running':
      return '';
    default:
      return unreachable(status);
  }
}

function afterFailure(
  { failedNode, reason, cause, resumable, pipeline }: StoodRun,
  program: string,
  run: string,
): string {
  const before = (node: string): string => `${program} fork ${run} --at ${node} --before`;
  const changed = failedNode.replace(/@\d+$/, '');
  if (failedNode !== '' && retriesUnfixable(reason)) return before(failedNode);
  if (reason.startsWith('audit: ')) return `${program} audit ${run}`;
  const file = isBundled(pipeline) ? undefined : quoteWord(pipeline);
  // The unchanged pipeline would stop at the same node again.
  if (cause?.kind === 'no_route') {
    const { node, outcome, config } = cause;
    if (config)
      return `${program} resume ${run} --accept-changes # after fixing ${node}${file === undefined ? '' : ` in ${file}`}, or what it needs`;
    return file === undefined
      ? before(node)
      : `${program} resume ${run} --accept-changes # after adding an edge from ${node} for outcome=${outcome} to ${file}`;
  }
  if (resumable && file !== undefined) {
    const [, own, limit] = /^max_\w+: node "(\w+)".*\((max_\w+) on the node\)$/.exec(reason) ?? [];
    // Unchanged, the agent of a loop would do in one more round what it did before.
    const change =
      cause?.kind === 'loop_stopped'
        ? `a change of ${failedNode}, or of what fixes it,`
        : own === undefined
          ? undefined
          : `raising ${limit} of ${own}`;
    if (change !== undefined) return `${program} resume ${run} --accept-changes # after ${change} in ${file}`;
  }
  if (resumable) return [`${program} resume ${run}`, raisedLimit(reason) ?? []].flat().join(' ');
  if (failedNode === '') return `${program} show ${run}`;
  return file === undefined
    ? before(failedNode)
    : `${before(failedNode)} --pipeline ${file} # after a change of ${changed}, or of the nodes before it, in ${file}`;
}

/** Whether the pipeline comes with factory, so that its user does not edit it. */
const isBundled = (pipeline: string): boolean => pipeline === '' || pipeline.startsWith(packageRoot());

/** The next command after a run that has ended or is suspended, with its delivery. */
export async function nextCommand(
  manifest: Pick<Manifest, 'git' | 'workdir_kind' | 'replay_of' | 'variables' | 'run_id' | 'pipeline_path'>,
  end: {
    readonly status: RunResult['status'];
    readonly exitNode: string | null;
    readonly failed: string | undefined;
    readonly byModel: boolean;
    readonly reason?: string;
    readonly cause?: EndCause | undefined;
  },
  runDir: string,
  cwd: string,
  { program, again }: Called,
): Promise<string> {
  const named = namedRun(runDir, cwd);
  if (end.status === 'completed' || (end.status === 'overridden' && manifest.git !== undefined)) {
    if (manifest.git === undefined) return '';
    const to = manifest.workdir_kind === 'git' ? '' : ` --to ${quoteWord(await newFolder(manifest, cwd))}`;
    return `${program} deliver ${named}${to}${end.status === 'overridden' ? ' --overridden' : ''}`;
  }
  // The run reached an exit: a resume would change nothing.
  const reached = end.exitNode !== null && end.reason?.startsWith('audit: ') !== true;
  if (reached && again !== undefined && (end.byModel || end.failed === undefined)) return again;
  const stood = {
    status: end.status,
    resumable: end.exitNode === null,
    failedNode: end.failed ?? '',
    reason: end.reason ?? '',
    cause: end.cause,
    pipeline: manifest.pipeline_path,
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
