/** What this process is at, so that a last signal can undo it at once: stages that run, folders that are half made. */
import { rmSync } from 'node:fs';
import { killNow, type Quarry } from './sweep.ts';

const stages = new Set<Quarry>();

/** The answer says that the stage has ended. */
export function stageStarted(stage: Quarry): () => void {
  stages.add(stage);
  return () => void stages.delete(stage);
}

/** True while no more than one stage of this process runs: then whatever bears its brand is that stage's. */
export const isSole = (): boolean => stages.size <= 1;

const halfMade = new Set<string>();

/** The answer says that the folder is whole now, or gone. */
export function makingFolder(path: string): () => void {
  halfMade.add(path);
  return () => void halfMade.delete(path);
}

/** Kills every stage and removes every half-made folder, without waiting; for a process that is about to end itself. */
export function dropEverything(): void {
  for (const stage of stages) killNow(stage);
  for (const path of halfMade) {
    try {
      rmSync(path, { recursive: true, force: true });
    } catch {
      // A copy that still goes on in it: its name tells that it is none.
    }
  }
}
