/** Where `-o FILE` writes. */
import { appendFile, readlink, realpath, stat } from 'node:fs/promises';
import { dirname, resolve, sep } from 'node:path';
import type { Refusal } from '../core/diagnostic.ts';
import { isFolder, readPlainBytes } from '../platform/files/read.ts';
import { isCode, isMissing, writeFileAtomic } from '../platform/files/write.ts';
import { usage } from './find-run.ts';

/** What the output may not replace: absolute paths of the files and folders that the command has read. */
type OutputSources = { readonly inputs: readonly string[] };

/** In every picture that we write as SVG or DOT, near its beginning. */
const pictureMark = /\bclass ?= ?"factory-picture"/;

/** Whether `path` is a picture of `factory graph`, which another one may replace. */
export const isOurPicture = (path: string): boolean => pictureMark.test(beginning(path));

/** Writes to the file that `-o` names, or says why nothing was written. A link is followed: its target is replaced in one step.
 *  What is no plain file (`/dev/stdout`, a named pipe) is written as a stream and never replaced. */
export async function writeOutput(
  file: string,
  data: string | Uint8Array,
  { inputs }: OutputSources,
  cwd: string,
): Promise<'file' | 'stream' | Refusal> {
  const refuse = (why: string) => usage(`-o ${file}: ${why}`, 'name another file');
  const path = resolve(cwd, file);
  try {
    if (await isStream(path)) {
      await appendFile(path, data);
      return 'stream';
    }
    const target = await targetOf(path);
    for (const input of inputs)
      if (await isPartOf(target, input))
        return refuse(
          isFolder(input) ? `it is in the folder ${input}, which is drawn or read` : 'it is the input itself',
        );
    if (isPipeline(target)) return refuse('it is a pipeline, and would be replaced');
    const mode = await stat(target).then(
      (is) => is.mode & 0o777,
      () => undefined,
    );
    await writeFileAtomic(target, data, mode === undefined ? {} : { mode });
    return 'file';
  } catch (error) {
    // The reader of a pipe has seen enough.
    if (isCode(error, 'EPIPE')) return 'stream';
    if (isCode(error, 'EISDIR')) return refuse('it is a directory');
    if (isCode(error, 'EEXIST', 'ENOTDIR')) return refuse('a part of the path is not a directory');
    if (isCode(error, 'ELOOP')) return refuse('its links lead in a circle');
    if (isCode(error, 'ENXIO')) return refuse('nothing can be written there');
    throw error;
  }
}

/** A file that a process has open. */
const openFile = /^\/(?:dev\/(?:fd\/|std(?:in|out|err)$)|proc\/[^/]+\/(?:task\/[^/]+\/)?fd\/)/;

/** Open files count as streams also where they are plain files: the process that opened one writes there, too. */
async function isStream(path: string): Promise<boolean> {
  if (openFile.test(path)) return true;
  const is = await stat(path).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (is === undefined) return false;
  if (!is.isFile() && !is.isDirectory()) return true;
  return openFile.test(await lastLink(path));
}

/** The path that the last of its links names, still unresolved: `/proc/self/fd/1` for a link to `/dev/stdout`. */
async function lastLink(path: string, links = 40): Promise<string> {
  const next = links === 0 ? undefined : await readlink(path).catch(() => undefined);
  if (next === undefined) return path;
  const at = resolve(dirname(path), next);
  return openFile.test(at) ? at : lastLink(at, links - 1);
}

/** The file that is written: through links, also through one whose target is missing. */
async function targetOf(path: string): Promise<string> {
  return realpath(path).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
    return lastLink(path);
  });
}

/** Whether a file is `input`, another hard link of it, or in the folder `input`. */
async function isPartOf(file: string, input: string): Promise<boolean> {
  const real = await realpath(input).catch(() => input);
  if (file === real || file.startsWith(`${real}${sep}`)) return true;
  const [a, b] = await Promise.all([file, real].map((path) => stat(path).catch(() => undefined)));
  return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev;
}

/** Whether a digraph is in the file, other than a drawing of ours. */
function isPipeline(path: string): boolean {
  const text = beginning(path);
  if (pictureMark.test(text)) return false;
  return /^\s*digraph\b/.test(
    text.replace(/^\uFEFF/, '').replace(/\/\*[\s\S]*?(?:\*\/|$)|(?:\/\/|#).*/g, ''),
  );
}

function beginning(path: string): string {
  const read = readPlainBytes(path, 64 * 1024, 'cut');
  return read.kind === 'text' ? read.text.toString('utf8') : '';
}
