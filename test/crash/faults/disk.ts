/** What a power cut would take: every file's bytes since its last flush, and names whose folder was not flushed. */
import fs from 'node:fs';
import { dirname, join } from 'node:path';
import { random } from './plan.ts';

// Taken before the operations are replaced by counted ones.
const real = { ...fs };

type Written = { path: string; durable: number };
/** A change of names: a file that came into being, or one that got another name. */
type Named = { path: string } | { from: string; to: string; backup: string | undefined };

/** Its mode holds no power cut. */
function shorten(path: string, size: number): void {
  const { mode } = real.statSync(path);
  real.chmodSync(path, mode | 0o200);
  real.truncateSync(path, size);
  real.chmodSync(path, mode);
}

/** What has become of a file since it was left unflushed. */
type Deed = { flushed: string } | { from: string; to: string } | 'all flushed';

const movedBelow =
  (from: string, to: string) =>
  (path: string): string =>
    path.startsWith(`${from}/`) ? to + path.slice(from.length) : path;

function done(files: readonly Written[], deed: Deed): Written[] {
  if (deed === 'all flushed') return [];
  if ('flushed' in deed) return files.filter(({ path }) => path !== deed.flushed);
  const { from, to } = deed;
  const below = movedBelow(from, to);
  return files
    .filter(({ path }) => path !== to)
    .map(({ path, durable }) => ({ path: path === from ? to : below(path), durable }));
}

/** Follows what one process writes, in its folder of records what others of the run have left unflushed. */
export class Disk {
  private files: Written[] = [];
  /** In the order in which they were made. */
  private names: Named[] = [];
  private backups = 0;
  /** Unflushed files of other processes, and the size of their list when it was read. */
  private others: { size: number; files: Written[] } = { size: 0, files: [] };

  constructor(
    private readonly folder: string,
    private readonly who: string,
  ) {}

  /** Before bytes are added to the file at `path`, or it comes into being. */
  writing(path: string, empties: boolean): void {
    const is = real.statSync(path, { throwIfNoEntry: false });
    if (is === undefined) this.names.push({ path });
    const known = this.files.find((file) => file.path === path);
    if (known !== undefined) {
      if (empties) known.durable = 0;
      return;
    }
    this.files.push({ path, durable: empties ? 0 : (is?.size ?? 0) });
  }

  flushed(path: string): void {
    const is = real.statSync(path, { throwIfNoEntry: false });
    // A folder that is flushed has lost the name for good, also where the other one may not have it yet.
    const folder = is?.isDirectory() === true;
    // A new file's flush takes its name along, and what had happened to names of its folder before.
    const made = this.names.findLastIndex((name) => 'path' in name && name.path === path);
    const at = folder ? path : dirname(path);
    const before = folder ? this.names.length : made + 1;
    this.names = this.names.filter(
      (name, n) =>
        n >= before ||
        ('path' in name ? dirname(name.path) !== at : dirname(name.to) !== at && dirname(name.from) !== at),
    );
    if (folder) return;
    this.files = this.files.filter((file) => file.path !== path);
    this.tell({ flushed: path });
  }

  /** The whole file system. */
  flushedAll(): void {
    this.names = [];
    this.files = [];
    this.tell('all flushed');
  }

  renaming(from: string, to: string): void {
    let backup: string | undefined;
    if (real.lstatSync(to, { throwIfNoEntry: false })?.isFile() === true) {
      backup = join(this.folder, `${this.who}.backup${this.backups++}`);
      real.linkSync(to, backup);
      this.rename(to, backup);
    }
    this.names.push({ from, to, backup });
  }

  renamed(from: string, to: string): void {
    this.tell({ from, to });
    this.files = this.files.filter((file) => file.path !== to);
    const below = movedBelow(from, to);
    const moved = (path: string) => (path === from ? to : below(path));
    for (const file of this.files) file.path = moved(file.path);
    for (const one of this.names) {
      if ('path' in one) one.path = moved(one.path);
      else {
        one.from = below(one.from);
        one.to = below(one.to);
      }
    }
  }

  /** What a stage, whose calls nobody counts, has made where something was moved away from: it came after all these moves. */
  private removeLater(folder: string): void {
    const made = new Set(this.names.flatMap((name) => ('path' in name ? [name.path] : [])));
    for (const name of this.names) {
      if ('path' in name || dirname(name.from) !== folder || made.has(name.from)) continue;
      if (real.lstatSync(name.from, { throwIfNoEntry: false })?.isFile() === true) real.unlinkSync(name.from);
    }
  }

  /** Of a file that came into being here, and is kept aside or comes back. */
  private rename(from: string, to: string): void {
    for (const name of this.names) if ('path' in name && name.path === from) name.path = to;
  }

  /** For the next process of the run: what a power cut in it would take of ours. */
  leave(): void {
    this.note(this.files);
  }

  /** What happens to a file that another process has left unflushed. */
  private tell(deed: Deed): void {
    const is = this.ofOthers();
    if (is.length > 0 && JSON.stringify(is) !== JSON.stringify(done(is, deed))) this.note([deed]);
  }

  private note(lines: readonly (Written | Deed)[]): void {
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    if (text !== '') real.appendFileSync(join(this.folder, 'unflushed.jsonl'), text);
  }

  /** Takes what the disk did not have yet. Names are lost in the order of a journal: the last ones first. */
  cut(seed: number): void {
    const chance = random(seed);
    const keep = Math.floor(chance() * (this.names.length + 1));
    while (this.names.length > keep) {
      const one = this.names.pop();
      if (one === undefined) break;
      if ('path' in one) {
        if (real.lstatSync(one.path, { throwIfNoEntry: false })?.isFile() === true) real.unlinkSync(one.path);
        continue;
      }
      const { from, to, backup } = one;
      if (real.lstatSync(to, { throwIfNoEntry: false }) === undefined) continue;
      this.removeLater(dirname(from));
      // Removals are not counted: the one of this folder came after the move, and is lost with it.
      real.mkdirSync(dirname(from), { recursive: true });
      real.renameSync(to, from);
      this.renamed(to, from);
      if (backup === undefined) continue;
      real.renameSync(backup, to);
      this.rename(backup, to);
    }
    for (const { path, durable } of [...this.ofOthers(), ...this.files]) {
      const is = real.lstatSync(path, { throwIfNoEntry: false });
      if (is?.isFile() !== true || is.size <= durable) continue;
      const luck = chance();
      if (luck < 0.6) shorten(path, durable);
      else if (luck < 0.8) shorten(path, durable + Math.floor(chance() * (is.size - durable)));
    }
  }

  private ofOthers(): Written[] {
    const path = join(this.folder, 'unflushed.jsonl');
    const size = real.statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (size === this.others.size) return this.others.files;
    let files: Written[] = [];
    for (const line of real.readFileSync(path, 'utf8').split('\n').filter(Boolean)) {
      const read: Written | Deed = JSON.parse(line);
      if (read !== 'all flushed' && 'durable' in read) files.push(read);
      else files = done(files, read);
    }
    this.others = { size, files };
    return files;
  }
}
