/** Files that contain the absolute path of their folder, as build folders, worktrees and virtual environments do: in a copy
 *  of that folder they still refer to the original. */
import { shownPath, toBytes } from '../platform/files/names.ts';

/** Whether a file's content names `place` (an absolute path) or something in it. Only texts count: binaries name the place of
 *  their sources, which no tool follows. */
export function namesPlace(place: string): (content: Buffer) => boolean {
  const name = Buffer.from(toBytes(place));
  const isAt = (content: Buffer, at: number): boolean =>
    !isOfName(content[at + name.length]) &&
    // It may be the end of another path, except after a compiler's flag (`-I/src/app`).
    (!isOfName(content[at - 1]) || content[at - 2] === dash);
  return (content) => {
    if (place === '/') return false;
    for (let at = content.indexOf(name); at >= 0; at = content.indexOf(name, at + 1))
      if (isAt(content, at)) return !content.includes(0);
    return false;
  };
}

const dash = 0x2d;

/** A character with which a longer name would continue. */
function isOfName(byte: number | undefined): boolean {
  return byte !== undefined && (byte > 0x7f || /[\w.-]/.test(String.fromCharCode(byte)));
}

/** What pipelines keep in a workspace: records, which no tool follows. */
export const isOurs = (path: string): boolean => path.startsWith('.factory/');

/** The warning about such files in a copy of `place`; nothing where there are none. */
export function noteOf(paths: readonly string[], place: string): readonly string[] {
  if (paths.length === 0) return [];
  const few = paths.slice(0, 3).map(shownPath).join(', ');
  const more = paths.length > 3 ? ` and ${paths.length - 3} more` : '';
  return [
    `copied, but contains the path ${shownPath(place)}: a node that uses it works there, not in the copy: ${few}${more}`,
  ];
}
