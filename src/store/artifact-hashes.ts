/** Hashes of the artifacts in a node directory. */
import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  createReadStream,
  type Dirent,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
} from 'node:fs';
import { join } from 'node:path';
import { sha256 } from '../model/sha256.ts';
import { named } from '../system/disk-trouble.ts';
import { isCode, isMissing } from '../system/files.ts';

/** Larger files are hashed in pieces, without blocking. */
const readAtOnce = 1024 * 1024;

const ofNothing = sha256('');

/** A node may leave any number of files; only the first of them are hashed. */
const mostArtifacts = 2000;

/** Names in a node directory that are not artifacts: the engine's notes on the running node, earlier executions, and
 *  temporary files. */
export const isPassing = (name: string): boolean =>
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
export function* artifactsIn(
  dir: string,
  skip: (folder: string) => boolean = () => false,
): Generator<string> {
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
    const hash = await hashFile(join(dir, name));
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
export async function hashFile(path: string): Promise<string | undefined> {
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
