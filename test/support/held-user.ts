/** A user whom modes hold: ourselves, or where we are root the user `nobody`. */
import { execFileSync } from 'node:child_process';
import { cli } from './cli.ts';

const uid = process.getuid?.() === 0 ? 65_534 : undefined;

/** What starts the built program as that user. */
export const asHeldUser = uid === undefined ? {} : { uid };

/** Whether that one can read the program at all. */
export function heldUserCanRun(): boolean {
  try {
    execFileSync(process.execPath, [cli, '--version'], { cwd: '/', ...asHeldUser });
    return true;
  } catch {
    return false;
  }
}

/** Makes the paths, with all below them, that user's. */
export function giveToHeldUser(...paths: readonly string[]): void {
  if (uid !== undefined) execFileSync('chown', ['-hR', `${uid}:${uid}`, ...paths]);
}
