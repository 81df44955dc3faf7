/** Snapshots, the workspace, and the texts of exchanges. */
import { lstatSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Checkpoint } from '../core/records/checkpoint.ts';
import { exchangesLayout, followedLayout, layout } from '../core/records/layout.ts';
import type { Holdout, Manifest, SealedFile } from '../core/records/manifest.ts';
import type { RunRecord } from '../core/records/visit.ts';
import { readForSealing } from '../holdout/seal.ts';
import { sealedHash } from '../holdout/vault.ts';
import { asListed, shownPath } from '../platform/files/names.ts';
import { namesIn } from '../platform/files/read.ts';
import { WorkspaceError } from '../platform/files/workspace-error.ts';
import { hashArtifact } from '../run/artifacts.ts';
import { bodiesOf, readExchanges } from '../run/exchanges.ts';
import { readVisits } from '../run/visits.ts';
import { inspectStore, treeOf, unlike } from '../workspace/inspect.ts';
import type { Findings } from './report.ts';

const isTemporary = (name: string): boolean => /^\..*\.tmp$/.test(name);

/** Checks every snapshot by its name and contents, and that those named by executions exist. */
export async function checkSnapshots(
  runDir: string,
  records: readonly RunRecord[],
  latest: string | null,
  found: Findings,
): Promise<void> {
  const { problems, trees, contents } = await inspectStore(layout(runDir).contents);
  found.count('snapshots', trees.size);
  found.count('contents', contents);
  for (const { file, what, why } of problems) found.add(what, `contents/${file}`, why);
  const needed = new Set(
    records.flatMap((one) => (one.type === 'Start' ? [one.snapshot] : [one.before, one.after])),
  );
  if (latest !== null) needed.add(latest);
  const missing = problems.length > 0 ? [] : [...needed].filter((id) => !trees.has(id));
  if (missing.length > 0)
    found.add('missing', 'contents', `executions name snapshots that are missing: ${missing.join(', ')}`);
}

/** Compares the workspace with the snapshot of the last execution. `isDescribed`: `result.json` is of the run's latest
 *  end. */
export async function checkWorkspace(
  runDir: string,
  manifest: Manifest,
  { snapshot, status }: Checkpoint,
  state: {
    readonly underWay: boolean;
    readonly isDescribed: boolean;
  },
  found: Findings,
): Promise<void> {
  if (snapshot === null) return;
  const hasEnded = status === 'completed' || (status === 'failed' && !state.underWay);
  if (!hasEnded || !state.isDescribed) {
    const why = hasEnded
      ? 'they are flushed before result.json, which is missing'
      : 'the run was stopped while a node ran';
    found.cannot(`the files in workspace/: ${why}; a resume restores them`);
    return;
  }
  const at = layout(runDir);
  const read = treeOf(at.contents, snapshot);
  // A damaged snapshot is reported with the others.
  if ('why' in read) return;
  // The holdout, which is restored at the end, is in no snapshot.
  const holdout = (manifest.holdout?.paths ?? []).map((path) => asListed(at.workspace, path));
  const isSealed = (path: string) =>
    holdout.some((one) => path === one || path.startsWith(`${one}/`) || one.startsWith(`${path}/`));
  if (lstatSync(at.workspace, { throwIfNoEntry: false })?.isDirectory() === false) {
    found.add('changed', 'workspace', 'the workspace is a link, or not a folder');
    return;
  }
  const words = {
    changed: 'is not as the last node left it',
    missing: 'is missing; the last node left it there',
    added: 'was added after the last node',
  } as const;
  try {
    for (const { path, how } of await unlike(at.workspace, read.tree, isSealed))
      found.add(how, `workspace/${shownPath(path)}`, `the workspace's file ${words[how]}`);
    found.count('workspace files', read.tree.size);
    if (manifest.holdout !== undefined) checkHoldout(at.workspace, manifest.holdout, found);
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error;
    found.add('unreadable', 'workspace', error.message);
  }
}

/** Checks the holdout that the end of the run restored into the workspace. */
function checkHoldout(workspace: string, { paths, sha256 }: Holdout, found: Findings): void {
  const read = (path: string): readonly SealedFile[] => {
    try {
      const how = { as: path, leaveOut: () => false, most: Number.POSITIVE_INFINITY };
      return readForSealing(workspace, path, how);
    } catch (error) {
      if (error instanceof WorkspaceError) return [];
      throw error;
    }
  };
  if (sealedHash(paths.flatMap(read)) === sha256) return;
  for (const path of paths)
    found.add('changed', `workspace/${shownPath(path)}`, 'the holdout is not as the run restored it');
}

/** Checks prompts and answers of agents: each line by its hash, each text by its name. `where` names the folder `dir` in
 *  the report. */
export async function checkExchanges(dir: string, where: string, found: Findings): Promise<void> {
  const read = await readExchanges(dir);
  const needed = new Set<string>();
  if (!read.ok && !read.missing) found.add('changed', `${where}/calls.jsonl`, read.why);
  if (read.ok) {
    found.count('exchanges', read.exchanges.length);
    for (const { exchange } of read.exchanges)
      for (const body of bodiesOf(exchange)) if (typeof body !== 'string') needed.add(body.sha256);
  }
  const { bodies } = exchangesLayout(dir);
  for (const name of namesIn(bodies)) {
    const path = `${where}/bodies/${name}`;
    needed.delete(name);
    if (isTemporary(name)) continue;
    if (!/^[0-9a-f]{64}$/.test(name)) found.add('added', path, 'no text has this name');
    else found.hash(path, name, await hashArtifact(join(bodies, name)), 'the text of an exchange');
  }
  for (const name of needed)
    found.add('missing', `${where}/bodies/${name}`, 'an exchange names this text, and it is missing');
}

/** Checks the records that a replay uses: exchanges, and artifacts of tools and verifications. */
export async function checkFollowed(
  runDir: string,
  { replay_of: of, forked_from: from }: Manifest,
  found: Findings,
): Promise<void> {
  const { followed } = layout(runDir);
  const at = followedLayout(followed);
  const where = basename(followed);
  const known = of === undefined ? [] : Object.values(followedLayout('')).filter(isText);
  for (const name of namesIn(followed)) {
    if (!known.includes(name) && !isTemporary(name))
      found.add('added', `${where}/${name}`, 'no replay puts this there');
  }
  if (of === undefined) return;
  await checkExchanges(at.exchanges, `${where}/exchanges`, found);
  const visits = await readVisits(at.visits);
  const replayed = of.run_tools === true || !visits.ok ? [] : visits.records.slice(from?.seq ?? 1);
  const left = new Set(
    replayed.flatMap((one) =>
      one.type === 'Visit' && ['tool', 'verification'].includes(one.node_type)
        ? Object.values(one.artifacts ?? {})
        : [],
    ),
  );
  for (const name of new Set([...namesIn(at.artifacts), ...left])) {
    const is = await hashArtifact(at.artifact(name));
    found.hash(`${where}/artifacts/${name}`, name, is, 'an artifact of a recorded node');
  }
}

const isText = (value: unknown): value is string => typeof value === 'string';
