/** Whether anything below a folder has changed since a moment: by content, not by touch. */
import { lstatSync, type Stats } from 'node:fs';
import { hashFile } from './content.ts';
import { below } from './names.ts';
import { type Found, targetOf, walk } from './walk.ts';

/** File systems stamp their files by a coarse clock, and reports of a change may come after it. */
const slackMs = 1000;

/** Bytes of the largest file whose content is compared; a larger one that was touched counts as changed. */
const largest = 64 * 1024 * 1024;

type Seen = {
  /** Facts that no change leaves as they are. */
  readonly facts: string;
  /** What it is and holds; undefined where that was not looked at. */
  readonly content: string | undefined;
};

export interface Lookout {
  /** Records the paths and their facts, without reading contents, for the first comparison. */
  begin(): void;
  /** True when something below the folder was made, changed, moved or removed since `at` or within the second before
   *  it, and is not what it was at the look before this one. So a file that is written repeatedly with the same content
   *  counts as changed once. Rejects with a WorkspaceError for what cannot be listed. */
  changedSince(at: Date): Promise<boolean>;
}

/** Looks at `root` when asked, and remembers what it has seen. */
export function lookout(root: string): Lookout {
  let last: ReadonlyMap<string, Seen> | undefined;
  return {
    begin() {
      const now = new Map<string, Seen>();
      if (topOf(root) !== undefined) for (const found of walk(root)) now.set(found.path, untold(found));
      last = now;
    },
    async changedSince(at) {
      const since = at.getTime() - slackMs;
      const top = topOf(root);
      // A workspace that has gone has changed.
      if (top === undefined) return true;
      const now = new Map<string, Seen>();
      let touched = top.ctimeMs >= since;
      for (const found of walk(root)) {
        const isNew = found.stat.ctimeMs >= since;
        touched ||= isNew;
        now.set(found.path, await seen(root, found, isNew, last?.get(found.path)));
      }
      const before = last;
      last = now;
      return touched && (before === undefined || !isSame(before, now));
    },
  };
}

/** Undefined also for a link: it may lead to the whole disk, which nobody means to look at. */
function topOf(root: string): Stats | undefined {
  const stat = lstatSync(root, { throwIfNoEntry: false });
  return stat?.isDirectory() === true ? stat : undefined;
}

/** A path whose content is not looked at. A folder is its names, which are looked at one by one. */
function untold({ kind, mode, stat }: Found): Seen {
  return kind === 'dir' || kind === 'special'
    ? { facts: `${kind} ${mode}`, content: undefined }
    : {
        facts: `${kind} ${mode} ${stat.size} ${stat.ino} ${stat.mtimeMs} ${stat.ctimeMs}`,
        content: undefined,
      };
}

async function seen(root: string, found: Found, isNew: boolean, before: Seen | undefined): Promise<Seen> {
  const { stat, kind, mode, path } = found;
  const plain = untold(found);
  if (before?.facts === plain.facts) return before;
  if (!isNew || stat.size > largest || (kind !== 'file' && kind !== 'link')) return plain;
  try {
    const content = kind === 'link' ? targetOf(root, path) : (await hashFile(below(root, path))).hash;
    return { ...plain, content: `${kind} ${mode} ${content}` };
  } catch {
    // It has just gone, or nobody may read it.
    return plain;
  }
}

const isSame = (before: ReadonlyMap<string, Seen>, now: ReadonlyMap<string, Seen>): boolean =>
  before.size === now.size &&
  [...now].every(([path, is]) => {
    const was = before.get(path);
    return (
      was !== undefined &&
      (was.facts === is.facts || (was.content !== undefined && was.content === is.content))
    );
  });
