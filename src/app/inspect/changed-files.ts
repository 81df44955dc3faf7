/** How many files a run has changed so far, and which: for the head of its page and `show`. */
import * as z from 'zod';
import { once } from '../../core/once.ts';
import { shownPath } from '../../platform/files/names.ts';
import { WorkspaceError } from '../../platform/files/workspace-error.ts';
import type { RunHistory } from '../../run/run-journal.ts';
import { fileChanges, findMoments, loadSides } from '../changes.ts';

export const changedFilesSchema = once(() =>
  z.object({
    files: z.int().nonnegative().describe('Created, modified and deleted since the run began'),
    names: z.array(z.string()).describe('The first of their paths'),
  }),
);
export type ChangedFileCount = z.infer<ReturnType<typeof changedFilesSchema>>;

const mostNames = 4;

/** The answers for pairs of snapshots, whose names are their hashes: a page that is open asks again after each event. */
const known = new Map<string, ChangedFileCount>();
const mostKnown = 50;

/** Null where the snapshots cannot be read. */
export async function changedFilesOf(dir: string, history: RunHistory): Promise<ChangedFileCount | null> {
  const moments = findMoments(history, {});
  if ('problems' in moments) return null;
  const { from, to } = moments;
  if (from.snapshot === to.snapshot) return { files: 0, names: [] };
  const key = `${dir}\0${from.snapshot}\0${to.snapshot}`;
  const before = known.get(key);
  if (before !== undefined) return before;
  try {
    const { sides } = await loadSides(dir, moments);
    const changes = fileChanges(sides);
    const found = {
      files: changes.length,
      names: changes.slice(0, mostNames).map(({ path }) => shownPath(path)),
    };
    if (known.size >= mostKnown) known.clear();
    known.set(key, found);
    return found;
  } catch (error) {
    if (error instanceof WorkspaceError) return null;
    throw error;
  }
}
