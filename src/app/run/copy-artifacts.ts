/** Copies the artifacts of another run, which is only read: the recorded answers, and the folders of executions. */
import { constants, lstatSync, mkdirSync, truncateSync } from 'node:fs';
import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ContentBatch } from '../../contents/batch.ts';
import type { ContentStore } from '../../contents/store.ts';
import type { Diagnostic } from '../../core/diagnostic.ts';
import { isReplayedType } from '../../core/graph.ts';
import { own } from '../../core/json.ts';
import { followedLayout, layout, nodeLayout } from '../../core/records/layout.ts';
import { questionIdOf } from '../../core/records/question.ts';
import type { RunRecord, VisitRecord } from '../../core/records/visit.ts';
import { below } from '../../platform/files/names.ts';
import { isMissing, makeFolder } from '../../platform/files/write.ts';
import { linkAnswer } from '../../run/answer-files.ts';
import { renameDirsIn } from '../../run/comparable.ts';
import { readStage, writeStage } from '../../run/node-directory.ts';
import { linkNoteAgain } from '../../run/note-files.ts';
import type { RunHistory } from '../../run/run-journal.ts';
import { entryNames, walk } from '../../workspace/walk.ts';

/* The record of a run, copied to a run that replays it. */

/** Puts the journal of the run in `from`, `bytes` long, into the directory of a run that replays it; and the artifacts of tools,
 *  verifications and own types from the record numbered `begins` on (of none where that is undefined) into its content store. */
export async function copyRecord(
  from: string,
  to: string,
  { records, whole }: Pick<RunHistory, 'records' | 'whole'>,
  begins: number | undefined,
  store: ContentStore,
): Promise<Diagnostic | undefined> {
  const { followed } = layout(to);
  const { journal } = followedLayout(followed);
  makeFolder(followed);
  await copyFile(layout(from).journal, journal, constants.COPYFILE_FICLONE);
  // A run that is under way has written more since.
  truncateSync(journal, whole.bytes);
  const batch = store.begin();
  try {
    for (const record of begins === undefined ? [] : records.slice(begins)) {
      if (record.type !== 'Visit' || !isReplayedType(record.node_type)) continue;
      const damaged = await keepArtifacts(record, layout(from).node(record.node), batch);
      if (damaged !== undefined)
        return {
          code: 'replay-damaged',
          severity: 'error',
          message: `an artifact of ${record.node}@${record.visit} was changed or removed: ${damaged}`,
          fix: 'restore that file, or run tools and verifications again with --run-tools; nothing was replayed',
        };
    }
    await batch.commit();
  } finally {
    await batch.end();
  }
  return undefined;
}

/** Adds the artifacts of an execution. Returns the path of one that is not as recorded. */
async function keepArtifacts(
  { visit, artifacts = {} }: VisitRecord,
  dir: string,
  batch: ContentBatch,
): Promise<string | undefined> {
  const archive = join(nodeLayout(dir).visits, String(visit));
  for (const [name, hash] of Object.entries(artifacts)) {
    let found = false;
    // A run that is under way moves files from the first place to the second.
    for (const place of [dir, archive]) found ||= (await hashIn(join(place, name), batch)) === hash;
    if (!found) return join(isFile(join(archive, name)) ? archive : dir, name);
  }
  return undefined;
}

/** Adds a file; answers the hash of what was added. */
async function hashIn(path: string, batch: ContentBatch): Promise<string | undefined> {
  if (!isFile(path)) return undefined;
  try {
    return (await batch.addFile(path)).hash;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

const isFile = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;

/* The node directories of a run, copied to a run that is forked from it. */

/** Copies the directories of the executions in `records` from the run in `from` to the one in `to`, each to where it was
 *  after the last of them. Returns the executions whose directory is gone, as `node@visit`. */
export async function copyArtifacts(
  from: string,
  to: string,
  records: readonly RunRecord[],
  marker: string,
): Promise<string[]> {
  const latest = new Map<string, number>();
  for (const record of records) if (record.type === 'Visit') latest.set(record.node, record.visit);
  const lost: string[] = [];
  for (const record of records) {
    if (record.type !== 'Visit') continue;
    const { node, visit } = record;
    const [source, target] = [layout(from).node(node), layout(to).node(node)];
    const dir = latest.get(node) === visit ? target : join(nodeLayout(target).visits, String(visit));
    // Its processes are those of the forked run, which a resume of this one must not end.
    if (await copyExecution(source, visit, dir))
      await writeStage(dir, { visit, attempt: 1, marker, process: null });
    else lost.push(`${node}@${visit}`);
  }
  return lost.sort();
}

/** Writes the files of the answers and notes that the records have. */
export async function writeAnswers(to: string, records: readonly RunRecord[]): Promise<void> {
  for (const record of records) {
    if (record.type !== 'Visit') continue;
    const { node, visit, answer, steered = [] } = record;
    if (answer !== undefined) await linkAnswer(to, { question: questionIdOf(node, visit), ...answer });
    for (const note of steered) await linkNoteAgain(to, note);
  }
}

/** False where the directory is gone. */
async function copyExecution(source: string, visit: number, target: string): Promise<boolean> {
  const archive = join(nodeLayout(source).visits, String(visit));
  const isLatest = async () =>
    entryNames(archive, '').length === 0 && (await readStage(source))?.visit === visit;
  // A run that is under way may move it to its archive meanwhile.
  if ((await isLatest()) && (await copyFolder(source, target)) && (await isLatest())) return true;
  for (const name of entryNames(target, ''))
    if (name !== 'visits') await rm(below(target, name), { recursive: true, force: true });
  // The stage file is moved last.
  return (await readStage(archive)) !== undefined && copyFolder(archive, target);
}

/** Copies all except archived executions. False when something in the folder is gone meanwhile. */
async function copyFolder(from: string, to: string): Promise<boolean> {
  makeFolder(to);
  const isOut = (path: string) => !path.includes('/') && (path.endsWith('.tmp') || path === 'visits');
  for (const { path, kind } of walk(from, { enter: (folder) => !isOut(folder.path) })) {
    if (isOut(path)) continue;
    try {
      if (kind === 'dir') mkdirSync(below(to, path), { recursive: true });
      else if (kind === 'file')
        await copyFile(below(from, path), below(to, path), constants.COPYFILE_FICLONE);
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }
  return true;
}

/** The record with paths of artifacts in the new run's directory. Artifacts that are gone get no hashes. */
export function withOwnArtifacts(
  record: VisitRecord,
  isLost: boolean,
  from: readonly string[],
  to: string,
): VisitRecord {
  // These are of the other run.
  const { artifacts, spent: _, ended: __, ...rest } = record;
  const kept = isLost || artifacts === undefined ? rest : { ...rest, artifacts };
  const key = 'last_failure.artifacts';
  const paths = own(record.context.set, key);
  if (paths === undefined) return kept;
  const set = { ...record.context.set, [key]: renameDirsIn(paths, from, to) };
  return { ...kept, context: { ...record.context, set } };
}
