/** Hashes of the artifacts in a node directory. */
import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  createReadStream,
  type Dirent,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { maskStream } from '../core/policy/mask.ts';
import { layout } from '../core/records/layout.ts';
import { sha256 } from '../core/sha256.ts';
import { named } from '../platform/files/disk-error.ts';
import { isCode, isMissing, writeFileAtomic, writeFresh } from '../platform/files/write.ts';

/** Larger files are hashed in pieces, without blocking. */
const readAtOnce = 1024 * 1024;

const ofNothing = sha256('');

/** A node may leave any number of files; only the first of them are hashed. */
const mostArtifacts = 2000;

/** Names in a node directory that are not artifacts: the engine's notes on the running node, earlier executions, and
 *  temporary files. */
const isPassing = (name: string): boolean =>
  name === 'stage.json' || name === 'visits' || /^\..*\.tmp$/.test(name);

/** A record of hashes by name cannot contain this one: its readers leave it out. */
const unspeakable = '__proto__';

export type ArtifactHashes = {
  /** SHA-256, hex, by path in the folder, sorted. */
  readonly hashes: Readonly<Record<string, string>>;
  /** Number of files that are not hashed. */
  readonly more: number;
};

/** Paths of the plain files in a node directory and below that are artifacts. Folders for which `skip` is true are left out. */
function* artifactsIn(dir: string, skip: (folder: string) => boolean = () => false): Generator<string> {
  const open = [''];
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    for (const entry of entriesOf(folder === '' ? dir : join(dir, folder))) {
      const name = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (folder === '' && (isPassing(name) || name === unspeakable)) continue;
      if (entry.isDirectory()) {
        if (!skip(join(dir, name))) open.push(name);
      } else if (entry.isFile()) yield name;
    }
  }
}

/** Hashes every plain file in `dir` and below; links, pipes and unreadable files are skipped. A missing directory is empty. */
export async function hashArtifacts(dir: string): Promise<ArtifactHashes> {
  const found: [string, string][] = [];
  let more = 0;
  for (const name of artifactsIn(dir)) {
    if (found.length >= mostArtifacts) {
      more += 1;
      continue;
    }
    const hash = await hashArtifact(join(dir, name));
    if (hash !== undefined) found.push([name, hash]);
  }
  return { hashes: Object.fromEntries(found.sort(([a], [b]) => (a < b ? -1 : 1))), more };
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    // A node may leave directories deeper than a path can be long.
    if (isMissing(error) || isCode(error, 'EACCES', 'EPERM', 'ELOOP', 'ENAMETOOLONG')) return [];
    throw error;
  }
}

/** SHA-256, hex, of a plain file; undefined if it cannot be read. Never follows a link or opens a pipe. */
export async function hashArtifact(path: string): Promise<string | undefined> {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (isMissing(error) || isCode(error, 'EACCES', 'EPERM', 'ELOOP', 'ENXIO', 'ENAMETOOLONG'))
      return undefined;
    throw error;
  }
  try {
    const is = fstatSync(file);
    if (!is.isFile()) return undefined;
    if (is.size > readAtOnce) {
      const hash = createHash('sha256');
      const stream = createReadStream('', { fd: file, autoClose: false, highWaterMark: readAtOnce });
      for await (const chunk of stream) hash.update(chunk as Buffer);
      return hash.digest('hex');
    }
    if (is.size === 0) return ofNothing;
    const bytes = Buffer.allocUnsafe(is.size);
    let read = 0;
    for (let got = 1; got > 0 && read < is.size; read += got)
      got = readSync(file, bytes, read, is.size - read, read);
    return sha256(bytes.subarray(0, read));
  } catch (error) {
    throw named(path, error);
  } finally {
    closeSync(file);
  }
}

/* Writes artifacts into a node's directory, which the node's own programs can write to as well. */

/** Artifacts that other programs may read as soon as they exist: written by rename. */
const readEarly: ReadonlySet<string> = new Set(['status.json', 'response.md', 'verification.results.json']);

/** Writes an artifact; a folder that the node left in its place is removed. The first write of an execution is not atomic: if
 *  the engine is killed, resume removes everything that the execution left. */
export async function keepText(path: string, text: string): Promise<void> {
  if (!readEarly.has(basename(path)) && writeFresh(path, text, 0o644)) return;
  await writeFileAtomic(path, text, { evenFolder: true });
}

/** The same for JSON, with two-space indent and a final newline. */
export const keepJson = (path: string, value: unknown): Promise<void> =>
  keepText(path, `${JSON.stringify(value, null, 2)}\n`);

/** Lists with more characters than this are written in pieces: one text of them, and its bytes, would take too much memory. */
const longFrom = 1024 * 1024;

/** The same for lists of paths, which may be very long. */
export async function keepLists(
  path: string,
  lists: Readonly<Record<string, readonly string[]>>,
): Promise<void> {
  let length = 0;
  for (const list of Object.values(lists)) for (const item of list) length += item.length;
  if (length < longFrom) return keepJson(path, lists);
  await writeFileAtomic(path, piecesOf(lists), { evenFolder: true });
}

/** The text that `keepJson` would write, in pieces. */
function* piecesOf(lists: Readonly<Record<string, readonly string[]>>): Generator<Buffer> {
  let text = '{';
  let between = '\n';
  for (const [name, list] of Object.entries(lists)) {
    text += `${between}  ${JSON.stringify(name)}: [`;
    between = ',\n';
    for (const [n, item] of list.entries()) {
      text += `${n === 0 ? '\n' : ',\n'}    ${JSON.stringify(item)}`;
      if (text.length < pieceLength) continue;
      yield Buffer.from(text);
      text = '';
    }
    text += list.length === 0 ? ']' : '\n  ]';
  }
  yield Buffer.from(`${text}\n}\n`);
}

const pieceLength = 64 * 1024;

/** Masks values in an artifact of any size that a program has written. Anything but a regular file is left unchanged. */
export async function maskKept(path: string, values: readonly string[]): Promise<void> {
  if (values.every((value) => value === '')) return;
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (isMissing(error) || isCode(error, 'ELOOP', 'ENXIO')) return;
    throw error;
  }
  try {
    if (fstatSync(file).isFile()) await writeFileAtomic(path, maskedPieces(file, values));
  } finally {
    closeSync(file);
  }
}

/** Masks values in the artifacts that a node's programs wrote. The runs of a nested `factory` mask theirs. */
export async function maskFolder(dir: string, values: readonly string[]): Promise<void> {
  if (values.length === 0) return;
  for (const name of artifactsIn(dir, isRunDirectory)) {
    const path = join(dir, name);
    if (holds(path, values)) await maskKept(path, values);
  }
}

const isRunDirectory = (folder: string): boolean =>
  existsSync(layout(folder).manifest) && existsSync(layout(folder).checkpoint);

/** Whether a file holds one of the values; an unreadable one is left to its readers. */
function holds(path: string, values: readonly string[]): boolean {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return false;
  }
  try {
    const masker = maskStream(values);
    const piece = Buffer.alloc(pieceLength);
    for (let got = readSync(file, piece); got > 0 && !masker.found; got = readSync(file, piece))
      masker.push(piece.subarray(0, got));
    masker.end();
    return masker.found;
  } finally {
    closeSync(file);
  }
}

function* maskedPieces(file: number, values: readonly string[]): Generator<Buffer> {
  const masker = maskStream(values);
  const piece = Buffer.allocUnsafe(pieceLength);
  for (let got = readSync(file, piece); got > 0; got = readSync(file, piece))
    yield masker.push(piece.subarray(0, got));
  yield masker.end();
}
