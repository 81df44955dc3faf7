/** Runs a failed scenario once more, on the same files in a separate folder, to tell a flaky failure from a real one. */
import { constants, renameSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Rerun } from '../model/attribution.ts';
import { layout } from '../model/layout.ts';
import type { Failure, Outcome } from '../model/outcome.ts';
import { reasonOf } from '../model/outcome.ts';
import type { NodeKind } from '../nodes/kind.ts';
import { blameAgain } from '../policy/blame.ts';
import { diskTrouble } from '../system/disk-trouble.ts';
import { beforeWrite } from '../system/fence.ts';
import { isCode, isMissing, makeFolder } from '../system/files.ts';
import { removeAside } from '../system/remove.ts';
import { placeSealed } from '../workspace/sealed.ts';
import type { Snapshot, Snapshots } from '../workspace/snapshot.ts';
import { WorkspaceError } from '../workspace/trouble.ts';
import { keepJson } from './artifacts.ts';
import { lastOutputs } from './last-output.ts';
import type { RunSetting } from './run-context.ts';
import { seesHoldout } from './sealing.ts';
import type { Visit } from './site.ts';
import { siteFor } from './site.ts';

type RerunRequest = {
  readonly kind: NodeKind;
  readonly visit: Visit;
  /** The workspace before the failed attempt. */
  readonly before: Snapshot;
  /** Milliseconds that the failed attempt took. */
  readonly tookMs: number;
};

/** Whether a failure is rerun: a scenario's verdict on the product, where scenarios are sealed or the node has
 *  `judge=true`. A node with `access` changes the run itself and is never run twice. */
export function wantsRerun(
  setting: Pick<RunSetting, 'sealed'>,
  { node, signal }: Pick<Visit, 'node' | 'signal'>,
  outcome: Outcome,
): outcome is Outcome & Failure {
  if (outcome.status !== 'fail' || outcome.class !== 'product' || outcome.judge !== true) return false;
  const { rerun: isWanted, access, judge } = node.settings;
  return (
    !signal.aborted &&
    outcome.attribution !== undefined &&
    isWanted &&
    access === undefined &&
    (setting.sealed !== undefined || judge)
  );
}

/** The outcome, judged again by a second run; unchanged where there could be none. The copy and its processes are gone when
 *  it settles. Rejects for a disk that is full or broken. */
export async function rerun(
  setting: RunSetting,
  snapshots: Snapshots,
  first: Outcome & Failure,
  request: RerunRequest,
): Promise<Outcome> {
  const { visit, tookMs } = request;
  const timeoutMs = Math.min(visit.timeout.ms, visit.timeout.runLeftMs - tookMs);
  const { attribution } = first;
  if (attribution === undefined || timeoutMs <= 0) return first;
  // No node can have a name that begins with a dot.
  const folder = join(layout(setting.runDir).scratch, '.rerun');
  setting.log('info', 'a scenario failed: it is run again in a clean copy', { node: visit.node.id });
  try {
    await removeAside(folder);
    const nodeDir = join(folder, 'node');
    const second = await secondRun(setting, snapshots, { ...request, folder, nodeDir, timeoutMs });
    if (visit.signal.aborted) return first;
    return await judgedAgain(setting, { ...first, attribution }, second, { ...request, nodeDir });
  } catch (error) {
    if (isDiskFailure(error, folder)) throw error;
    setting.log('warn', 'the failed scenario could not be run again', {
      node: visit.node.id,
      why: error instanceof Error ? error.message : String(error),
    });
    return first;
  } finally {
    await removeAside(folder);
  }
}

type Second = { readonly outcome: Outcome; readonly mask: (text: string) => string };

/** Runs the node in a copy of the workspace with the sealed files. */
async function secondRun(
  setting: RunSetting,
  snapshots: Snapshots,
  request: RerunRequest & { readonly folder: string; readonly nodeDir: string; readonly timeoutMs: number },
): Promise<Second> {
  const { kind, visit, before, folder, nodeDir, timeoutMs } = request;
  const workspace = join(folder, 'workspace');
  await snapshots.checkout(before.id, workspace);
  makeFolder(nodeDir);
  const { sealed } = setting;
  if (sealed !== undefined && seesHoldout(visit.node, kind.type))
    placeSealed(workspace, sealed.paths, sealed.files());
  const historyEnv = await historyFor(setting, workspace, nodeDir);
  const site = siteFor(
    { ...setting, workspace, historyEnv },
    { ...visit, nodeDir, timeout: { ...visit.timeout, ms: timeoutMs } },
    () => {},
  );
  const outcome = await kind.run(visit.node.settings, site);
  await site.leave(false);
  return { outcome, mask: site.mask };
}

/** The first outcome with the attribution that both runs give it. Writes `rerun.json` and the second output. */
async function judgedAgain(
  setting: RunSetting,
  first: Outcome & Failure & Required<Pick<Failure, 'attribution'>>,
  { outcome, mask }: Second,
  { visit, before, nodeDir: from }: RerunRequest & { readonly nodeDir: string },
): Promise<Outcome> {
  const failure = outcome.status === 'fail' ? outcome : undefined;
  const passed = outcome.status === 'success' || outcome.status === 'partial_success';
  const exitCode = failure?.exitCode ?? null;
  const firstCode = first.exitCode ?? null;
  const { attribution, result } = blameAgain(
    { attribution: first.attribution, exitCode: firstCode },
    { passed, attribution: failure?.attribution, exitCode },
  );
  const record: Rerun = {
    result,
    first_exit_code: firstCode,
    exit_code: outcome.status === 'success' ? 0 : exitCode,
    failure_class: failure?.class ?? null,
    failure_reason: mask(reasonOf(outcome)),
  };
  const nodeDir = layout(setting.runDir).node(visit.node.id);
  const { stdout, stderr } = await lastOutputs(from);
  moveTo(stdout, join(nodeDir, 'rerun.stdout.txt'));
  moveTo(stderr, join(nodeDir, 'rerun.stderr.txt'));
  await keepJson(join(nodeDir, 'rerun.json'), {
    schema_version: 1,
    ...record,
    snapshot: before.id,
    attribution: { ...attribution },
  });
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
  const trouble = diskTrouble(error);
  const denied = trouble?.code === 'EACCES' || trouble?.code === 'EPERM';
  if (trouble !== undefined) return !(denied && trouble.path?.startsWith(folder) === true);
  return !(
    error instanceof WorkspaceError || isCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'EEXIST')
  );
}

/** An environment for git that shows the run's history to the copy and leaves git's index of the workspace unchanged. */
async function historyFor(
  { historyEnv }: RunSetting,
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
