/** Snapshots, the workspace as it lies there now, and the texts of exchanges. */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { Checkpoint } from '../model/checkpoint.ts';
import { exchangesLayout, followedLayout, layout } from '../model/layout.ts';
import type { Manifest } from '../model/manifest.ts';
import type { RunRecord } from '../model/visit-record.ts';
import { hashFile } from '../store/artifact-hashes.ts';
import { bodiesOf, readExchanges } from '../store/exchanges.ts';
import { collectGarbage } from '../system/memory.ts';
import { namesIn } from '../system/read.ts';
import { inspectStore, treeOf, unlike } from '../workspace/inspect.ts';
import { shown } from '../workspace/names.ts';
import { WorkspaceError } from '../workspace/trouble.ts';
import type { Findings } from './report.ts';

/** Every snapshot by its name and contents, and that those which the visits name are there. */
export async function checkSnapshots(
  runDir: string,
  records: readonly RunRecord[],
  latest: string | null,
  found: Findings,
): Promise<void> {
  const { problems, trees, contents, waste } = await inspectStore(layout(runDir).snapshots);
  found.count('snapshots', trees.size);
  found.count('contents', contents);
  for (const { file, what, why } of problems) found.add(what, `snapshots/${file}`, why);
  if (waste > 0)
    found.cannot(
      `${waste} bytes in packs of snapshots that no snapshot names: a stage that was cut off has left them, or in a fork later stages of the run that it came from`,
    );
  const needed = new Set(
    records.flatMap((one) => (one.type === 'Start' ? [one.snapshot] : [one.before, one.after])),
  );
  if (latest !== null) needed.add(latest);
  for (const id of needed)
    if (!trees.has(id) && !found.isWrong(`snapshots/trees/${id}.json`))
      found.add('missing', `snapshots/trees/${id}.json`, 'visits name this snapshot, and it is gone');
}

/** The workspace against the snapshot of the last stage. `isTold`: the result of that end is there. */
export async function checkWorkspace(
  runDir: string,
  manifest: Manifest,
  checkpoint: Checkpoint,
  { underWay, isTold }: { readonly underWay: boolean; readonly isTold: boolean },
  found: Findings,
): Promise<void> {
  const { snapshot, status } = checkpoint;
  if (snapshot === null) return;
  if (status !== 'completed' && (underWay || status !== 'failed')) {
    found.cannot(
      'the files in workspace/: the run was stopped in the middle of a stage, and a resume puts them right',
    );
    return;
  }
  if (!isTold) {
    found.cannot(
      'the files in workspace/: they are flushed right before the result of the end is written, which is not there; a resume puts them right',
    );
    return;
  }
  const at = layout(runDir);
  // The trees of all snapshots have been read until now.
  collectGarbage();
  const read = await treeOf(at.snapshots, snapshot);
  // That it is gone or changed is told already.
  if ('why' in read) return;
  const sealed = manifest.holdout?.paths ?? [];
  // What is put back at the end is the judge's, and stands in no snapshot.
  const isSealed = (path: string) =>
    sealed.some((one) => path === one || path.startsWith(`${one}/`) || one.startsWith(`${path}/`));
  if (lstatSync(at.workspace, { throwIfNoEntry: false })?.isDirectory() === false) {
    found.add('changed', 'workspace', 'the workspace is no folder any more, or a link to one');
    return;
  }
  try {
    const differing = await unlike(at.workspace, read.tree, isSealed);
    found.count('workspace files', read.tree.size);
    const words = {
      changed: 'is not as the last stage left it',
      missing: 'is gone; the last stage left it there',
      added: 'was put there after the last stage',
    } as const;
    for (const { path, how } of differing)
      found.add(how, `workspace/${shown(path)}`, `the workspace's file ${words[how]}`);
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error;
    found.add('unreadable', 'workspace', error.message);
  }
}

/** What agents were asked and answered: each line by its own hash, each text by its name. */
export async function checkExchanges(runDir: string, found: Findings): Promise<void> {
  const at = layout(runDir);
  await checkOne(at.exchanges, 'exchanges', found);
  const followed = followedLayout(at.followed);
  await checkOne(followed.exchanges, '.replay/exchanges', found);
  for (const name of namesIn(followed.artifacts))
    found.hash(
      `.replay/artifacts/${name}`,
      name,
      await hashFile(followed.artifact(name)),
      'what a recorded stage left',
    );
}

async function checkOne(dir: string, where: string, found: Findings): Promise<void> {
  const read = await readExchanges(dir);
  const needed = new Set<string>();
  if (!read.ok && !read.missing) found.add('changed', `${where}/calls.jsonl`, read.why);
  if (read.ok) {
    found.count('exchanges', read.exchanges.length);
    for (const { exchange } of read.exchanges)
      for (const body of bodiesOf(exchange)) if (typeof body !== 'string') needed.add(body.sha256);
  }
  const { bodies } = exchangesLayout(dir);
  const names = namesIn(bodies);
  for (const name of names) {
    if (/^\..*\.tmp$/.test(name)) continue;
    const path = `${where}/bodies/${name}`;
    if (!/^[0-9a-f]{64}$/.test(name)) found.add('added', path, 'no text has this name');
    else found.hash(path, name, await hashFile(join(bodies, name)), 'the text of an exchange');
  }
  const there = new Set(names);
  for (const name of needed)
    if (!there.has(name))
      found.add('missing', `${where}/bodies/${name}`, 'an exchange names this text, and it is gone');
  for (const name of namesIn(dir))
    if (name !== 'calls.jsonl' && name !== 'bodies')
      found.add('added', `${where}/${name}`, 'no exchange has put this there');
}
