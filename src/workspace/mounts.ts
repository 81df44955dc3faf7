/** Mounts in a workspace: their files are not the workspace's, whatever their path. */
import { readFileSync } from 'node:fs';
import { fromBytes, shown } from './names.ts';
import { WorkspaceError } from './trouble.ts';

/** Throws a WorkspaceError where something is mounted at `folder` (a real path) or below: listing, removing or writing there
 *  would do so in the file system, or in the other folder, that shows through. */
export function nothingMounted(folder: string): void {
  for (const point of mountPoints(folder)) {
    if (point !== folder && !point.startsWith(`${folder}/`)) continue;
    throw new WorkspaceError(
      `something is mounted at "${shown(point)}": its files are not the workspace's, and are left alone; ` +
        'unmount it (umount)',
    );
  }
}

/** The places where something is mounted, by real paths, at least those at `folder` and below; none where the system does
 *  not list them. */
function mountPoints(folder: string): readonly string[] {
  let text: string;
  try {
    text = readFileSync('/proc/self/mountinfo', 'latin1');
  } catch {
    return [];
  }
  // Asked at every stage, of a list that may be long. Blanks, line ends and backslashes are written in another way.
  if (/^[\w./-]*$/.test(folder) && !text.includes(` ${folder}`)) return [];
  return text.split('\n').flatMap((line) => {
    const point = line.split(' ', 5)[4];
    if (point === undefined) return [];
    // Blanks, line ends and backslashes are written as three octal digits.
    const plain = point.replace(/\\([0-7]{3})/g, (_, digits: string) =>
      String.fromCharCode(Number.parseInt(digits, 8)),
    );
    return [fromBytes(Buffer.from(plain, 'latin1'))];
  });
}
