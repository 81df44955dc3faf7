/** Snapshots, the workspace as it lies there now, and the texts of exchanges. */
import { existsSync, lstatSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Checkpoint } from '../model/checkpoint.ts';
import { exchangesLayout, followedLayout, layout } from '../model/layout.ts';
import type { Manifest } from '../model/manifest.ts';
import type { Holdout, SealedFile } from '../model/sealed.ts';
import type { RunRecord } from '../model/visit-record.ts';
import { hashFile } from '../store/artifact-hashes.ts';
import { bodiesOf, readExchanges } from '../store/exchanges.ts';
import { sealedHash } from '../store/sealed.ts';
import { readVisits } from '../store/visits.ts';
import { collectGarbage } from '../system/memory.ts';
import { namesIn } from '../system/read.ts';
import { asListed } from '../system/spelled.ts';
import { inspectStore, treeOf, unlike } from '../workspace/inspect.ts';
import { shown } from '../workspace/names.ts';
import { readForSealing } from '../workspace/to-seal.ts';
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

/** The workspace against the snapshot of the last stage. `isTold`: the result of that end is there. `sealed`: what judges,
 *  where its key is at hand. */
export async function checkWorkspace(
  runDir: string,
  manifest: Manifest,
  checkpoint: Checkpoint,
  {
    underWay,
    isTold,
    sealed,
  }: {
    readonly underWay: boolean;
    readonly isTold: boolean;
    readonly sealed: readonly SealedFile[] | undefined;
  },
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
  // What is put back at the end is the judge's, and stands in no snapshot.
  const judges = (manifest.holdout?.paths ?? []).map((path) => asListed(at.workspace, path));
  const isSealed = (path: string) =>
    judges.some((one) => path === one || path.startsWith(`${one}/`) || one.startsWith(`${path}/`));
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
    if (manifest.holdout !== undefined) checkJudge(at.workspace, manifest.holdout, sealed, found);
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error;
    found.add('unreadable', 'workspace', error.message);
  }
}

const asItIs = (as: string) => ({ as, leaveOut: () => false, most: Number.POSITIVE_INFINITY });

/** What judges, as the end of the run has put it back into the workspace: file by file, or without the key as a whole. */
function checkJudge(
  workspace: string,
  { paths, sha256 }: Holdout,
  sealed: readonly SealedFile[] | undefined,
  found: Findings,
): void {
  const there: SealedFile[] = [];
  for (const path of paths)
    try {
      there.push(...readForSealing(workspace, path, asItIs(path)));
    } catch (error) {
      if (!(error instanceof WorkspaceError)) throw error;
      found.add(
        'changed',
        `workspace/${shown(path)}`,
        `what is sealed cannot be read there: ${error.message}`,
      );
      return;
    }
  if (sealedHash(there) === sha256) return;
  if (sealed === undefined) {
    for (const path of paths)
      found.add('changed', `workspace/${shown(path)}`, 'what is sealed is not there as the run put it back');
    return;
  }
  const lines = (files: readonly SealedFile[]) =>
    new Map(
      files.map((one) => [one.path, sealedHash([one.kind === 'link' ? { ...one, mode: 0o777 } : one])]),
    );
  const [is, should] = [lines(there), lines(sealed)];
  for (const path of [...new Set([...is.keys(), ...should.keys()])].sort())
    if (!should.has(path))
      found.add('added', `workspace/${shown(path)}`, 'was put among the sealed files after the run');
    else if (!is.has(path))
      found.add('missing', `workspace/${shown(path)}`, 'the sealed file that the run put back is gone');
    else if (is.get(path) !== should.get(path))
      found.add('changed', `workspace/${shown(path)}`, 'the sealed file is not as the run put it back');
}

/** What agents were asked and answered: each line by its own hash, each text by its name. */
export async function checkExchanges(runDir: string, found: Findings): Promise<void> {
  await checkOne(layout(runDir).exchanges, 'exchanges', found);
}

/** What a replay follows: the other run's exchanges, and what its tools and checks left. */
export async function checkFollowed(
  runDir: string,
  { replay_of: of, forked_from: from, files }: Manifest,
  found: Findings,
): Promise<void> {
  const { followed } = layout(runDir);
  const at = followedLayout(followed);
  const where = basename(followed);
  const known: readonly string[] = of === undefined ? [] : Object.values(followedLayout('')).filter(isText);
  for (const name of namesIn(followed))
    if (files !== undefined && name === basename(at.proof) && files[`${where}/${name}`] === undefined)
      found.add('added', `${where}/${name}`, 'the run was not begun with this file');
    else if (!known.includes(name) && !/^\..*\.tmp$/.test(name))
      found.add('added', `${where}/${name}`, 'no replay has put this there');
  if (of === undefined) return;
  await checkOne(at.exchanges, `${where}/exchanges`, found);
  const visits = await readVisits(at.visits);
  const stages = of.run_tools === true || !visits.ok ? [] : visits.records.slice(from?.seq ?? 1);
  const left = new Set(
    stages.flatMap((one) =>
      one.type === 'Visit' && answered.has(one.node_type) ? Object.values(one.artifacts ?? {}) : [],
    ),
  );
  const names = namesIn(at.artifacts);
  const what = 'what a recorded stage left';
  for (const name of names)
    if (visits.ok && !left.has(name)) found.add('added', `${where}/artifacts/${name}`, `it is not ${what}`);
    else found.hash(`${where}/artifacts/${name}`, name, await hashFile(at.artifact(name)), what);
  // An earlier version's replay ran every tool.
  if (!existsSync(at.artifacts)) return;
  for (const name of left)
    if (!names.includes(name)) found.hash(`${where}/artifacts/${name}`, name, undefined, what);
}

const isText = (value: unknown): value is string => typeof value === 'string';

/** Types of nodes that a record answers for by what they left. */
const answered: ReadonlySet<string> = new Set(['tool', 'verification']);

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
