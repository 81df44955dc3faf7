/** Writing into a node's folder, which the node's own programs can write into too. */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { basename } from 'node:path';
import { isCode, isMissing, writeFileAtomic, writeFresh } from '../system/files.ts';
import { maskStream } from '../system/mask.ts';

/** Artifacts that somebody may look at as soon as they are there. */
const lookedFor: ReadonlySet<string> = new Set(['status.json', 'response.md', 'verification.results.json']);

/** Writes an artifact. A folder that a stage left in its place goes. What a visit writes first is torn where the engine is
 *  killed meanwhile, and then goes with all that the visit left. */
export async function keepText(path: string, text: string): Promise<void> {
  if (!lookedFor.has(basename(path)) && writeFresh(path, text, 0o644)) return;
  await writeFileAtomic(path, text, { evenFolder: true });
}

/** The same for JSON, with two-space indent and a final newline. */
export const keepJson = (path: string, value: unknown): Promise<void> =>
  keepText(path, `${JSON.stringify(value, null, 2)}\n`);

/** Lists of so many characters are in memory once more as one text, and again as its bytes. */
const longFrom = 1024 * 1024;

/** The same for lists of paths, of which there may be very many. */
export async function keepLists(
  path: string,
  lists: Readonly<Record<string, readonly string[]>>,
): Promise<void> {
  let length = 0;
  for (const list of Object.values(lists)) for (const item of list) length += item.length;
  if (length < longFrom) return keepJson(path, lists);
  await writeFileAtomic(path, piecesOf(lists), { evenFolder: true });
}

/** The text that `keepJson` makes of them, in pieces. */
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

/** Takes values out of an artifact of any size that a program has written by itself. Anything but a plain file stays. */
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

function* maskedPieces(file: number, values: readonly string[]): Generator<Buffer> {
  const masker = maskStream(values);
  const piece = Buffer.allocUnsafe(pieceLength);
  for (let got = readSync(file, piece); got > 0; got = readSync(file, piece))
    yield masker.push(piece.subarray(0, got));
  yield masker.end();
}
