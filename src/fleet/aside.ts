/** Where a process writes files before they are renamed into the queue, and changes those that it has taken out of it. */
import { mkdirSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeFlushed } from '../platform/files/link.ts';
import { isFolder, namesIn } from '../platform/files/read.ts';
import { isCode, makeFolder } from '../platform/files/write.ts';
import { moveJob } from './job-file.ts';
import type { FleetLayout } from './layout.ts';
import { leftFolder, readChangingName, readWorkerFolder } from './queue-folders.ts';

/** A folder below `parent` that only this process puts files into. Another process that takes it for dead renames it: then nothing
 *  that this one still does with a path in it succeeds, and it gets another folder. */
export interface OwnFolder {
  /** Its path; it exists. */
  path(): string;
  /** Removes it if it is empty. */
  close(): void;
}

/** A process may open a queue several times. */
let folders = 0;

export function ownFolder(parent: string, processName: string): OwnFolder {
  let current: string | undefined;
  return {
    path() {
      while (current === undefined || !isFolder(current)) {
        makeFolder(parent);
        current = join(parent, `${processName}~${++folders}`);
        mkdirSync(current);
      }
      return current;
    },
    close() {
      if (current === undefined) return;
      removeEmpty(current);
      current = undefined;
    },
  };
}

/** Removes a folder that may have files or be gone. */
export function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (error) {
    if (!isCode(error, 'ENOENT', 'ENOTEMPTY', 'EEXIST')) throw error;
  }
}

/** Jobs that this process has taken out of a place and, as a disk failed, could put nowhere. */
export interface StrayJobs {
  /** Puts one back, now or when the disk works again. */
  add(path: string, back: string): void;
  /** Throws while the disk fails still. */
  putBack(): void;
}

export function strayJobs(): StrayJobs {
  const all = new Map<string, string>();
  const putBack = (): void => {
    for (const [path, back] of all) {
      moveJob(path, back);
      all.delete(path);
    }
  };
  return {
    add(path, back) {
      all.set(path, back);
      try {
        putBack();
      } catch {
        // The failure that made it stray is reported.
      }
    },
    putBack,
  };
}

let files = 0;

/** Writes and flushes a file in the folder; answers its path. */
export async function writeAside(own: OwnFolder, text: string): Promise<string> {
  const path = join(own.path(), `new.${++files}`);
  try {
    await writeFlushed(path, text);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  }
  return path;
}

/** Puts back strays and what processes that have ended were changing, and removes what they had not finished to write. `isDead`
 *  decides by the name of a process. */
export function recoverAside(
  { queue }: FleetLayout,
  strays: StrayJobs,
  isDead: (processName: string) => boolean,
): void {
  strays.putBack();
  for (const folder of namesIn(queue.aside)) {
    const read = readWorkerFolder(folder);
    if (read === undefined || !(read.left || isDead(read.owner))) continue;
    const left = join(queue.aside, read.left ? folder : leftFolder(folder));
    if (!read.left && !moveJob(join(queue.aside, folder), left)) continue;
    for (const name of namesIn(left)) {
      const job = readChangingName(name);
      if (job === undefined) rmSync(join(left, name), { recursive: true, force: true });
      else moveJob(join(left, name), join(queue[job.place], job.entry.name));
    }
    removeEmpty(left);
  }
}
