/** Writes artifacts into a node's directory, which the node's own programs can write to as well. */
import { closeSync, constants, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { basename, join } from 'node:path';
import { layout } from '../model/layout.ts';
import { artifactsIn } from '../store/artifact-hashes.ts';
import { isCode, isMissing, writeFileAtomic, writeFresh } from '../system/files.ts';
import { maskStream } from '../system/mask.ts';

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
