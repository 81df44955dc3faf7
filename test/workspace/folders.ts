/** Real folders for the tests of this room: made of a few words, looked at naively, gone afterwards. */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { removeTree } from '../../src/platform/files/remove.ts';
import { isCode } from '../../src/platform/files/write.ts';

/** A temporary folder; `await using` removes it, whatever the modes in it. */
export function tempFolder(): { readonly path: string; [Symbol.asyncDispose](): Promise<void> } {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'factory-workspace-')));
  return {
    path,
    [Symbol.asyncDispose]: () => removeTree(path),
  };
}

/** What to make: text is a file, `{link}` a link, `{mode, text}` a file of that mode, `{mode}` or `{}` a folder. */
export type Wanted = { readonly [path: string]: string | { link?: string; text?: string; mode?: number } };

/** Makes files, links and folders in `root`; folders' modes come last, from the inside: one may close what is in it. */
export function make(root: string, wanted: Wanted): void {
  const modes: [string, number][] = [];
  for (const [path, is] of Object.entries(wanted)) {
    const place = join(root, path);
    mkdirSync(dirname(place), { recursive: true });
    if (typeof is === 'string') writeFileSync(place, is);
    else if (is.link !== undefined) symlinkSync(is.link, place);
    else if (is.text !== undefined) {
      writeFileSync(place, is.text);
      chmodSync(place, is.mode ?? 0o644);
    } else {
      mkdirSync(place, { recursive: true });
      if (is.mode !== undefined) modes.push([place, is.mode]);
    }
  }
  modes.sort(([one], [other]) => other.length - one.length);
  for (const [place, mode] of modes) chmodSync(place, mode);
}

/** Everything below `root` as lines, read without any cleverness: kind, mode, path, content. What we may not look into (as
 *  root: nothing) is a separate line. */
export function picture(root: string): string[] {
  const lines: string[] = [];
  const look = (folder: Buffer, shown: string): void => {
    let names: readonly Buffer[];
    try {
      names = readdirSync(folder, { encoding: 'buffer' });
    } catch (error) {
      if (!isCode(error, 'EACCES')) throw error;
      lines.push(`${shown} closed`);
      return;
    }
    for (const name of names) {
      const path = Buffer.concat([folder, Buffer.from('/'), name]);
      const stat = lstatSync(path);
      const mode = (stat.mode & 0o7777).toString(8);
      const label = `${shown}${name.toString('latin1')}`;
      if (stat.isDirectory()) {
        lines.push(`${label} folder ${mode}`);
        look(path, `${label}/`);
      } else if (stat.isSymbolicLink()) {
        lines.push(`${label} link ${readlinkSync(path, { encoding: 'buffer' }).toString('latin1')}`);
      } else if (stat.isFile()) {
        lines.push(`${label} file ${mode} ${createHash('sha256').update(readFileSync(path)).digest('hex')}`);
      } else {
        lines.push(`${label} special`);
      }
    }
  };
  look(Buffer.from(root), '');
  return lines.sort();
}

/** Inode and change time, to tell a file that was left alone from one that was written again. */
export const inodeOf = (root: string, path: string): string => {
  const stat = lstatSync(join(root, path), { bigint: true });
  return `${stat.ino} ${stat.ctimeNs}`;
};

const nobody = 65534;
export const isRoot = process.getuid?.() === 0;

/** Runs `act` as a user whom modes hold: as root it steps down for the while, else it is one already. Everything in
 *  `folder` (links aside) is given to that user first. */
export async function asHeldByModes<T>(folder: string, act: () => Promise<T>): Promise<T> {
  if (!isRoot || process.seteuid === undefined) return act();
  giveAway(folder);
  process.seteuid(nobody);
  try {
    return await act();
  } finally {
    process.seteuid(0);
  }
}

function giveAway(path: string | Buffer): void {
  const stat = lstatSync(path);
  if (stat.isSymbolicLink()) return;
  if (stat.isDirectory()) for (const name of readdirSync(path, 'buffer')) giveAway(inside(path, name));
  chownSync(path, nobody, nobody);
  chmodSync(path, stat.mode & 0o7777);
}

const inside = (folder: string | Buffer, name: Buffer): Buffer =>
  Buffer.concat([Buffer.from(folder), Buffer.from('/'), name]);
