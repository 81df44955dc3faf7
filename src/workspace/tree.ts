/** A snapshot's tree: its name, and its form on disk. */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import { sha256 } from '../model/sha256.ts';
import { largeFrom } from './content.ts';
import type { Entry, EntryKind, Tree } from './snapshot.ts';
import { firstPack, type Place } from './store.ts';

/** Same kind, mode, content or target: what a name of a tree and a diff are made of. */
export const isSame = (a: Entry, b: Entry): boolean =>
  a === b || (a.kind === b.kind && a.mode === b.mode && a.hash === b.hash && a.target === b.target);

/** The tree's name: SHA-256 (hex) over path, kind, mode and content of every entry, in order. */
export function treeId(tree: Tree): string {
  const whole = createHash('sha256');
  let text = '';
  let between = '';
  for (const [path, entry] of tree) {
    // Neither a path nor a target can hold a NUL, and a hash has its length, so no two trees give one text.
    text += `${between}${path}\0${entry.kind}\0${entry.mode.toString(8)}\0${entry.hash ?? entry.target ?? ''}`;
    between = '\0';
    if (text.length < pieceLength) continue;
    whole.update(text, encoding);
    text = '';
  }
  return whole.update(text, encoding).digest('hex');
}

// Names in other bytes are kept as lone surrogates, which UTF-8 would make one and the same.
const encoding = 'utf16le';
const pieceLength = 64 * 1024;

const mode = z.int().min(0).max(0o7777);
const hash = z.string().regex(/^[0-9a-f]{64}$/);
const StoredFile = z.tuple([z.string(), mode, z.int().min(0), hash, z.int(), z.string()], z.int());

/** `trees/<id>.json`. A file has path, mode, size, hash, where it begins in the pack (-1: a separate file), and its
 *  stat facts as one string of mtime, ctime and inode, each `-` where unknown. */
const StoredTree = z.object({
  schema_version: z.literal(1),
  sha256: hash.describe('Of all that follows it in the file'),
  boot: z.string().describe('The start of the system in which the stat facts were taken'),
  folders: z.array(z.tuple([z.string(), mode])),
  links: z.array(z.tuple([z.string(), z.string()])),
  packs: z
    .array(z.string().regex(/^pack(?:-[0-9a-f]+)?$/))
    .optional()
    .describe(
      'The packs besides the first; a file in one of them names it by a seventh item, counted from 1',
    ),
  files: z.array(StoredFile).describe('Each on a separate line'),
});
type StoredTree = z.infer<typeof StoredTree>;

/** The text of `trees/<id>.json`, in pieces: one string of a large tree would take several times its size. `boot` names the
 *  start of the system in which the stat facts were taken; `placeOf` says where in a pack a content is, undefined for one in a
 *  separate file. */
export function writeTree(
  tree: Tree,
  boot: string,
  placeOf: (hash: string) => Place | undefined,
): readonly Buffer[] {
  const whole = createHash('sha256');
  const pieces: Buffer[] = [];
  let text = '';
  const flush = (): void => {
    const piece = Buffer.from(text);
    whole.update(piece);
    pieces.push(piece);
    text = '';
  };
  for (const item of itemsOf(tree, boot, placeOf)) {
    text += item;
    if (text.length >= pieceLength) flush();
  }
  flush();
  return [Buffer.from(headWith(whole.digest('hex'))), ...pieces];
}

function* itemsOf(tree: Tree, boot: string, placeOf: (hash: string) => Place | undefined): Generator<string> {
  const packs = packsOf(tree, placeOf);
  const listed = function* (kind: EntryKind, itemOf: (path: string, e: Entry) => unknown): Generator<string> {
    let between = '';
    for (const [path, e] of tree) {
      if (e.kind !== kind) continue;
      yield between + JSON.stringify(itemOf(path, e));
      between = ',\n';
    }
  };
  const more = packs.length > 0 ? `"packs":${JSON.stringify(packs)},` : '';
  yield `"boot":${JSON.stringify(boot)},${more}"folders":[`;
  yield* listed('dir', (path, e): StoredTree['folders'][number] => [path, e.mode]);
  yield '],"links":[';
  yield* listed('link', (path, e): StoredTree['links'][number] => [path, e.target ?? '']);
  yield '],"files":[\n';
  yield* listed('file', (path, e): StoredTree['files'][number] => {
    const place = placeOf(e.hash ?? '');
    const facts = `${e.mtimeMs ?? '-'} ${e.ctimeMs ?? '-'} ${e.ino ?? '-'}`;
    const item = [path, e.mode, e.size ?? 0, e.hash ?? '', place?.offset ?? -1, facts] as const;
    const pack = packs.indexOf(place?.pack ?? firstPack) + 1;
    return pack === 0 ? [...item] : [...item, pack];
  });
  yield '\n]}\n';
}

/** The packs besides the first in which contents of the tree are. */
function packsOf(tree: Tree, placeOf: (hash: string) => Place | undefined): readonly string[] {
  const packs = new Set<string>();
  for (const { hash } of tree.values()) {
    const pack = hash === undefined ? undefined : placeOf(hash)?.pack;
    if (pack !== undefined && pack !== firstPack) packs.add(pack);
  }
  return [...packs];
}

const headWith = (hash: string): string => `{"schema_version":1,"sha256":"${hash}",`;

/** A tree, and where its contents are in packs. */
export type ReadTree = { readonly tree: Tree; readonly places: ReadonlyMap<string, Place> };

/** The tree named `id` of a text that `writeTree` made. The change time and inode of another boot are dropped: after a loss of
 *  power a file may carry the facts of bytes that never reached the disk. Throws when the text differs from what was written. */
export function readTree(text: Buffer, id: string, boot: string): ReadTree {
  const head = headWith('0'.repeat(64)).length;
  if (text.toString('latin1', 0, head) !== headWith(sha256(text.subarray(head))))
    throw new Error('its hash is another one');
  const stored = StoredTree.parse(JSON.parse(text.toString()));
  const places = new Map<string, Place>();
  const entries: [path: string, entry: Entry][] = [
    ...stored.folders.map(([path, mode]): [string, Entry] => [path, { kind: 'dir', mode }]),
    ...stored.links.map(([path, target]): [string, Entry] => [path, { kind: 'link', mode: 0o777, target }]),
  ];
  for (const [path, mode, size, hash, offset, facts, pack = 0] of stored.files) {
    entries.push([path, fileEntry(mode, size, hash, readFacts(facts, boot !== '' && stored.boot === boot))]);
    const name = pack === 0 ? firstPack : stored.packs?.[pack - 1];
    if (name === undefined || (offset >= 0 && size > largeFrom)) throw new Error(`${path} has no place`);
    if (offset >= 0) places.set(hash, { pack: name, offset, size });
  }
  const tree = new Map(entries.sort(byPath));
  // A run directory may come from another user: what a restore writes must stay in its folder.
  for (const path of tree.keys())
    if (leavesTop.test(path)) throw new Error(`${JSON.stringify(path)} is no path below the top`);
  if (treeId(tree) !== id) throw new Error('it is the tree of another name');
  return { tree, places };
}

/** The order of a tree: by code unit. */
export const byPath = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number =>
  a < b ? -1 : a > b ? 1 : 0;

/** An empty component, `.` or `..`, as in an absolute path or in one that climbs; a NUL. */
const leavesTop = /(?:^|\/)\.{0,2}(?:\/|$)|\0/;

type Facts = { readonly [Fact in 'mtimeMs' | 'ctimeMs' | 'ino']?: number | undefined };

/** A file's entry: spelt out, since a spread makes each half as large again. */
export function fileEntry(mode: number, size: number, hash: string, facts: Facts): Entry {
  const kind = 'file';
  const { mtimeMs, ctimeMs, ino } = facts;
  if (mtimeMs === undefined) return { kind, mode, size, hash };
  if (ctimeMs === undefined || ino === undefined) return { kind, mode, size, hash, mtimeMs };
  return { kind, mode, size, hash, mtimeMs, ctimeMs, ino };
}

function readFacts(text: string, ofThisBoot: boolean): Facts {
  const [mtimeMs, ctimeMs, ino] = text.split(' ', 3).map((fact) => (fact === '-' ? undefined : Number(fact)));
  return ofThisBoot ? { mtimeMs, ctimeMs, ino } : { mtimeMs };
}
