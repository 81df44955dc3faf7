/** Where a path of the model's really leads, and whether a tool may go there. */
import { constants, type Stats } from 'node:fs';
import { lstat, open, readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { sightProblem, type ToolScope, toolPath, writeProblem } from '../../../core/policy/tool-paths.ts';
import { lstatIfThere } from '../../../platform/files/read.ts';
import { isCode, isMissing, systemWords } from '../../../platform/files/write.ts';
import type { ToolContext } from './tool.ts';

/** Bytes of the longest file that is taken into memory. */
export const longestFile = 10 * 1024 * 1024;

export type PathProblem = { readonly problem: string };

/** A path that may be seen: as the model named it, and where it really is (absolute). */
export type VisiblePath = { readonly path: string; readonly real: string; readonly is: Stats };

/** Looks up a path for reading. Links are followed as long as they stay in the workspace and in sight. */
export async function placeToSee(typed: string, context: ToolContext): Promise<VisiblePath | PathProblem> {
  const named = toolPath(typed);
  if ('problem' in named) return named;
  const { path } = named;
  const problem = sightProblem(path, context.scope);
  if (problem !== undefined) return { problem };
  const shown = path === '' ? '.' : path;
  try {
    const real = await realpath(join(context.root, path));
    const inside = pathWithin(context.root, real);
    if (inside === undefined) return { problem: `"${shown}" is a link that leaves the workspace` };
    const there = sightProblem(inside, context.scope);
    if (there !== undefined) return { problem: `"${shown}" is a link to what no tool may see here` };
    return { path, real, is: await lstat(real) };
  } catch (error) {
    if (isMissing(error)) return { problem: `there is no "${shown}" in the workspace` };
    return { problem: `"${shown}": ${systemWords(error)}` };
  }
}

/** The path of `real` relative to `root`; undefined when it lies outside. */
export const pathWithin = (root: string, real: string): string | undefined =>
  real === root ? '' : real.startsWith(`${root}/`) ? real.slice(root.length + 1) : undefined;

/** The scope with what its entries really are, where links lead there. */
export async function resolvedScope(root: string, scope: ToolScope): Promise<ToolScope> {
  const really = async (entries: readonly string[]): Promise<readonly string[]> => {
    const all = new Set(entries);
    for (const entry of entries) {
      const real = await realpath(join(root, entry)).catch(() => undefined);
      const inside = real === undefined ? undefined : pathWithin(root, real);
      if (inside !== undefined && inside !== '') all.add(inside);
    }
    return [...all];
  };
  const { hidden, only } = scope;
  return {
    ...scope,
    hidden: await really(hidden),
    ...(only === undefined ? {} : { only: await really(only) }),
  };
}

/** What is at a path that may be written: a plain file with its permission bits, or nothing yet. */
export type WritablePath = {
  readonly path: string;
  /** Absolute. */
  readonly place: string;
  readonly before: { readonly bytes: Buffer; readonly mode: number } | undefined;
};

/** Looks up a path for writing. No link is written through, neither on the way nor at the end. */
export async function placeToWrite(typed: string, context: ToolContext): Promise<WritablePath | PathProblem> {
  const named = toolPath(typed);
  if ('problem' in named) return named;
  const { path } = named;
  const problem = writeProblem(path, context.scope);
  if (problem !== undefined) return { problem };
  if (typed.endsWith('/'))
    return { problem: `"${typed}" names a folder: folders are made with the files in them` };
  try {
    const parts = path.split('/');
    for (const at of parts.keys()) {
      const step = parts.slice(0, at + 1).join('/');
      const is = await lstatIfThere(join(context.root, step));
      if (is === undefined) break;
      if (is.isSymbolicLink())
        return { problem: `"${step}" is a link, and links are not written through: name the file itself` };
      const last = at === parts.length - 1;
      if (!last && !is.isDirectory())
        return { problem: `"${path}" lies below "${step}", which is no folder` };
      if (last && is.isDirectory()) return { problem: `"${path}" is a folder` };
      if (last && !is.isFile()) return { problem: `"${path}" is no plain file` };
      if (!last) continue;
      if (is.size > longestFile)
        return { problem: `"${path}" has ${is.size} bytes, more than the ${longestFile} that a tool writes` };
      const place = join(context.root, path);
      return { path, place, before: { bytes: await readFile(place), mode: is.mode & 0o7777 } };
    }
    return { path, place: join(context.root, path), before: undefined };
  } catch (error) {
    return { problem: `"${path}": ${systemWords(error)}` };
  }
}

export type FileText = {
  readonly text: string;
  /** Bytes of the whole file. */
  readonly size: number;
  /** False when only its first `longestFile` bytes were read. */
  readonly whole: boolean;
};

/** A plain file's text, its beginning where it is long; `problem` for a folder, a pipe, a binary file. */
export async function textAt(seen: Pick<VisiblePath, 'path' | 'real'>): Promise<FileText | PathProblem> {
  const { real } = seen;
  const path = seen.path === '' ? '.' : seen.path;
  try {
    // Neither a pipe without a writer nor a link that was made since may block this process.
    const file = await open(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    try {
      const is = await file.stat();
      if (is.isDirectory()) return { problem: `"${path}" is a folder: use list` };
      if (!is.isFile()) return { problem: `"${path}" is no plain file` };
      const bytes = Buffer.alloc(Math.min(is.size, longestFile));
      let read = 0;
      while (read < bytes.length) {
        const { bytesRead } = await file.read(bytes, read, bytes.length - read, read);
        if (bytesRead === 0) break;
        read += bytesRead;
      }
      const whole = is.size <= longestFile;
      const text = decoded(bytes.subarray(0, read), whole);
      return text === undefined
        ? {
            problem: `"${path}" is a binary file of ${is.size} bytes (or text in another encoding than UTF-8)`,
          }
        : { text, size: is.size, whole };
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isMissing(error)) return { problem: `there is no "${path}" in the workspace` };
    if (isCode(error, 'ENXIO', 'ENODEV')) return { problem: `"${path}" is no plain file` };
    return { problem: `"${path}": ${systemWords(error)}` };
  }
}

/** UTF-8 without a NUL, or undefined. What was cut off may end in the middle of a character. */
export function decoded(bytes: Uint8Array, whole = true): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: !whole });
  } catch {
    return undefined;
  }
}
