/** What a power cut would take: every file's bytes since its last flush, and names whose folder was not flushed. */
import fs from 'node:fs';
import { dirname, join } from 'node:path';
import { random } from './plan.ts';

// Taken before the operations are replaced by counted ones.
const real = { ...fs };

type Written = { path: string; durable: number };
type Renamed = { from: string; to: string; backup: string | undefined };

/** Follows what one process writes, in its folder of records what others of the run have left unflushed. */
export class Disk {
  private files: Written[] = [];
  private renames: Renamed[] = [];
  private backups = 0;

  constructor(
    private readonly folder: string,
    private readonly who: string,
  ) {}

  /** Before bytes are added to the file at `path`, or it comes into being. */
  writing(path: string, empties: boolean): void {
    const known = this.files.find((file) => file.path === path);
    if (known !== undefined) {
      if (empties) known.durable = 0;
      return;
    }
    const size = real.statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    this.files.push({ path, durable: empties ? 0 : size });
  }

  flushed(path: string): void {
    const is = real.statSync(path, { throwIfNoEntry: false });
    // A folder that is flushed has lost the name for good, also where the other one may not have it yet.
    if (is?.isDirectory() === true)
      this.renames = this.renames.filter(({ from, to }) => dirname(to) !== path && dirname(from) !== path);
    else this.files = this.files.filter((file) => file.path !== path);
  }

  renaming(from: string, to: string): void {
    let backup: string | undefined;
    if (real.lstatSync(to, { throwIfNoEntry: false })?.isFile() === true) {
      backup = join(this.folder, `${this.who}.backup${this.backups++}`);
      real.linkSync(to, backup);
    }
    this.renames.push({ from, to, backup });
  }

  renamed(from: string, to: string): void {
    this.files = this.files.filter((file) => file.path !== to);
    for (const file of this.files) {
      if (file.path === from) file.path = to;
      else if (file.path.startsWith(`${from}/`)) file.path = to + file.path.slice(from.length);
    }
    for (const one of this.renames) {
      if (one.from.startsWith(`${from}/`)) one.from = to + one.from.slice(from.length);
      if (one.to.startsWith(`${from}/`)) one.to = to + one.to.slice(from.length);
    }
  }

  /** For the next process of the run: what a power cut in it would take of ours. */
  leave(): void {
    const left = this.files.map((file) => JSON.stringify(file)).join('\n');
    if (left !== '') real.appendFileSync(join(this.folder, 'unflushed.jsonl'), `${left}\n`);
  }

  /** Takes what the disk did not have yet. Names are lost in the order of a journal: the last ones first. */
  cut(seed: number): void {
    const chance = random(seed);
    const keep = Math.floor(chance() * (this.renames.length + 1));
    for (const { from, to, backup } of this.renames.splice(keep).reverse()) {
      if (real.lstatSync(to, { throwIfNoEntry: false }) === undefined) continue;
      real.renameSync(to, from);
      this.renamed(to, from);
      if (backup !== undefined) real.renameSync(backup, to);
    }
    for (const { path, durable } of [...this.ofOthers(), ...this.files]) {
      const is = real.lstatSync(path, { throwIfNoEntry: false });
      if (is?.isFile() !== true || is.size <= durable) continue;
      const luck = chance();
      if (luck < 0.6) real.truncateSync(path, durable);
      else if (luck < 0.8) real.truncateSync(path, durable + Math.floor(chance() * (is.size - durable)));
    }
  }

  private ofOthers(): Written[] {
    const path = join(this.folder, 'unflushed.jsonl');
    if (!real.existsSync(path)) return [];
    const lines = real.readFileSync(path, 'utf8').split('\n').filter(Boolean);
    return lines.map((line): Written => {
      const { path, durable }: Written = JSON.parse(line);
      return { path, durable };
    });
  }
}
