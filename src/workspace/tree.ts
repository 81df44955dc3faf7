/** A snapshot's tree: its name, and its form on disk. */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import { firstPack, type Place, Places } from './places.ts';
import type { Entry, Tree } from './snapshot.ts';

/** Same kind, mode, content or target: what a name of a tree and a diff are made of. */
export const isSame = (a: Entry, b: Entry): boolean =>
  a === b || (a.kind === b.kind && a.mode === b.mode && a.hash === b.hash && a.target === b.target);

/** The tree's name: SHA-256 (hex) over path, kind, mode and content of every entry, in order. */
export function treeId(tree: Tree): string {
  const whole = createHash('sha256');
  let text = '';
  let between = '';
  for (const [path, entry] of tree) {
    // Neither a path nor a target can hold a NUL, so no two trees give one text.
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

const StoredFile = z.tuple([z.string(), z.int(), z.int(), z.string(), z.int(), z.string()], z.int());

/** `trees/<id>.json`. A file has path, mode, size, hash, where it begins in the pack (-1: a file of its own), and its
 *  stat facts as one string of mtime, ctime and inode, empty where not kept. */
const StoredTree = z.object({
  schema_version: z.literal(1),
  sha256: z.string().optional().describe('Of all that follows it in the file'),
  boot: z.string().describe('The start of the system in which the stat facts were taken'),
  folders: z.array(z.tuple([z.string(), z.int()])),
  links: z.array(z.tuple([z.string(), z.string()])),
  packs: z
    .array(z.string().regex(/^pack(?:-[0-9a-f]+)?$/))
    .optional()
    .describe(
      'The packs besides the first; a file that lies in one names it by a seventh item, counted from 1',
    ),
  files: z.array(StoredFile).describe('Each on a line of its own'),
});
type StoredTree = z.infer<typeof StoredTree>;

/** The text of a tree's file, in pieces; `placeOf` tells where a content lies. As one value to be made JSON, or as one
 *  string, a large tree would be in memory twice more. */
export function writeTree(
  tree: Tree,
  boot: string,
  placeOf: (hash: string) => Place | undefined,
): readonly Buffer[] {
  const packs = [firstPack];
  const lists = { folders: new List(), links: new List(), files: new List() };
  const add = (list: keyof typeof lists, item: StoredTree['folders' | 'links' | 'files'][number]): void =>
    lists[list].add(JSON.stringify(item));
  for (const [path, e] of tree) {
    if (e.kind === 'dir') add('folders', [path, e.mode]);
    else if (e.kind === 'link') add('links', [path, e.target ?? '']);
    else {
      const place = placeOf(e.hash ?? '');
      let pack = packs.indexOf(place?.pack ?? firstPack);
      if (pack < 0) pack = packs.push(place?.pack ?? firstPack) - 1;
      const file = [path, e.mode, e.size ?? 0, e.hash ?? '', place?.offset ?? -1, factsText(e)] as const;
      add('files', pack === 0 ? [...file] : [...file, pack]);
    }
  }
  const more = packs.length > 1 ? `"packs":${JSON.stringify(packs.slice(1))},` : '';
  const { folders, links, files } = lists;
  const rest = [
    Buffer.from(`"boot":${JSON.stringify(boot)},${more}"folders":[`),
    ...folders.pieces(),
    Buffer.from('],"links":['),
    ...links.pieces(),
    Buffer.from(`],${filesFollow}`),
    ...files.pieces(),
    Buffer.from('\n]}\n'),
  ];
  const whole = [Buffer.from(`${head}"sha256":"${hashOf(rest)}",`), ...rest];
  return whole.reduce((sum, { length }) => sum + length, 0) < pieceLength ? [Buffer.concat(whole)] : whole;
}

/** Items of JSON on their way into a file, as bytes already but for the last of them. */
class List {
  private readonly done: Buffer[] = [];
  private text = '';

  add(item: string): void {
    if (this.text.length >= pieceLength) this.done.push(Buffer.from(this.take()));
    this.text += this.text === '' && this.done.length === 0 ? item : `,\n${item}`;
  }

  pieces(): readonly Buffer[] {
    return [...this.done, Buffer.from(this.text)];
  }

  private take(): string {
    const { text } = this;
    this.text = '';
    return text;
  }
}

const head = '{"schema_version":1,';

function hashOf(pieces: readonly Buffer[]): string {
  const whole = createHash('sha256');
  for (const piece of pieces) whole.update(piece);
  return whole.digest('hex');
}

/** Whether the text of a tree's file is as it was written: what its hash is, and what it says, which is empty in one of an
 *  earlier version. */
export function treeHash(text: Buffer): { readonly is: string; readonly says: string } {
  const start = text.toString('latin1', 0, 200);
  const [whole = '', says = ''] = /^\{"schema_version":1,"sha256":"([0-9a-f]{64})",/.exec(start) ?? [];
  return { is: says === '' ? '' : hashOf([text.subarray(whole.length)]), says };
}

/** The tree of a text that `writeTree` made, and where its contents lie. Stat facts of another boot are dropped: after a loss of power a file may
 *  carry the facts of bytes that never reached the disk. Throws when the text is no such tree. */
export function readTree(text: Buffer, boot: string): { readonly tree: Tree; readonly places: Places } {
  const { head, rows } = apart(text);
  const stored = StoredTree.parse(head);
  const entries: [string, Entry][] = [];
  const places = new Places();
  for (const [path, mode] of stored.folders) entries.push([path, { kind: 'dir', mode }]);
  for (const [path, target] of stored.links) entries.push([path, { kind: 'link', mode: 0o777, target }]);
  for (const row of rows) {
    const [path, mode, size, hash, offset, facts, pack = 0] = StoredFile.parse(row);
    const known = boot !== '' && stored.boot === boot ? readFacts(facts) : {};
    entries.push([path, { kind: 'file', mode, size, hash, ...known }]);
    const name = pack === 0 ? firstPack : stored.packs?.[pack - 1];
    if (name === undefined) throw new Error(`no pack ${pack}`);
    if (offset >= 0) places.add(hash, { pack: name, offset, size });
  }
  return { tree: new Map(entries.sort(([a], [b]) => (a < b ? -1 : 1))), places };
}

const filesFollow = '"files":[\n';

/** The text without its files, and these one by one: taken as one value, a large tree would be in memory three times. */
function apart(text: Buffer): { readonly head: unknown; readonly rows: Iterable<unknown> } {
  const from = text.indexOf(filesFollow) + filesFollow.length;
  if (from < filesFollow.length) {
    // As it was written before: everything on one line.
    const head = z.looseObject({ files: z.array(z.unknown()) }).parse(JSON.parse(text.toString()));
    return { head: { ...head, files: [] }, rows: head.files };
  }
  const to = text.lastIndexOf('\n]}\n');
  if (to !== text.length - 4 || to < from - 1) throw new Error('the list of files has no end');
  return {
    head: JSON.parse(`${text.toString('utf8', 0, from)}]}`),
    rows: linesOf(text.subarray(from, Math.max(from, to))),
  };
}

function* linesOf(list: Buffer): Generator<unknown> {
  for (let at = 0; at < list.length; ) {
    const end = list.indexOf(',\n', at);
    yield JSON.parse(list.toString('utf8', at, end < 0 ? list.length : end));
    at = end < 0 ? list.length : end + 2;
  }
}

const factsText = (e: Entry): string =>
  e.mtimeMs === undefined ? '' : `${e.mtimeMs} ${e.ctimeMs ?? ''} ${e.ino ?? ''}`;

function readFacts(text: string): Pick<Entry, 'mtimeMs' | 'ctimeMs' | 'ino'> {
  const [mtimeMs, ctimeMs, ino] = text.split(' ').map(Number);
  return mtimeMs === undefined || ctimeMs === undefined || ino === undefined ? {} : { mtimeMs, ctimeMs, ino };
}
