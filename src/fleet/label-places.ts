/** The places of a label with a cap: so many of its jobs run at once. A place is a folder with one file, whose name says whose it
 *  is and is new with every change: who renames it has the place, and an old name is never there again. */
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { namesIn } from '../platform/files/read.ts';
import { isCode, makeFolder } from '../platform/files/write.ts';
import type { OwnFolder } from './aside.ts';
import { moveJob } from './job-file.ts';
import type { FleetLayout } from './layout.ts';
import type { JobFile } from './queue-folders.ts';

/** How many jobs of a label may run at once, by label. */
export type LabelCaps = ReadonlyMap<string, number>;

export interface LabelPlaces {
  /** Whether no other job of the label may run now. */
  isFull(label: string, cap: number): boolean;
  /** Takes a place of every label for a job that is in a worker's folder already: a place without such a job is free. False, and
   *  none is taken, where a label has none. */
  take(runId: string, caps: LabelCaps): boolean;
  /** Frees those of a job that has left the folder. After a crash the next process that needs a place does. */
  release(runId: string): void;
}

type Place = {
  readonly folder: string;
  readonly file: string;
  readonly turn: number;
  readonly runId: string;
};

/** `running` reads which jobs workers have now. */
export function labelPlaces(
  { queue }: FleetLayout,
  aside: OwnFolder,
  running: () => readonly JobFile[],
): LabelPlaces {
  const held = new Map<string, Place[]>();

  const placesOf = (label: string): Place[] =>
    namesIn(queue.labels)
      .filter((name) => name.slice(0, name.lastIndexOf('~')) === label)
      .flatMap((name) => placeIn(join(queue.labels, name)));

  const takeOne = (runId: string, label: string, cap: number): boolean => {
    // The places first: a job that has gone when the jobs are read after that has left its place.
    const places = placesOf(label);
    const had = places.find((place) => place.runId === runId);
    if (had !== undefined) return keep(runId, had);
    const ids = idsOf(running());
    const isHeld = (place: Place): boolean => ids.has(place.runId);
    if (places.filter(isHeld).length >= cap) return false;
    for (let k = 0; k < cap; k++) {
      const folder = join(queue.labels, `${label}~${k}`);
      const place = places.find((one) => one.folder === folder) ?? makePlace(folder, aside);
      if (place === undefined || isHeld(place)) continue;
      const turn = place.turn + 1;
      const mine = { folder, file: `${turn}+${runId}`, turn, runId };
      if (moveJob(join(folder, place.file), join(folder, mine.file))) return keep(runId, mine);
    }
    return false;
  };
  const keep = (runId: string, place: Place): true => {
    held.set(runId, [...(held.get(runId) ?? []), place]);
    return true;
  };

  const release = (runId: string): void => {
    for (const { folder, file, turn } of held.get(runId) ?? [])
      moveJob(join(folder, file), join(folder, `${turn + 1}`));
    held.delete(runId);
  };

  return {
    isFull(label, cap) {
      const places = placesOf(label);
      const files = running();
      const ids = idsOf(files);
      const counted = new Set(places.map(({ runId }) => runId).filter((id) => ids.has(id)));
      // Jobs on their way to a place, and those that were taken when the label had no cap.
      for (const { entry } of files) if (entry.labels?.includes(label) === true) counted.add(entry.runId);
      return counted.size >= cap;
    },
    take(runId, caps) {
      for (const [label, cap] of caps) {
        if (takeOne(runId, label, cap)) continue;
        release(runId);
        return false;
      }
      return true;
    },
    release,
  };
}

const idsOf = (files: readonly JobFile[]): ReadonlySet<string> =>
  new Set(files.map(({ entry }) => entry.runId));

/** None for a moment in which its file gets another name. */
function placeIn(folder: string): Place[] {
  const [file = ''] = namesIn(folder);
  const [, turn, runId = ''] = /^(\d+)(?:\+(.+))?$/.exec(file) ?? [];
  return turn === undefined ? [] : [{ folder, file, turn: Number(turn), runId }];
}

/** Makes a free place. The folder appears with its file, and a folder that has one is never replaced. */
function makePlace(folder: string, aside: OwnFolder): Place | undefined {
  const made = join(aside.path(), 'place');
  mkdirSync(made, { recursive: true });
  writeFileSync(join(made, '0'), '');
  makeFolder(join(folder, '..'));
  try {
    renameSync(made, folder);
    return { folder, file: '0', turn: 0, runId: '' };
  } catch (error) {
    if (!isCode(error, 'ENOTEMPTY', 'EEXIST')) throw error;
    rmSync(made, { recursive: true, force: true });
    return undefined;
  }
}
