/** Runs a failed scenario once more, on the same files in a separate folder, to tell a flaky failure from a real one. */
import { constants, renameSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { classifyAgain } from '../../core/failure-class.ts';
import { type Failure, type Outcome, type Rerun, reasonOf } from '../../core/outcome.ts';
import { layout } from '../../core/records/layout.ts';
import { seesHoldout } from '../../holdout/mount.ts';
import { placeSealed } from '../../holdout/sealed-files.ts';
import { diskError } from '../../platform/files/disk-error.ts';
import { beforeWrite } from '../../platform/files/fence.ts';
import { removeAside } from '../../platform/files/remove.ts';
import { WorkspaceError } from '../../platform/files/workspace-error.ts';
import { isCode, isMissing, makeFolder } from '../../platform/files/write.ts';
import { keepJson } from '../../run/artifacts.ts';
import { lastOutputs } from '../feedback.ts';
import { attemptContext } from '../node-context.ts';
import type { Run } from '../run-context.ts';
import type { Execute, Layer, LayerContext } from './layer.ts';

/** `again` runs the node in the copy. */
export const rerun =
  (again: Execute): Layer =>
  (next) =>
  async (context) => {
    const began = context.clock.monotonic();
    const executed = await next(context);
    const { outcome: first } = executed;
    if (!wantsRerun(context, first)) return executed;
    const { timeout } = context.attempt;
    const ms = Math.min(timeout.ms, timeout.runLeftMs - (context.clock.monotonic() - began));
    if (ms <= 0) return executed;
    const outcome = await secondVerdict(context, first, ms, again);
    if (outcome.rerun !== undefined)
      await context.writer.event({ type: 'ScenarioRerun', node_id: context.node.id, ...outcome.rerun });
    return { ...executed, outcome };
  };

type Judged = Outcome & Failure & Required<Pick<Failure, 'attribution'>>;

/** Whether a failure is rerun: a scenario's verdict on the product, where scenarios are sealed or the node has
 *  `judge=true`. A node with `access` changes the run itself and is never run twice. */
function wantsRerun({ run, node, signal }: LayerContext, outcome: Outcome): outcome is Judged {
  if (outcome.status !== 'fail' || outcome.class !== 'product' || outcome.judge !== true) return false;
  const { rerun: isEnabled, access, judge } = node.settings;
  return (
    !signal.aborted &&
    outcome.attribution !== undefined &&
    isEnabled &&
    access === undefined &&
    (run.sealed !== undefined || judge)
  );
}

/** The outcome, judged again by a second run; unchanged where there could be none. The copy and its processes are gone when
 *  it settles. Rejects for a disk that is full or broken. */
async function secondVerdict(
  context: LayerContext,
  first: Judged,
  timeoutMs: number,
  again: Execute,
): Promise<Outcome & Failure> {
  const { run, node, signal } = context;
  // No node can have a name that begins with a dot.
  const folder = join(layout(run.runDir).scratch, run.branch === undefined ? '.rerun' : `.rerun.${node.id}`);
  run.log('info', 'a scenario failed: it is run again in a clean copy', { node: node.id });
  try {
    await removeAside(folder);
    const nodeDir = join(folder, 'node');
    const { outcome, error } = await again(await contextInCopy(context, { folder, nodeDir, timeoutMs }));
    if (error !== undefined) throw error;
    return signal.aborted ? first : await judgedAgain(context, first, outcome, nodeDir);
  } catch (error) {
    if (isDiskFailure(error, folder)) throw error;
    const why = error instanceof Error ? error.message : String(error);
    run.log('warn', 'the failed scenario could not be run again', { node: node.id, why });
    return first;
  } finally {
    await removeAside(folder);
  }
}

/** The first outcome with the attribution that both runs give it. Writes `rerun.json` and the second output. */
async function judgedAgain(
  { nodeDir, before }: LayerContext,
  first: Judged,
  second: Outcome,
  from: string,
): Promise<Outcome & Failure> {
  const failure = second.status === 'fail' ? second : undefined;
  const passed = second.status === 'success' || second.status === 'partial_success';
  const exitCode = failure?.exitCode ?? null;
  const firstCode = first.exitCode ?? null;
  const { attribution, result } = classifyAgain(
    { attribution: first.attribution, exitCode: firstCode },
    { passed, attribution: failure?.attribution, exitCode },
  );
  const record: Rerun = {
    result,
    first_exit_code: firstCode,
    exit_code: second.status === 'success' ? 0 : exitCode,
    failure_class: failure?.class ?? null,
    failure_reason: reasonOf(second),
  };
  const { stdout, stderr } = await lastOutputs(from);
  moveTo(stdout, join(nodeDir, 'rerun.stdout.txt'));
  moveTo(stderr, join(nodeDir, 'rerun.stderr.txt'));
  const kept = { schema_version: 1, ...record, snapshot: before.id, attribution: { ...attribution } };
  await keepJson(join(nodeDir, 'rerun.json'), kept);
  return {
    ...first,
    class: attribution.class,
    classSaid: attribution.how === 'said',
    attribution,
    rerun: record,
    ...(attribution.class === first.class ? {} : { reason: `${attribution.why} (${first.reason})` }),
  };
}

function moveTo(path: string, target: string): void {
  beforeWrite(target);
  try {
    renameSync(path, target);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/** Whether the run must stop: without a copy the first verdict counts, but a disk that is full or broken stops a run
 *  anywhere. Denied access in the copy is the scenario's doing. */
function isDiskFailure(error: unknown, folder: string): boolean {
  const trouble = diskError(error);
  const denied = trouble?.code === 'EACCES' || trouble?.code === 'EPERM';
  if (trouble !== undefined) return !(denied && trouble.path?.startsWith(folder) === true);
  return !(
    error instanceof WorkspaceError || isCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'EEXIST')
  );
}

/** The context of a node in a copy of the workspace of before the node, with the sealed files. */
async function contextInCopy(
  context: LayerContext,
  place: { readonly folder: string; readonly nodeDir: string; readonly timeoutMs: number },
): Promise<LayerContext> {
  const { folder, nodeDir, timeoutMs } = place;
  const { run, kind, node, before, snapshots, attempt } = context;
  const workspace = join(folder, 'workspace');
  await snapshots.checkout(before.id, workspace);
  makeFolder(nodeDir);
  const { sealed } = run;
  if (sealed !== undefined && seesHoldout(node, kind.type))
    placeSealed(workspace, sealed.paths, sealed.files());
  const historyEnv = await historyFor(run, workspace, nodeDir);
  const there = context.with({ run: { ...run, workspace, historyEnv }, nodeDir, agent: undefined });
  return attemptContext(there, { ...attempt, timeout: { ...attempt.timeout, ms: timeoutMs } });
}

/** An environment for git that shows the run's history to the copy and leaves git's index of the workspace unchanged. */
async function historyFor(
  { historyEnv }: Run,
  workspace: string,
  folder: string,
): Promise<Readonly<Record<string, string>>> {
  const index = historyEnv['GIT_INDEX_FILE'];
  if (index === undefined) return historyEnv;
  const copy = join(folder, 'index');
  await copyFile(index, copy, constants.COPYFILE_FICLONE).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
  });
  return { ...historyEnv, GIT_WORK_TREE: workspace, GIT_INDEX_FILE: copy };
}
