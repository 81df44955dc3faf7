/** Removes what is at a path of the workspace, whatever it is, and gives folders the rights that this needs. */
import { chmodSync, rmdirSync, unlinkSync } from 'node:fs';
import { beforeWrite } from '../platform/files/fence.ts';
import { below } from '../platform/files/names.ts';
import { trouble } from '../platform/files/workspace-error.ts';
import { type FoundEntry, look, walk } from './walk.ts';

/** What lies below a folder, opened on the way, with paths relative to the workspace. */
export function entriesBelow(workspace: string, { path, kind }: FoundEntry): readonly FoundEntry[] {
  if (kind !== 'dir') return [];
  return [...walk(`${workspace}/${path}`, { unlock: true })].map((one) => ({
    ...one,
    path: `${path}/${one.path}`,
  }));
}

export function setFolderMode(workspace: string, folder: string, mode: number): void {
  beforeWrite(workspace);
  try {
    chmodSync(below(workspace, folder), mode);
  } catch (error) {
    throw trouble('set the mode of', folder, error);
  }
}

/** Removes what is at a path, whatever its mode. The folders above it are real ones. */
export function clearFolder(workspace: string, path: string): void {
  const found = look(workspace, path);
  if (found !== undefined) removeEntry(workspace, [found, ...entriesBelow(workspace, found)]);
}

/** Removes all of these, each folder after what is in it. */
export function removeEntry(workspace: string, found: readonly FoundEntry[]): void {
  for (const { path, kind, mode } of found)
    if (kind === 'dir' && (mode & 0o700) !== 0o700) setFolderMode(workspace, path, 0o700);
  for (const { path, kind } of [...found].reverse()) {
    // Before each: a process that took the run over meanwhile may have put its files there.
    beforeWrite(workspace);
    try {
      if (kind === 'dir') rmdirSync(below(workspace, path));
      else unlinkSync(below(workspace, path));
    } catch (error) {
      throw trouble('remove', path, error);
    }
  }
}
