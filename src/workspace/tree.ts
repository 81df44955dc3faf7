/** A snapshot's tree: its name, and its form on disk. */
import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import * as z from 'zod';
import { collectGarbage } from '../system/memory.ts';
import { largeFrom, readWhole } from './content.ts';
import { firstPack, type Place, Places } from './places.ts';
import type { Entry, EntryKind, Tree } from './snapshot.ts';
import { firstNames } from './twins.ts';

/** Same kind, mode, content or target: what a name of a tree and a diff are made of. */
export const isSame = (a: Entry, b: Entry): boolean =>
  a === b || (a.kind === b.kind && a.mode === b.mode && a.hash === b.hash && a.target === b.target);

/** The tree's name: SHA-256 (hex) over path, kind, mode and content of every entry, in order, and over which of them are
 *  names of one file. */
export function treeId(tree: Tree, firstOf = firstNames(tree)): string {
  const whole = createHash('sha256');
  let text = '';
  let between = '';
  for (const [path, entry] of tree) {
    const first = firstOf.get(path);
    const content = entry.hash ?? entry.target ?? '';
    // Neither a path nor a target can hold a NUL, and a hash has its length, so no two trees give one text.
    text += `${between}${path}\0${entry.kind}\0${entry.mode.toString(8)}\0${content}${first === undefined ? '' : `=${first}`}`;
    between = '\0';
    if (text.length < pieceLength) continue;
    whole.update(text, encoding);
    text = '';
  }
  return whole.update(text, encoding).digest('hex');
}

/** Whether a tree is the one of this name. Those of an earlier version do not tell names of one file. */
export const isNameOf = (id: string, tree: Tree): boolean =>
  treeId(tree) === id || treeId(tree, new Map()) === id;

// Names in other bytes are kept as lone surrogates, which UTF-8 would make one and the same.
const encoding = 'utf16le';
const pieceLength = 64 * 1024;

const StoredFile = z.tuple([z.string(), z.int(), z.int(), z.string(), z.int(), z.string()], z.int());

/** `trees/<id>.json`. A file has path, mode, size, hash, where it begins in the pack (-1: a file of its own), and its
 *  stat facts as one string of mtime, ctime and inode, empty where not kept. */
const StoredTree = z.object({
  schema_version: z.literal(1),
  sha256: z.string().optional().describe('Of all that follows it in the file'),
  boot: z.string().describe('The start of the system in which the stat facts were taken'),
  folders: z.array(z.tuple([z.string(), z.int()])),
  links: z.array(z.tuple([z.string(), z.string()])),
  times: z.array(z.number()).optional().describe('Of the folders, in order: when they were last changed'),
  packs: z
    .array(z.string().regex(/^pack(?:-[0-9a-f]+)?$/))
    .optional()
    .describe(
      'The packs besides the first; a file that lies in one names it by a seventh item, counted from 1',
    ),
  files: z.array(StoredFile).describe('Each on a line of its own'),
});
type StoredTree = z.infer<typeof StoredTree>;

/** Where contents lie, for `writeTree`. */
export type PlacesOf = {
  /** Names of all packs. */
  readonly packs: readonly string[];
  readonly placeOf: (hash: string) => Place | undefined;
};

/** The text of a tree's file, in pieces that are made when they are asked for: a large tree would be in memory once
 *  more as a text, and twice more as one string. */
export type TreeText = {
  readonly pieces: Iterable<Buffer>;
  /** Asked for after the last piece. Where the text came in several pieces: the bytes to put over as many at its
   *  beginning, with the hash of all that follows, which is known only then. Undefined where one piece was all. */
  head(): Buffer | undefined;
};

/** The text of `trees/<id>.json`. `boot` names the start of the system in which the stat facts were taken. */
export function writeTree(tree: Tree, boot: string, where: PlacesOf): TreeText {
  const whole = createHash('sha256');
  let head: Buffer | undefined;
  function* pieces(): Generator<Buffer> {
    let text = '';
    for (const item of itemsOf(tree, boot, where)) {
      text += item;
      if (text.length < pieceLength) continue;
      // In place of the hash, which is known at the end only, something of the same length.
      if (head === undefined) {
        head = headWith('0'.repeat(64));
        yield head;
      }
      const bytes = Buffer.from(text);
      whole.update(bytes);
      yield bytes;
      text = '';
    }
    const rest = Buffer.from(text);
    whole.update(rest);
    const is = headWith(whole.digest('hex'));
    if (head === undefined) yield Buffer.concat([is, rest]);
    else {
      head = is;
      yield rest;
    }
  }
  return { pieces: pieces(), head: () => head };
}

function* itemsOf(tree: Tree, boot: string, { packs, placeOf }: PlacesOf): Generator<string> {
  const others = packs.filter((pack) => pack !== firstPack);
  const more = others.length > 0 ? `"packs":${JSON.stringify(others)},` : '';
  const listed = function* (kind: EntryKind, itemOf: (path: string, e: Entry) => unknown): Generator<string> {
    let between = '';
    for (const [path, e] of tree) {
      if (e.kind !== kind) continue;
      yield between + JSON.stringify(itemOf(path, e));
      between = ',\n';
    }
  };
  yield `"boot":${JSON.stringify(boot)},${more}"folders":[`;
  yield* listed('dir', (path, e): StoredTree['folders'][number] => [path, e.mode]);
  yield '],"links":[';
  yield* listed('link', (path, e): StoredTree['links'][number] => [path, e.target ?? '']);
  yield `],"times":${JSON.stringify(timesOfFolders(tree))},${filesFollow}`;
  yield* listed('file', (path, e): StoredTree['files'][number] => {
    const place = placeOf(e.hash ?? '');
    const file = [path, e.mode, e.size ?? 0, e.hash ?? '', place?.offset ?? -1, factsText(e)] as const;
    const pack = place === undefined ? 0 : others.indexOf(place.pack) + 1;
    return pack === 0 ? [...file] : [...file, pack];
  });
  yield '\n]}\n';
}

/** Of trees of an earlier version nobody knows them. */
function timesOfFolders(tree: Tree): readonly number[] {
  const folders = [...tree.values()].filter(({ kind }) => kind === 'dir');
  return folders.every(({ mtimeMs }) => mtimeMs !== undefined)
    ? folders.map(({ mtimeMs = 0 }) => mtimeMs)
    : [];
}

const headWith = (hash: string): Buffer => Buffer.from(`{"schema_version":1,"sha256":"${hash}",`);

/** The hash of a tree's file and the hash that the file itself states: equal in one that is as it was written, both empty
 *  in one of an earlier version. `begin` is how the text begins. */
export function treeHash(pieces: Iterable<Buffer>): ReturnType<TextHash['end']> {
  const hash = new TextHash();
  for (const piece of pieces) hash.add(piece);
  return hash.end();
}

/** Hands the pieces of a tree's file on, and throws after the last where the text is not as it was written. */
export function* asWritten(pieces: Iterable<Buffer>): Generator<Buffer> {
  const hash = new TextHash();
  for (const piece of pieces) {
    hash.add(piece);
    yield piece;
  }
  const { is, says } = hash.end();
  if (is !== says) throw new Error('its hash is another one');
}

class TextHash {
  private readonly whole = createHash('sha256');
  private begin: string | undefined;
  private says = '';

  add(piece: Buffer): void {
    if (this.begin !== undefined) {
      this.whole.update(piece);
      return;
    }
    // The head is short: the first piece has it.
    this.begin = piece.toString('latin1', 0, 200);
    const found = /^\{"schema_version":1,"sha256":"([0-9a-f]{64})",/.exec(this.begin);
    this.says = found?.[1] ?? '';
    this.whole.update(piece.subarray(found?.[0].length ?? 0));
  }

  end(): { readonly is: string; readonly says: string; readonly begin: string } {
    const { says, begin = '' } = this;
    return { is: says === '' ? '' : this.whole.digest('hex'), says, begin };
  }
}

/** The pieces of a tree's file, each good until the next is asked for. */
export function* piecesOf(path: string): Generator<Buffer> {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const is = fstatSync(file);
    if (!is.isFile() && !is.isDirectory()) throw new Error('it is no file');
    const buffer = Buffer.allocUnsafeSlow(readLength);
    for (let size = readLength; size === readLength; ) {
      size = readWhole(file, buffer, null);
      if (size > 0) yield buffer.subarray(0, size);
    }
  } finally {
    closeSync(file);
  }
}

const readLength = 256 * 1024;

/** The tree of a text that `writeTree` made, and where its contents lie. Stat facts of another boot are dropped: after a
 *  loss of power a file may carry the facts of bytes that never reached the disk. Throws when the text is no such tree. */
export function readTree(
  text: Iterable<Buffer>,
  boot: string,
): { readonly tree: Tree; readonly places: Places } {
  const pieces = text[Symbol.iterator]();
  try {
    const { head, rows } = apart(pieces);
    return treeOf(StoredTree.parse(head), rows, boot);
  } finally {
    pieces.return?.();
  }
}

function treeOf(stored: StoredTree, rows: Iterable<unknown>, boot: string): ReturnType<typeof readTree> {
  const places = new Places();
  const hasFacts = boot !== '' && stored.boot === boot;
  function* files(): Generator<Item> {
    let count = 0;
    for (const row of rows) {
      count += 1;
      if (count % many === 0) collectGarbage();
      const [path, mode, size, hash, offset, text, pack = 0] = StoredFile.parse(row);
      yield [path, fileEntry(mode, size, hash, readFacts(text, hasFacts))];
      const name = pack === 0 ? firstPack : stored.packs?.[pack - 1];
      if (name === undefined) throw new Error(`no pack ${pack}`);
      if (size < 0 || mode < 0 || mode > 0o7777 || !hashForm.test(hash) || (offset >= 0 && size > largeFrom))
        throw new Error(`no file is like ${JSON.stringify(path)}`);
      if (offset >= 0) places.add(hash, { pack: name, offset, size });
    }
  }
  const folders = stored.folders.map(([path, mode], n): Item => {
    const mtimeMs = stored.times?.[n];
    return [path, mtimeMs === undefined ? { kind: 'dir', mode } : { kind: 'dir', mode, mtimeMs }];
  });
  const links = stored.links.map(([path, target]): Item => [path, { kind: 'link', mode: 0o777, target }]);
  const tree = inOrder([folders[Symbol.iterator](), links[Symbol.iterator](), files()]);
  // A run directory may come from somebody else: what a restore writes must stay in its folder.
  for (const path of tree.keys())
    if (leavesTop.test(path)) throw new Error(`${JSON.stringify(path)} is no path below the top`);
  return { tree, places };
}

/** After so many rows, what reading them has left in memory is worth a collection of garbage. */
const many = 50_000;

const hashForm = /^[0-9a-f]{64}$/;

/** An empty component, `.` or `..`, as in an absolute path or in one that climbs; a NUL. */
const leavesTop = /(?:^|\/)\.{0,2}(?:\/|$)|\0/;

type KeptFacts = { readonly [Fact in 'mtimeMs' | 'ctimeMs' | 'ino']?: number | undefined };

/** A file's entry: spelt out, since a spread makes each half as large again. */
export function fileEntry(mode: number, size: number, hash: string, facts: KeptFacts): Entry {
  const kind = 'file';
  const { mtimeMs, ctimeMs, ino } = facts;
  if (mtimeMs === undefined)
    return ino === undefined ? { kind, mode, size, hash } : { kind, mode, size, hash, ino };
  if (ino === undefined) return { kind, mode, size, hash, mtimeMs };
  if (ctimeMs === undefined) return { kind, mode, size, hash, mtimeMs, ino };
  return { kind, mode, size, hash, mtimeMs, ctimeMs, ino };
}

type Item = [path: string, entry: Entry];

/** A tree of lists that are each in order, as trees are written. */
function inOrder(lists: readonly Iterator<Item>[]): Tree {
  const tree = new Map<string, Entry>();
  const heads = lists.map((list) => ({ list, next: list.next() }));
  let last = '';
  let sorted = true;
  for (;;) {
    let first: (typeof heads)[number] | undefined;
    let item: Item | undefined;
    for (const one of heads) {
      if (one.next.done === true) continue;
      const [path] = one.next.value;
      if (item === undefined || path < item[0]) {
        first = one;
        item = one.next.value;
      }
    }
    if (first === undefined || item === undefined) break;
    const [path, entry] = item;
    sorted &&= last <= path;
    last = path;
    tree.set(path, entry);
    first.next = first.list.next();
  }
  return sorted ? tree : new Map([...tree].sort(([a], [b]) => (a < b ? -1 : 1)));
}

const filesFollow = '"files":[\n';
/** Bytes up to there (all folders and links), and of a file's line: nobody holds what never comes to an end. */
const mostOfHead = 256 * 1024 * 1024;
const mostOfLine = 1024 * 1024;

/** The text without its files, and these one by one: taken as one value, a large tree would be in memory three times. */
function apart(pieces: Iterator<Buffer>): { readonly head: unknown; readonly rows: Iterable<unknown> } {
  // Put together once: with each piece anew, a large beginning would be copied a thousand times.
  const parts: Buffer[] = [];
  let length = 0;
  let end = Buffer.alloc(0);
  for (let next = pieces.next(); next.done !== true; next = pieces.next()) {
    if (length > mostOfHead) throw new Error('it does not come to its files');
    const seam = Buffer.concat([end, next.value]);
    parts.push(seam.subarray(end.length));
    const at = seam.indexOf(filesFollow);
    if (at < 0) {
      length += next.value.length;
      end = seam.subarray(-filesFollow.length);
      continue;
    }
    const text = Buffer.concat(parts);
    const to = length - end.length + at + filesFollow.length;
    const head: unknown = JSON.parse(`${text.toString('utf8', 0, to)}]}`);
    return { head, rows: rowsOf(linesOf(text.subarray(to), pieces)) };
  }
  // As it was written before: everything on one line.
  const whole = Buffer.concat(parts).toString();
  const head = z.looseObject({ files: z.array(z.unknown()) }).parse(JSON.parse(whole));
  return { head: { ...head, files: [] }, rows: head.files };
}

/** Whole lines, without their ends. What stands after the last end is no line. */
function* linesOf(first: Buffer, more: Iterator<Buffer>): Generator<string> {
  let text = first;
  for (;;) {
    let at = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', at)) {
      yield text.toString('utf8', at, end);
      at = end + 1;
    }
    const next = more.next();
    if (next.done === true) {
      if (at < text.length) throw new Error('there is more than the list of files');
      return;
    }
    if (text.length - at > mostOfLine) throw new Error('a line of it does not end');
    text = Buffer.concat([text.subarray(at), next.value]);
  }
}

function* rowsOf(lines: Iterable<string>): Generator<unknown> {
  let hasMore = true;
  let isOver = false;
  let isFirst = true;
  for (const line of lines) {
    if (isOver || !(hasMore || line === ']}')) throw new Error('the list of files ends before its end');
    isOver = line === ']}';
    if (isOver && hasMore && !isFirst) throw new Error('the list of files goes on after its last');
    if (isOver) continue;
    hasMore = line.endsWith(',');
    if (line !== '' || !isFirst) yield JSON.parse(hasMore ? line.slice(0, -1) : line);
    isFirst = false;
  }
  if (!isOver) throw new Error('the list of files has no end');
}

const factsText = ({ mtimeMs, ctimeMs, ino }: Entry): string =>
  `${mtimeMs ?? '-'} ${ctimeMs ?? '-'} ${ino ?? '-'}`;

/** Of another boot the time counts still, and the inode: it tells which names are names of one file. */
function readFacts(text: string, ofThisBoot: boolean): KeptFacts {
  const [mtimeMs, ctimeMs, ino] = text.split(' ', 3).map(number);
  return { mtimeMs, ctimeMs: ofThisBoot ? ctimeMs : undefined, ino };
}

/** Earlier versions have left nothing in place of a fact. */
function number(text: string): number | undefined {
  const is = text === '' ? Number.NaN : Number(text);
  return Number.isNaN(is) ? undefined : is;
}
