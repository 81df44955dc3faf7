/** What a run was started from: texts in its content store, by hash, and files that never change. */
import { join, relative } from 'node:path';
import { ContentStore, findContent } from '../contents/store.ts';
import { canonicalHash, canonicalJson, type Json, type JsonObject } from '../core/json.ts';
import { followedLayout, historyLayout, layout } from '../core/records/layout.ts';
import type { Manifest } from '../core/records/manifest.ts';
import { sha256 } from '../core/sha256.ts';
import { DiskStop } from '../platform/files/disk-error.ts';
import { namesIn, readPlain } from '../platform/files/read.ts';
import { makeFolder, writeJson } from '../platform/files/write.ts';
import { hashArtifact } from './artifacts.ts';
import { cursorNearEnd, journalLines, readLine } from './journal-read.ts';
import type { RunHistory } from './run-journal.ts';

/** SHA-256 by path in the run directory, of every file there that is never written again: the package barrier, the
 *  settings of the history, the records that a replay follows. */
export async function immutableFiles(runDir: string): Promise<Record<string, string>> {
  const at = layout(runDir);
  const { settings, start, sealed } = historyLayout(at.history);
  const followed = followedLayout(at.followed);
  const info = join(at.history, 'info');
  const paths = [
    at.barrier,
    join(at.history, 'config'),
    settings,
    start,
    sealed,
    ...namesIn(info).map((name) => join(info, name)),
    followed.journal,
  ];
  const hashes: Record<string, string> = {};
  for (const path of paths) {
    const hash = await hashArtifact(path);
    if (hash !== undefined) hashes[relative(runDir, path)] = hash;
  }
  return hashes;
}

/** SHA-256 of a manifest's JSON, independent of the order of its keys. */
export const manifestHash = (manifest: object): string => canonicalHash(plainOf(manifest));

const plainOf = (manifest: object): Json => JSON.parse(JSON.stringify(manifest)) as Json;

/** Puts texts into the content store. With `sync` false nothing is flushed. */
export async function storeTexts(runDir: string, texts: readonly string[], sync = true): Promise<void> {
  if (texts.length === 0) return;
  const { contents } = layout(runDir);
  makeFolder(contents);
  const batch = new ContentStore(contents, sync).begin();
  try {
    for (const text of texts) batch.addContent(Buffer.from(text));
    await batch.commit();
  } finally {
    await batch.end();
  }
}

/** The field of a manifest for texts that are stored, by name. */
export const textsByName = (texts: Readonly<Record<string, string>>): Pick<Manifest, 'texts'> =>
  Object.keys(texts).length === 0
    ? {}
    : { texts: Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, sha256(text)])) };

/** The text of that hash; undefined where the content store has lost it. */
export const storedText = (runDir: string, hash: string): string | undefined =>
  findContent(layout(runDir).contents, hash)?.toString('utf8');

/** Says that the store has lost a text. */
export const lostText = (runDir: string, what: string): string =>
  `${layout(runDir).contents} no longer has ${what}, or other bytes`;

/** Stores a manifest, and texts that it names, before the journal names it; answers its hash. */
export async function storeManifest(
  runDir: string,
  manifest: Manifest,
  texts: readonly string[],
): Promise<string> {
  await storeTexts(runDir, [...texts, canonicalJson(plainOf(manifest))]);
  return manifestHash(manifest);
}

/** Whether a line of the journal names that manifest. */
export const wasManifest = ({ lines }: Pick<RunHistory, 'lines'>, hash: string): boolean =>
  lines.some((line) => 'manifest_sha256' in line && line.manifest_sha256 === hash);

/** The text of a run's manifest: `manifest.json`, or the one in the store that a resume has brought which was killed between its line
 *  in the journal and that file. */
export function manifestText(runDir: string): ReturnType<typeof readPlain> {
  const at = layout(runDir);
  const read = readPlain(at.manifest);
  const hash = read.kind === 'text' ? newestOrNone(at.journal) : undefined;
  if (read.kind !== 'text' || hash === undefined || hashOfText(read.text) === hash) return read;
  const text = storedText(runDir, hash);
  return text === undefined ? read : { ...read, text };
}

const hashOfText = (text: string): string => {
  try {
    return manifestHash(JSON.parse(text) as object);
  } catch {
    return '';
  }
};

/** Bytes at the end of a journal in which a resume is the last to have written. */
const nearEnd = 64 * 1024;

/** None in a journal with a line that no run writes, which its reader reports. */
function newestOrNone(journal: string): string | undefined {
  try {
    return newestManifest(journal);
  } catch (error) {
    if (error instanceof DiskStop) return undefined;
    throw error;
  }
}

/** The hash of the manifest by the last line of a journal, if that is a resume. */
function newestManifest(journal: string): string | undefined {
  let resumed: JsonObject | undefined;
  for (const { bytes, whole } of journalLines(journal, cursorNearEnd(journal, nearEnd))) {
    const isResumed = bytes.includes('"type":"Resumed"');
    if (!whole || (resumed === undefined && !isResumed)) continue;
    const line = readLine(bytes);
    if ('why' in line) continue;
    // An earlier owner may have written something later.
    if (isResumed) resumed = line.record;
    else if (Number(line.record['epoch']) >= Number(resumed?.['epoch'])) resumed = undefined;
  }
  const hash = resumed?.['manifest_sha256'];
  return typeof hash === 'string' ? hash : undefined;
}

/** Writes the manifest with that hash, which the journal names, where `manifest.json` is still an earlier one. Only for the run's
 *  owner. */
export async function installManifest(runDir: string, hash: string): Promise<void> {
  const text = readPlain(layout(runDir).manifest);
  if (text.kind === 'text' && manifestHash(JSON.parse(text.text) as object) === hash) return;
  const stored = storedText(runDir, hash);
  if (stored !== undefined) await writeJson(layout(runDir).manifest, JSON.parse(stored), { sync: true });
}
