/** Jobs that dead workers have left. Their folder is renamed first: a worker that was only frozen finds it gone, and changes
 *  nothing in it any more. Then each job is taken by a rename. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { namesIn } from '../platform/files/read.ts';
import { removeEmpty } from './aside.ts';
import { moveJob } from './job-file.ts';
import { byBase } from './job-names.ts';
import type { FleetLayout } from './layout.ts';
import { type JobFile, leftFolder, type QueueFolders, readWorkerFolder } from './queue-folders.ts';
import { removeDeadWorkers, type Workers } from './workers.ts';

export interface LeftJobs {
  /** Takes the folders of dead workers away from them, and answers their jobs in the order of claims. */
  find(): readonly (JobFile & { readonly from: string })[];
  /** Puts the job of a dead worker back into `wait`; false for one of a living worker. */
  release(file: JobFile & { readonly place: 'run' }): boolean;
  /** Removes what finished jobs and dead workers have left. */
  clear(): void;
}

export function leftJobs(
  runsDir: string,
  { queue }: FleetLayout,
  folders: QueueFolders,
  workers: Workers,
): LeftJobs {
  const takeAway = (folder: string): void => {
    const read = readWorkerFolder(folder);
    if (read === undefined || read.left || workers.standingOf(read.owner) !== 'dead') return;
    moveJob(join(queue.run, folder), join(queue.run, leftFolder(folder)));
  };
  return {
    find() {
      for (const folder of namesIn(queue.run)) takeAway(folder);
      return folders
        .running()
        .flatMap((file) => {
          const read = file.place === 'run' ? readWorkerFolder(file.folder) : undefined;
          return read?.left === true ? [{ ...file, from: read.owner }] : [];
        })
        .sort((a, b) => byBase(a.entry, b.entry));
    },
    release(file) {
      takeAway(file.folder);
      const read = readWorkerFolder(file.folder);
      if (read?.left !== true) return workers.standingOf(read?.owner ?? '') === 'dead';
      moveJob(file.path, join(queue.wait, file.entry.base));
      return true;
    },
    clear() {
      const owners = new Set<string>();
      for (const name of namesIn(queue.run)) {
        const read = readWorkerFolder(name);
        if (read?.left === true) removeEmpty(join(queue.run, name));
        if (read !== undefined) owners.add(read.owner);
        else if (name.endsWith(ended)) rmSync(join(queue.run, name), { force: true });
      }
      removeDeadWorkers(runsDir, workers, (name) => owners.has(name));
    },
  };
}

/** The end of the name of a job that is finished, until its file is removed. */
export const ended = '.end';
