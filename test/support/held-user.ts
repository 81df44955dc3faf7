/** A user to whom file modes apply: the current one, or for root the user `nobody`. */
import { execFileSync } from 'node:child_process';
import { cli } from './cli.ts';

const uid = process.getuid?.() === 0 ? 65_534 : undefined;

/** The command that starts the built program as that user. */
export const asHeldUser = uid === undefined ? {} : { uid };

/** Whether that user can read the program at all. */
export function heldUserCanRun(): boolean {
  try {
    execFileSync(process.execPath, [cli, '--version'], { cwd: '/', ...asHeldUser });
    return true;
  } catch {
    return false;
  }
}

/** Changes the owner of the paths, with all below them, to that user. */
export function giveToHeldUser(...paths: readonly string[]): void {
  if (uid !== undefined) execFileSync('chown', ['-hR', `${uid}:${uid}`, ...paths]);
}
