/** Merges two texts that were made of a third one, as `git merge` does. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../core/contracts/process.ts';
import { about } from '../platform/files/disk-error.ts';
import { beforeWrite } from '../platform/files/fence.ts';
import { GitError, ownGit } from '../platform/git.ts';

export type ThreeTexts = Readonly<Record<'base' | 'ours' | 'theirs', Buffer>>;

/** The merged text, or undefined where both sides have changed the same lines. */
export type MergeTexts = (texts: ThreeTexts) => Promise<Buffer | undefined>;

/** Bytes in which git looks for a NUL to tell whether a file is binary. */
const lookedAt = 8000;

export const isBinary = (bytes: Buffer): boolean => bytes.subarray(0, lookedAt).includes(0);

/** Conflicts that `git merge-file` counts at most; larger codes are errors. */
const mostConflicts = 127;

/** `folder`: an existing one for the texts, of this process alone. One merge at a time. Rejects with a `GitError` where git is
 *  missing or fails. */
export function textMerger(folder: string, env: Environment): MergeTexts {
  const git = ownGit({ cwd: folder, settingsFile: join(folder, 'settings'), env });
  return async (texts) => {
    beforeWrite(folder);
    for (const side of ['base', 'ours', 'theirs'] as const) {
      const path = join(folder, side);
      await about(
        path,
        Promise.resolve().then(() => writeFileSync(path, texts[side])),
      );
    }
    const merged = await git.run(['merge-file', '-q', '-p', 'ours', 'base', 'theirs']);
    if (merged.ok) return merged.stdout;
    if (merged.code !== undefined && merged.code <= mostConflicts) return undefined;
    throw new GitError(`git merge-file: ${merged.why}`, merged.missing, false, folder);
  };
}
