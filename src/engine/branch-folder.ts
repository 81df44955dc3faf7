/** Where branches work, and where their programs see that. */
import { join } from 'node:path';
import { layout } from '../core/records/layout.ts';
import type { Run } from './run-context.ts';

/** The folder with those of the branches of a fork. No node has a name like that of the folder which has them all. */
export const branchFolders = (runDir: string, fanOut: string): string => join(foldersOf(runDir), fanOut);

const foldersOf = (runDir: string): string => join(layout(runDir).scratch, '.branches');

/** Whether an execution works in the folder of a branch. */
export const isInBranchFolder = ({ runDir, workspace }: Pick<Run, 'runDir' | 'workspace'>): boolean =>
  workspace.startsWith(`${foldersOf(runDir)}/`);

/** Where programs in a sandbox see the workspace: that of a branch at the path of the run's, so that paths in what they build stay
 *  true after the join. */
export const placeInSandbox = (run: Pick<Run, 'runDir' | 'workspace'>): string =>
  isInBranchFolder(run) ? layout(run.runDir).workspace : run.workspace;
