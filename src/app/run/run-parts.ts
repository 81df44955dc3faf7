/** The parts of a run, in the order in which they are opened; they are closed in reverse. */
import { auditOfRun } from './audit-gate.ts';
import { nodesOfRun } from './open-nodes.ts';
import { costsOfRun, eventsAndTrace, journalOfRun, leakGuard, replayOfRun } from './open-records.ts';
import { firstState, startRecords } from './open-start.ts';
import { holdoutOfRun, leftovers, recordedState, sandboxOfNodes, workspaceOfRun } from './open-workspace.ts';
import { type OwnRun, opening } from './own-run.ts';

export const runParts = opening<OwnRun>()
  .with(recordedState)
  .with(holdoutOfRun)
  .with(sandboxOfNodes)
  .with(leftovers)
  .with(workspaceOfRun)
  .with(replayOfRun)
  .with(leakGuard)
  .with(eventsAndTrace)
  .with(journalOfRun)
  .with(costsOfRun)
  .with(nodesOfRun)
  .with(auditOfRun)
  .with(firstState)
  .with(startRecords);
