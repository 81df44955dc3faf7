/** Which runs need attention, and the command to run next after a run. */
import { existsSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import type { NextAction, StoodRun } from '../core/action-commands.ts';
import { nextActions } from '../core/next-actions.ts';
import type { FailureClass } from '../core/outcome.ts';
import { quoteWord } from '../core/policy/words.ts';
import type { EndCause } from '../core/records/checkpoint.ts';
import type { Manifest } from '../core/records/manifest.ts';
import type { RunResult } from '../core/records/result.ts';
import { packageRoot } from '../platform/package.ts';
import { newRunCommand } from './new-run.ts';
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

/** The first of these actions on one line: what has to be done before stands behind the command, as a comment. */
export function firstCommand([first]: readonly NextAction[]): string {
  if (first === undefined) return '';
  const { command, after } = first;
  return after === undefined ? command : `${command} # after ${after}`;
}

/** The actions for the run in `dir` that needs attention. */
export const actionsFor = (
  { pipeline, ...stood }: Omit<StoodRun, 'pipeline' | 'anew'> & { readonly pipeline: string },
  dir: string,
  { cwd, program, again }: Called & { readonly cwd: string },
): readonly NextAction[] => {
  const anew = () => again ?? newRunCommand(dir, { cwd, program });
  return nextActions(
    { ...stood, anew, pipeline: editedFile(pipeline) },
    { program, run: namedRun(dir, cwd) },
  );
};

/** The pipeline file, unless it comes with factory, so that its user does not edit it. */
export const editedFile = (pipeline: string): string | undefined =>
  pipeline === '' || pipeline.startsWith(packageRoot()) ? undefined : pipeline;

type Delivered = Pick<Manifest, 'workdir_kind' | 'variables' | 'run_id'>;

/** Delivers a run that has commits. */
export async function deliveryOf(
  manifest: Delivered,
  runDir: string,
  cwd: string,
  {
    program,
    overridden,
    weak = false,
  }: { readonly program: string; readonly overridden: boolean; readonly weak?: boolean },
): Promise<NextAction> {
  const to = manifest.workdir_kind === 'git' ? '' : ` --to ${quoteWord(await newFolder(manifest, cwd))}`;
  const flags = `${weak ? ' --accept-weak' : ''}${overridden ? ' --overridden' : ''}`;
  const though = weak
    ? ', and accept that the scenarios are weak'
    : overridden
      ? ' in spite of the failure'
      : '';
  return {
    kind: 'deliver',
    words: `Deliver its commits${though}`,
    command: `${program} deliver ${namedRun(runDir, cwd)}${to}${flags}`,
  };
}

/** The next command after a run that has ended or is suspended, with its delivery. */
export async function nextCommand(
  manifest: Delivered & Pick<Manifest, 'git' | 'replay_of' | 'pipeline_path'>,
  end: {
    readonly status: RunResult['status'];
    readonly exitNode: string | null;
    readonly failed: string | undefined;
    readonly failureClass?: FailureClass | undefined;
    readonly byModel: boolean;
    readonly reason?: string;
    readonly cause?: EndCause | undefined;
    readonly agent?: string | undefined;
    readonly weakJudge?: string | undefined;
    /** Of its orders: without any there is nothing to deliver, whatever else it has changed. */
    readonly commits?: RunResult['commits'];
  },
  runDir: string,
  cwd: string,
  { program, again }: Called,
): Promise<string> {
  const delivers = manifest.git !== undefined && end.commits?.some(({ commit }) => commit !== null) === true;
  if (end.status === 'completed' || (end.status === 'overridden' && delivers)) {
    if (!delivers) return '';
    const overridden = end.status === 'overridden';
    return firstCommand([await deliveryOf(manifest, runDir, cwd, { program, overridden })]);
  }
  // The run reached an exit: a resume would change nothing.
  const reached = end.exitNode !== null && end.reason?.startsWith('audit: ') !== true;
  if (reached && again !== undefined && (end.byModel || end.failed === undefined)) return again;
  const stood = {
    status: end.status,
    resumable: end.exitNode === null,
    failedNode: end.failed ?? '',
    failureClass: end.failureClass,
    reason: end.reason ?? '',
    cause: end.cause,
    pipeline: manifest.pipeline_path,
    // A replay without an agent would stop at the same node again.
    offline: manifest.replay_of?.live === false,
    agent: () => end.agent,
    weakJudge: end.weakJudge,
  };
  return firstCommand(actionsFor(stood, runDir, { cwd, program, ...(again === undefined ? {} : { again }) }));
}

/** A new folder named like the spec: next to the repository in `cwd`, not inside it. */
async function newFolder(manifest: Delivered, cwd: string): Promise<string> {
  const spec = manifest.variables['spec']?.file?.source;
  const own = spec === undefined ? '' : basename(spec, extname(spec));
  const name = own === '' ? manifest.run_id : own === 'spec' && spec ? basename(dirname(spec)) : own;
  const above = existsSync(join(cwd, '.git')) ? '..' : '.';
  for (let count = 1; ; count++) {
    const folder = `${above}/${name}${count === 1 ? '' : `-${count}`}`;
    if (!existsSync(resolve(cwd, folder))) return folder;
  }
}
