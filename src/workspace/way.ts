/** The way to a path in a workspace: folders that are real ones, and can be written in. */
import { chmodSync, lstatSync } from 'node:fs';
import { monotonicMs } from '../system/clock.ts';
import { asListed } from '../system/spelled.ts';
import { below, parentOf } from './names.ts';
import { clear } from './sealed.ts';
import { WorkspaceError } from './trouble.ts';
import { look } from './walk.ts';

/** Milliseconds for which a look at the folders counts; one that took longer counts for as long again. */
const momentMs = 1;

/** Opens folders of one workspace for whoever changes it. */
export class Way {
  private readonly realFolders = new Set<string>(['']);
  private looksCountUntil = Number.NEGATIVE_INFINITY;

  /** What a folder's mode was that is opened comes into `modes`, where none stands there. Without them no folder is opened:
   *  it is only made sure that they are real ones. */
  constructor(
    private readonly workspace: string,
    private readonly modes?: Map<string, number>,
  ) {}

  /** Makes a folder one that can be written in, after making sure that it and all above it are real folders. */
  open(path: string): void {
    // Somebody may be at work there still, and may put a link in a folder's place while a large file is written.
    const began = monotonicMs();
    const isAnew = began > this.looksCountUntil;
    if (isAnew) this.forgetAll();
    if (this.realFolders.has(path)) return;
    const unknown: string[] = [];
    for (let folder = path; !this.realFolders.has(folder); folder = parentOf(folder)) unknown.push(folder);
    for (const folder of unknown.reverse()) this.openOne(folder);
    // Of folders nested in hundreds a look alone takes longer than a moment: it would be made anew before each deed.
    const now = monotonicMs();
    const took = now - began;
    this.looksCountUntil = isAnew ? now + Math.max(momentMs, took) : this.looksCountUntil + took;
  }

  /** A folder that has gone. */
  forget(path: string): void {
    this.modes?.delete(path);
    this.realFolders.delete(path);
  }

  forgetAll(): void {
    this.realFolders.clear();
    this.realFolders.add('');
  }

  private openOne(path: string): void {
    const place = below(this.workspace, path);
    const stat = lstatSync(place);
    if (!stat.isDirectory())
      throw new WorkspaceError(`"${path}" stopped being a folder while the workspace was restored`);
    if (this.modes !== undefined && (stat.mode & 0o700) !== 0o700) {
      chmodSync(place, 0o700);
      if (!this.modes.has(path)) this.modes.set(path, stat.mode & 0o7777);
    }
    this.realFolders.add(path);
  }
}

/** Clears the way for a path that is put back where another spelling of it stands, as far as one of the two can be there:
 *  `present` is what is listed, `to` what is to be listed. */
export function clearOther(
  workspace: string,
  path: string,
  present: ReadonlyMap<string, unknown>,
  to: ReadonlyMap<string, unknown>,
): void {
  if (present.has(path) || look(workspace, path) === undefined) return;
  const other = asListed(workspace, path);
  if (present.has(other) && !to.has(other)) clear(workspace, other);
}
