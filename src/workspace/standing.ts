/** The top of a workspace, which no snapshot records. */
import { chmodSync, lstatSync, mkdirSync, unlinkSync } from 'node:fs';
import { beforeRemaking, beforeWrite } from '../system/fence.ts';
import { trouble } from './trouble.ts';

/** Makes the top a folder that can be written in; a link or a file that took its place goes. Snapshots do not record the
 *  mode of the top: a resume begins with it like this, and so must a run that continues without one. Throws a
 *  WorkspaceError. */
export function standing(workspace: string): void {
  const stat = lstatSync(workspace, { throwIfNoEntry: false });
  if (stat?.isDirectory() === true && (stat.mode & 0o700) === 0o700) return;
  beforeWrite(workspace);
  beforeRemaking(workspace);
  try {
    if (stat !== undefined && !stat.isDirectory()) unlinkSync(workspace);
    if (stat === undefined || !stat.isDirectory()) mkdirSync(workspace, { recursive: true });
    else chmodSync(workspace, (stat.mode & 0o7777) | 0o700);
  } catch (error) {
    throw trouble('restore into', workspace, error);
  }
}
