/** A failed scenario, once more: on the same files in a folder of its own, to tell a flake from a failure. */
import { constants, renameSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AttributeValues } from '../model/attribute.ts';
import { readAttributes } from '../model/attribute.ts';
import type { Rerun } from '../model/attribution.ts';
import { layout } from '../model/layout.ts';
import type { Failure, Outcome } from '../model/outcome.ts';
import { reasonOf } from '../model/outcome.ts';
import type { NodeKind } from '../nodes/kind.ts';
import { executableAttributes, judgingAttributes } from '../nodes/kind.ts';
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
import { seesHoldout } from './sealing.ts';
import type { RunSetting, Visit } from './site.ts';
import { siteFor } from './site.ts';

export type RerunRequest = {
  readonly kind: NodeKind;
  readonly values: AttributeValues<NodeKind['attributes']>;
  readonly visit: Visit;
  /** The workspace as the stage found it. */
  readonly before: Snapshot;
  /** Milliseconds that the failed attempt took. */
  readonly tookMs: number;
};

/** Whether a failure is one to be looked at again: a scenario's verdict on the product, where scenarios are sealed or the
 *  node is said to be a judge. What works on the run itself (`access`) is never run twice. */
export function wantsRerun(
  setting: Pick<RunSetting, 'sealed'>,
  { node, signal }: Pick<Visit, 'node' | 'signal'>,
  outcome: Outcome,
): outcome is Outcome & Failure {
  if (outcome.status !== 'fail' || outcome.class !== 'product' || outcome.judge !== true) return false;
  const wants = readAttributes(node.attrs, judgingAttributes).values;
  const { access } = readAttributes(node.attrs, executableAttributes).values;
  return (
    !signal.aborted &&
    outcome.attribution !== undefined &&
    wants.rerun !== false &&
    access === undefined &&
    (setting.sealed !== undefined || wants.judge === true)
  );
}

/** The outcome in the light of a second run; unchanged where there could be none. Copy and processes are gone when it
 *  settles. Rejects for a disk that is full or broken. */
export async function rerun(
  setting: RunSetting,
  snapshots: Snapshots,
  first: Outcome & Failure,
  { kind, values, visit, before, tookMs }: RerunRequest,
): Promise<Outcome> {
  const { attribution } = first;
  const timeoutMs = Math.min(visit.timeout.ms, visit.timeout.runLeftMs - tookMs);
  if (attribution === undefined || timeoutMs <= 0) return first;
  const at = layout(setting.runDir);
  // No node can have a name that begins with a dot.
  const folder = join(at.scratch, '.rerun');
  const place = { workspace: join(folder, 'workspace'), nodeDir: join(folder, 'node') };
  const leave = () => removeAside(folder);
  setting.log('info', 'a scenario failed: it is run again in a clean copy', { node: visit.node.id });
  try {
    await leave();
    await snapshots.checkout(before.id, place.workspace);
    makeFolder(place.nodeDir);
    const { sealed } = setting;
    if (sealed !== undefined && seesHoldout(visit.node, kind.type))
      placeSealed(place.workspace, sealed.paths, sealed.files());
    const site = siteFor(
      {
        ...setting,
        workspace: place.workspace,
        historyEnv: await historyFor(setting, place.workspace, place.nodeDir),
      },
      { ...visit, nodeDir: place.nodeDir, timeout: { ...visit.timeout, ms: timeoutMs } },
      () => {},
    );
    const second = await kind.run(values, site);
    await site.leave(false);
    if (visit.signal.aborted) return first;
    const failure = second.status === 'fail' ? second : undefined;
    const judged = blameAgain(
      { attribution, exitCode: first.exitCode ?? null },
      {
        passed: second.status === 'success' || second.status === 'partial_success',
        attribution: failure?.attribution,
        exitCode: failure?.exitCode ?? null,
      },
    );
    const told: Rerun = {
      result: judged.result,
      first_exit_code: first.exitCode ?? null,
      exit_code:
        failure === undefined ? (second.status === 'success' ? 0 : null) : (failure.exitCode ?? null),
      failure_class: failure?.class ?? null,
      failure_reason: site.mask(reasonOf(second)),
    };
    const nodeDir = at.node(visit.node.id);
    await keepOutput(place.nodeDir, nodeDir);
    await keepJson(join(nodeDir, 'rerun.json'), {
      schema_version: 1,
      ...told,
      snapshot: before.id,
      attribution: { ...judged.attribution },
    });
    const changed = judged.attribution.class !== first.class;
    return {
      ...first,
      class: judged.attribution.class,
      classSaid: judged.attribution.how === 'said',
      attribution: judged.attribution,
      rerun: told,
      ...(changed ? { reason: `${judged.attribution.why} (${first.reason})` } : {}),
    };
  } catch (error) {
    if (isGrave(error, folder)) throw error;
    setting.log('warn', 'the failed scenario could not be run again', {
      node: visit.node.id,
      why: error instanceof Error ? error.message : String(error),
    });
    return first;
  } finally {
    await leave();
  }
}

/** Without a copy there is no second opinion, and the first one stands. But a disk that is full or broken stops the run, as
 *  it does anywhere; that access is denied in the copy is its scenario's doing. */
function isGrave(error: unknown, folder: string): boolean {
  const trouble = diskTrouble(error);
  const denied = trouble?.code === 'EACCES' || trouble?.code === 'EPERM';
  if (trouble !== undefined) return !(denied && trouble.path?.startsWith(folder) === true);
  return !(
    error instanceof WorkspaceError || isCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'EEXIST')
  );
}

/** What a copy of the workspace needs to see the run's history without changing what git knows of the workspace. */
async function historyFor(
  { historyEnv }: RunSetting,
  workspace: string,
  folder: string,
): Promise<Readonly<Record<string, string>>> {
  const index = historyEnv['GIT_INDEX_FILE'];
  if (index === undefined) return historyEnv;
  const own = join(folder, 'index');
  await copyFile(index, own, constants.COPYFILE_FICLONE).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
  });
  return { ...historyEnv, GIT_WORK_TREE: workspace, GIT_INDEX_FILE: own };
}

/** Keeps the output of the failed command next to that of the first run. */
async function keepOutput(from: string, nodeDir: string): Promise<void> {
  const { stdout, stderr } = await lastOutputs(from);
  for (const [path, name] of [
    [stdout, 'rerun.stdout.txt'],
    [stderr, 'rerun.stderr.txt'],
  ] as const) {
    beforeWrite(nodeDir);
    try {
      renameSync(path, join(nodeDir, name));
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
}
