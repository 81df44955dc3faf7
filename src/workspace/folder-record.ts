/** A folder of a tree as the store keeps it: its entries with the facts by which an unchanged file is known again. */
import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { once } from '../core/once.ts';
import { DamagedStore } from '../platform/files/workspace-error.ts';
import type { Entry } from './snapshot.ts';
import { Folder, fileEntry, type Item } from './tree.ts';

// A run directory may come from another user: what a restore writes must stay in its folder.
const name = once(() => z.string().refine((text) => !/^\.{0,2}$|[/\0]/.test(text), 'no name'));
const mode = once(() => z.int().min(0).max(0o7777));
const hash = once(() => z.string().regex(/^[0-9a-f]{64}$/));

/** Files: name, mode, size, hash, and the stat facts as one string of mtime, ctime and inode, each `-` where unknown. Folders:
 *  name, mode, and the hash of the record. */
const storedFolderSchema = once(() =>
  z.object({
    schema_version: z.literal(1),
    boot: z.string().describe('The start of the system in which the stat facts were taken'),
    folders: z.array(z.tuple([name(), mode(), hash()])),
    links: z.array(z.tuple([name(), z.string()])),
    files: z.array(z.tuple([name(), mode(), z.int().min(0), hash(), z.string()])),
  }),
);
type StoredFolder = z.infer<ReturnType<typeof storedFolderSchema>>;

/** `keyOf` gives the hash of a folder's record. */
export function writeFolder({ items }: Folder, boot: string, keyOf: (folder: Folder) => string): Buffer {
  const stored: StoredFolder = { schema_version: 1, boot, folders: [], links: [], files: [] };
  for (const [called, item] of items) {
    if (item instanceof Folder) stored.folders.push([called, item.mode, keyOf(item)]);
    else if (item.kind === 'link') stored.links.push([called, item.target ?? '']);
    else {
      const facts = `${item.mtimeMs ?? '-'} ${item.ctimeMs ?? '-'} ${item.ino ?? '-'}`;
      stored.files.push([called, item.mode, item.size ?? 0, item.hash ?? '', facts]);
    }
  }
  return Buffer.from(JSON.stringify(stored));
}

/** The folder of a record, with that mode; `folderOf` gives those in it by the hash of their records. The change time and inode of
 *  another boot are dropped: after a loss of power a file may carry the facts of bytes that never reached the disk. Throws a
 *  DamagedStore where it is no record. */
export function readFolder(
  bytes: Buffer,
  boot: string,
  ownMode: number,
  folderOf: (key: string, name: string, mode: number) => Folder,
): Folder {
  const stored = parsed(bytes);
  const isSameBoot = boot !== '' && stored.boot === boot;
  const items: [name: string, item: Item][] = [
    ...stored.folders.map(([called, mode, key]): [string, Item] => [called, folderOf(key, called, mode)]),
    ...stored.links.map(([called, target]): [string, Entry] => [
      called,
      { kind: 'link', mode: 0o777, target },
    ]),
    ...stored.files.map(([called, mode, size, hash, facts]): [string, Entry] => [
      called,
      fileEntry(mode, size, hash, readFacts(facts, isSameBoot)),
    ]),
  ];
  return new Folder(ownMode, new Map(items.sort(([a], [b]) => (a < b ? -1 : 1))));
}

function parsed(bytes: Buffer): StoredFolder {
  try {
    return storedFolderSchema().parse(JSON.parse(bytes.toString()));
  } catch (error) {
    throw new DamagedStore('the content store is damaged: the record of a folder is none', { cause: error });
  }
}

function readFacts(text: string, isSameBoot: boolean) {
  const [mtimeMs, ctimeMs, ino] = text.split(' ', 3).map((fact) => (fact === '-' ? undefined : Number(fact)));
  return isSameBoot ? { mtimeMs, ctimeMs, ino } : { mtimeMs };
}

/** Names this start of the system; empty where the system does not tell. */
export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}
