/** Snapshots, the workspace, and the texts of exchanges. */
import { lstatSync } from 'node:fs';
import { basename } from 'node:path';
import { isReplayedType } from '../core/graph.ts';
import { hasSucceeded } from '../core/overridden.ts';
import type { Body } from '../core/records/body.ts';
import type { Checkpoint } from '../core/records/checkpoint.ts';
import type { JournalLine } from '../core/records/journal.ts';
import { followedLayout, layout } from '../core/records/layout.ts';
import type { Holdout, Manifest, SealedFile } from '../core/records/manifest.ts';
import type { RunRecord } from '../core/records/visit.ts';
import { readForSealing } from '../holdout/seal.ts';
import { sealedHash } from '../holdout/vault.ts';
import { asListed, shownPath } from '../platform/files/names.ts';
import { namesIn } from '../platform/files/read.ts';
import { WorkspaceError } from '../platform/files/workspace-error.ts';
import { bodiesOf, storeOfRun } from '../run/exchanges.ts';
import { isFlushed } from '../run/journal-lines.ts';
import { openRun } from '../run/open-run.ts';
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
    records.flatMap((one) =>
      one.type === 'Start'
        ? [one.snapshot]
        : one.type === 'Visit'
          ? [one.before, one.after, ...(one.setup === undefined ? [] : [one.setup.before])]
          : [],
    ),
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
  const hasEnded = hasSucceeded(status) || (status === 'failed' && !state.underWay);
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

/** Checks the texts of agents that the journal `where` names. Those of a line after which its owner flushed none may be lost. */
export function checkExchanges(
  runDir: string,
  lines: readonly JournalLine[],
  where: string,
  found: Findings,
): void {
  const store = storeOfRun(runDir);
  const owners = new Set<number>();
  for (const line of lines.toReversed()) {
    if (isFlushed(line)) owners.add(line.epoch);
    if (line.type === 'Exchange') found.count('exchanges');
    for (const { body, of } of textsOfLine(line)) {
      if (typeof body === 'string' || store.isWhole(body.sha256)) continue;
      const what = `the text ${body.sha256} of ${of} (${where}, line ${line.seq})`;
      if (owners.has(line.epoch))
        found.add('missing', 'contents', `it no longer has ${what}, or other bytes`);
      else found.cannot(`${what}: it was lost with the process that wrote it`);
    }
  }
}

/** The texts of agents that a line names. */
function textsOfLine(line: JournalLine): readonly { readonly body: Body; readonly of: string }[] {
  if (line.type === 'Exchange')
    return bodiesOf(line).map((body) => ({ body, of: `call ${line.call} of node "${line.node}"` }));
  if (line.type !== 'Visit' || line.thread === undefined) return [];
  return [{ body: line.thread.session, of: `the conversation "${line.thread.key}" of node "${line.node}"` }];
}

/** Checks the record that a replay uses: its journal, the texts that it names, and artifacts of tools and verifications. */
export async function checkFollowed(
  runDir: string,
  { replay_of: of, forked_from: from }: Manifest,
  found: Findings,
): Promise<void> {
  const { followed, contents } = layout(runDir);
  const where = basename(followed);
  const known = of === undefined ? [] : Object.values(followedLayout('')).map((path) => basename(path));
  for (const name of namesIn(followed)) {
    if (!known.includes(name) && !isTemporary(name))
      found.add('added', `${where}/${name}`, 'no replay puts this there');
  }
  if (of === undefined) return;
  const journal = `${where}/${basename(followedLayout(followed).journal)}`;
  const history = openRun(followed).history();
  if (!history.ok) {
    found.add(history.missing ? 'missing' : 'changed', journal, history.why);
    return;
  }
  checkExchanges(runDir, history.lines, journal, found);
  if (of.run_tools === true) return;
  const store = storeOfRun(runDir);
  for (const { node, visit, name, hash } of artifactsOf(history.records.slice(from?.seq ?? 1)))
    if (!store.isWhole(hash))
      found.add(
        'missing',
        basename(contents),
        `it no longer has ${name} of ${node}@${visit} (${journal}), or other bytes`,
      );
}

/** What tools and verifications left. */
const artifactsOf = (records: readonly RunRecord[]) =>
  records.flatMap((one) =>
    one.type === 'Visit' && isReplayedType(one.node_type)
      ? Object.entries(one.artifacts ?? {}).map(([name, hash]) => ({
          node: one.node,
          visit: one.visit,
          name,
          hash,
        }))
      : [],
  );
