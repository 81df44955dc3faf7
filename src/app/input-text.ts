/** The text of an input of a run: a file, a pipe, or a folder that is a specification. */
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { extname } from 'node:path';
import { realClock } from '../platform/clock.ts';
import { isCode, isMissing, readFailure } from '../platform/files/write.ts';
import { mainFileOf, readSpecFolder } from './spec-folder.ts';

/** The text, or what is wrong with the file; with a fix where naming another file is not it. */
type InputText = { readonly text: string } | { readonly problem: string; readonly fix?: string };

/** Bytes; a larger input is refused. */
const inputLimit = 10 * 1024 * 1024;

/** The text of a file or specification that a variable names, and how the name of its copy ends. */
export async function readInputText(
  path: string,
  what: string,
): Promise<{ readonly text: string; readonly ending: string } | Exclude<InputText, { text: string }>> {
  const isFolder = (await stat(path).catch(() => undefined))?.isDirectory() === true;
  if (!isFolder) {
    const read = await readInputFile(path, what);
    return 'problem' in read ? read : { ...read, ending: extname(path) === '' ? '.txt' : extname(path) };
  }
  const read = await readSpecFolder(path, (part) => readInputFile(part, what));
  if ('problem' in read)
    return mainFileOf(path) === undefined ? { ...read, problem: `${what}: ${read.problem}` } : read;
  return Buffer.byteLength(read.text) > inputLimit
    ? { problem: `${what}: the files of ${path} are larger than 10 MiB together` }
    : { ...read, ending: '.md' };
}

/** Reads a pipe (`--var spec=<(command)`) to its end, or a little beyond the input limit. Reads do not block: a blocked process
 *  could not be ended by a signal. */
async function readPipe(path: string): Promise<Buffer> {
  const pipe = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const pieces: Buffer[] = [];
  try {
    for (let length = 0; length <= inputLimit; ) {
      const piece = Buffer.allocUnsafe(64 * 1024);
      let got: number;
      try {
        got = readSync(pipe, piece);
      } catch (error) {
        if (!isCode(error, 'EAGAIN')) throw error;
        await realClock.sleep(pipeWaitMs);
        continue;
      }
      if (got === 0) break;
      pieces.push(piece.subarray(0, got));
      length += got;
    }
    return Buffer.concat(pieces);
  } finally {
    closeSync(pipe);
  }
}

const savedAsText = 'save it as UTF-8 text, or name another file';

/** Milliseconds between two reads of an empty pipe. */
const pipeWaitMs = 20;

/** The text of an input, or what is wrong with the file; with a fix where naming another file is not it. */
export async function readInputFile(path: string, what: string): Promise<InputText> {
  try {
    const is = await stat(path);
    if (is.isDirectory())
      return { problem: `${what}: ${path} is a folder, not a file`, fix: 'name a file in it' };
    const isPipe = is.isFIFO();
    if (!is.isFile() && !isPipe) return { problem: `${what}: ${path} is a device, not a file` };
    if (is.size > inputLimit) return { problem: `${what}: ${path} is larger than 10 MiB` };
    const bytes = isPipe ? await readPipe(path) : await readFile(path);
    if (bytes.length > inputLimit) return { problem: `${what}: ${path} is larger than 10 MiB` };
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    if (text.includes('\0')) return { problem: `${what}: ${path} is a binary file`, fix: savedAsText };
    return text.trim() === ''
      ? { problem: `${what}: ${path} is empty`, fix: 'write the text into it, or name another file' }
      : { text };
  } catch (error) {
    if (isMissing(error)) return { problem: `${what}: there is no file ${path}` };
    if (isCode(error, 'EACCES', 'EPERM'))
      return {
        problem: `${what}: ${path} may not be read (permission denied)`,
        fix: 'check its permissions and those of the folders above it',
      };
    if (error instanceof TypeError)
      return { problem: `${what}: ${path} is not UTF-8 text`, fix: savedAsText };
    return {
      problem: `${what}: cannot read ${path}: ${readFailure(error)}`,
    };
  }
}
