/** The changes between two moments as one patch per file. */
import type { Environment } from '../core/contracts/process.ts';
import { toBytes } from '../platform/files/names.ts';
import { patchOf, type Sides, type Untold } from '../workspace/patch.ts';
import type { Snapshots } from '../workspace/snapshot.ts';

type FilePatchText = {
  /** The part of the patch about this file, cut at the end of a line. */
  readonly text: string;
  readonly cut: boolean;
  /** Lines. */
  readonly added: number;
  readonly removed: number;
};

type PatchLimits = {
  /** Bytes of the patch of one file, and of all together; a patch after that is empty and `cut`. */
  readonly perFile: number;
  readonly all: number;
};

export type FilePatches = {
  readonly patches: ReadonlyMap<string, FilePatchText>;
  /** Paths that a patch does not show, or not wholly. */
  readonly untold: readonly Untold[];
};

/** Patches of the changed `paths`; a path that is not in `patches` has none. */
export async function filePatches(
  sides: Sides,
  snapshots: Pick<Snapshots, 'read'>,
  paths: ReadonlySet<string>,
  { env, ...limits }: PatchLimits & { readonly env: Environment },
): Promise<FilePatches> {
  const split = splitter(paths, limits);
  const untold = await patchOf(sides, snapshots, {
    ...{ env, colour: false, toBeRead: true, byPath: true, take: split.take },
    only: (path) => paths.has(path),
  });
  return { patches: split.end(), untold };
}

/** Takes a patch piece by piece and gives each line to its file. One file after the other is in memory, up to its limit. */
function splitter(paths: Iterable<string>, limits: PatchLimits) {
  const byHeader = new Map([...paths].map((path) => [headerOf(path), path]));
  const parts = new Map<string, Part>();
  let part: Part | undefined;
  let left = limits.all;
  let rest = '';
  const line = (text: string): void => {
    // Lines of a file begin with a sign: this one begins the part of another file.
    const path = text.startsWith('diff --git ') ? byHeader.get(text) : undefined;
    if (path !== undefined) {
      part = parts.get(path) ?? {
        lines: [],
        room: limits.perFile,
        cut: false,
        added: 0,
        removed: 0,
        body: false,
      };
      parts.set(path, part);
      part.body = false;
    }
    if (part === undefined) return;
    if (text.startsWith('@@')) part.body = true;
    else if (part.body && text.startsWith('+')) part.added += 1;
    else if (part.body && text.startsWith('-')) part.removed += 1;
    const size = text.length + 1;
    part.cut ||= size > part.room || size > left;
    if (part.cut) return;
    part.room -= size;
    left -= size;
    part.lines.push(text);
  };
  return {
    take(piece: Buffer): void {
      const lines = (rest + piece.toString('latin1')).split('\n');
      rest = lines.pop() ?? '';
      for (const one of lines) line(one);
    },
    end(): ReadonlyMap<string, FilePatchText> {
      if (rest !== '') line(rest);
      return new Map(
        [...parts].map(([path, { lines, cut, added, removed }]) => [
          path,
          {
            text: Buffer.from(lines.map((one) => `${one}\n`).join(''), 'latin1').toString(),
            cut,
            added,
            removed,
          },
        ]),
      );
    },
  };
}

/** Lines are bytes as Latin-1. `body`: after the headers, where a sign begins each line. */
type Part = { lines: string[]; room: number; cut: boolean; added: number; removed: number; body: boolean };

const headerOf = (path: string): string => `diff --git ${asGitNames(`a/`, path)} ${asGitNames(`b/`, path)}`;

const letters: Readonly<Record<string, string>> = {
  ...{ '\x07': 'a', '\b': 'b', '\t': 't', '\n': 'n', '\v': 'v', '\f': 'f', '\r': 'r', '"': '"', '\\': '\\' },
};

/** A path as a header of git's has it, as Latin-1: in quotes where a character needs them. */
function asGitNames(prefix: string, path: string): string {
  const bytes = prefix + Buffer.from(toBytes(path)).toString('latin1');
  const escaped = bytes.replace(/[\x00-\x1f\x7f"\\]/g, (one) => {
    const letter = letters[one];
    return `\\${letter ?? one.charCodeAt(0).toString(8).padStart(3, '0')}`;
  });
  return escaped === bytes ? bytes : `"${escaped}"`;
}
