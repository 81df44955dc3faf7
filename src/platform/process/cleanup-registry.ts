/** The running programs and unfinished folders of this process, so that a final signal can clean up immediately. */
import { existsSync, rmSync } from 'node:fs';
import { killNow, type Quarry } from './sweep.ts';

const stages = new Set<Quarry>();

/** Registers a running program; call the returned function when it has ended. */
export function registerCleanup(stage: Quarry): () => void {
  stages.add(stage);
  return () => void stages.delete(stage);
}

/** A folder, or a file that belongs to one. */
const halfMade = new Set<string>();

/** Registers an unfinished folder; call the returned function when it is complete or removed. */
export function makingFolder(path: string): () => void {
  halfMade.add(path);
  return () => void halfMade.delete(path);
}

/** Kills every program and removes every unfinished folder, without waiting; for a process that is about to exit. */
export function dropEverything(): void {
  for (const stage of stages) killNow(stage);
  // Running copies may still add files, and a clean-up may already remove others: one pass is not enough.
  for (const path of halfMade)
    for (let tries = 0; tries < 50 && existsSync(path); tries++) {
      try {
        rmSync(path, { recursive: true, force: true, maxRetries: 1, retryDelay: 10 });
      } catch {
        // A folder that stays has a name that no run has.
      }
    }
}
