/** What this process is at, so that a last signal can undo it at once: stages that run, folders that are half made. */
import { existsSync, rmSync } from 'node:fs';
import { killNow, type Quarry } from './sweep.ts';

const stages = new Set<Quarry>();

/** The answer says that the stage has ended. */
export function stageStarted(stage: Quarry): () => void {
  stages.add(stage);
  return () => void stages.delete(stage);
}

/** A folder, or a file that belongs to one. */
const halfMade = new Set<string>();

/** The answer says that the folder is whole now, or gone. */
export function makingFolder(path: string): () => void {
  halfMade.add(path);
  return () => void halfMade.delete(path);
}

/** Kills every stage and removes every half-made folder, without waiting; for a process that is about to end itself. */
export function dropEverything(): void {
  for (const stage of stages) killNow(stage);
  // Copies that are under way still put some files there, and who clears up already takes others away: once is not enough.
  for (const path of halfMade)
    for (let tries = 0; tries < 50 && existsSync(path); tries++) {
      try {
        rmSync(path, { recursive: true, force: true, maxRetries: 1, retryDelay: 10 });
      } catch {
        // What stays at last has a name that tells that it is no run.
      }
    }
}
