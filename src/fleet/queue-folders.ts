/** Where the jobs of a queue in folders are. */
import { join } from 'node:path';
import { namesIn } from '../platform/files/read.ts';
import { type FolderNames, folderNames, folderStamp } from './folder-names.ts';
import { type JobEntry, readJobName } from './job-names.ts';
import type { FleetLayout } from './layout.ts';

/** Places of jobs that no worker has; names of folders, too. */
export const restPlaces = ['wait', 'later', 'held'] as const;
export type RestPlace = (typeof restPlaces)[number];

/** A job's file. `folder` is the one of the worker that has it. */
export type JobFile = {
  readonly path: string;
  readonly entry: JobEntry;
} /** `changing`: a process has taken it out to change it. */ & (
  | { readonly place: RestPlace; readonly changing?: true }
  | { readonly place: 'run'; readonly folder: string }
);

export interface QueueFolders extends Readonly<Record<RestPlace, FolderNames>> {
  /** The folders of workers, by their names, as they were found last. */
  workers(): ReadonlyMap<string, FolderNames>;
  /** The jobs that workers have. One that goes from worker to worker meanwhile is among them. */
  running(): readonly JobFile[];
  /** All jobs. A job that is moved meanwhile is in one of its places. */
  survey(): readonly JobFile[];
  /** The file of one job, after a survey. */
  find(runId: string): JobFile | undefined;
  /** Whether a folder has changed since it was read. */
  isStale(): boolean;
  /** Whether reading a folder was put off, and need not be any more. */
  isOverdue(): boolean;
  /** Becomes another text when one of the folders changes. */
  stamp(): string;
}

/** How often folders are read again because jobs were moved while they were read. */
const mostRounds = 8;

export function openQueueFolders({ queue }: FleetLayout): QueueFolders {
  const rest = {
    wait: folderNames(queue.wait),
    later: folderNames(queue.later),
    held: folderNames(queue.held),
  };
  const workers = openSubfolders(queue.run);
  let changing: readonly JobFile[] = [];
  const readChanging = (): boolean => {
    const before = changing.map(({ path }) => path).join();
    changing = jobsBeingChanged(queue.aside);
    return changing.map(({ path }) => path).join() !== before;
  };
  /** A job is missed where it goes from a folder that is still to be read to one that was read: then both have changed. */
  const settle = (): void => {
    for (let rounds = 0; rounds < mostRounds; rounds++) {
      const changes = [rest.wait, rest.later, rest.held].map((folder) => folder.refresh());
      if (![...changes, readChanging(), workers.refresh()].includes(true)) return;
    }
  };
  const files = (): JobFile[] => [
    ...workers.files(),
    ...restPlaces.flatMap((place) =>
      presentIn(rest[place]).map((entry): JobFile => {
        return { place, entry, path: join(rest[place].path, entry.name) };
      }),
    ),
    ...changing,
  ];
  return {
    ...rest,
    workers: workers.all,
    running() {
      for (let rounds = 0; rounds < mostRounds && workers.refresh(); rounds++);
      return workers.files();
    },
    survey() {
      settle();
      return files();
    },
    find(runId) {
      settle();
      return files().find(({ entry }) => entry.runId === runId);
    },
    stamp: () => [queue.wait, queue.later, queue.held, queue.run].map((one) => folderStamp(one).text).join(),
    isOverdue: () => rest.wait.isOverdue() || rest.later.isOverdue(),
    isStale: () => [rest.wait, rest.later, rest.held].some((folder) => folder.isStale()) || workers.isStale(),
  };
}

function openSubfolders(root: string) {
  const known = new Map<string, FolderNames>();
  let stamp = '';
  return {
    all: () => known,
    refresh(): boolean {
      stamp = folderStamp(root).text;
      let changed = false;
      const names = new Set(namesIn(root).filter((name) => readWorkerFolder(name) !== undefined));
      for (const name of known.keys()) if (!names.has(name)) changed = known.delete(name) || changed;
      for (const name of names) {
        const folder = known.get(name) ?? folderNames(join(root, name));
        known.set(name, folder);
        changed = folder.refresh() || changed;
      }
      return changed;
    },
    isStale: () => folderStamp(root).text !== stamp,
    files: (): JobFile[] =>
      [...known].flatMap(([folder, names]) =>
        presentIn(names).map((entry): JobFile => {
          return { place: 'run', folder, entry, path: join(names.path, entry.name) };
        }),
      ),
  };
}

const presentIn = (folder: FolderNames): JobEntry[] => folder.jobs().filter(({ name }) => folder.has(name));

/** `PROCESS~N`, or `PROCESS~N~left` once another process has found out that its owner is dead. A process has several one after
 *  another, if it was taken for dead and was not. */
const workerFolder = /^(.+)~(\d+)(~left)?$/;

export function readWorkerFolder(
  name: string,
): { readonly owner: string; readonly left: boolean } | undefined {
  const [, owner, , left] = workerFolder.exec(name) ?? [];
  return owner === undefined ? undefined : { owner, left: left !== undefined };
}

/** The name that takes a folder away from its owner. */
export const leftFolder = (folder: string): string => `${folder}~left`;

/** The name in a folder aside of a job that is being changed. */
export const changingName = (place: RestPlace, name: string): string => `${place}+${name}`;

/** Reads that name. */
export function readChangingName(
  name: string,
): { readonly place: RestPlace; readonly entry: JobEntry } | undefined {
  const place = restPlaces.find((one) => name.startsWith(`${one}+`));
  const entry = place === undefined ? undefined : readJobName(name.slice(place.length + 1));
  return place === undefined || entry === undefined ? undefined : { place, entry };
}

function jobsBeingChanged(aside: string): JobFile[] {
  return namesIn(aside).flatMap((folder) =>
    namesIn(join(aside, folder)).flatMap((name): JobFile[] => {
      const read = readChangingName(name);
      return read === undefined ? [] : [{ ...read, changing: true, path: join(aside, folder, name) }];
    }),
  );
}
