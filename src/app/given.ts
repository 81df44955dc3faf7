/** What people give a run from outside of it, answers and notes: who gives it, and that no process of the run does. */
import { epochVariable } from '../core/records/layout.ts';
import type { Manifest } from '../core/records/manifest.ts';
import { descendsFrom } from '../platform/process/table.ts';
import { thisUser } from './acts.ts';
import { processMarker } from './run/run-state.ts';

/** Whether this process was started by a node of the run, as far as the system tells. */
export function isInsideRun(runDir: string, manifest: Manifest): boolean {
  const marker = processMarker(runDir, manifest);
  return descendsFrom([`FACTORY_RUN_MARKER=${marker}`, `${epochVariable(marker)}=`]);
}

/** The name on one line; by default that of the user of this process. */
export const giverName = (name: string | undefined): string =>
  name?.replace(/\s+/g, ' ').trim() || thisUser();
