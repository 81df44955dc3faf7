/** What the engine puts into a stage's folder for the record (what was asked, allowed, planned), and what the stage's own
 *  programs, which can write there, have made of it. */
import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileAtomic, writeFresh } from '../system/files.ts';
import { keepText } from './artifacts.ts';

/** What no program is meant to write. Anything else may be an answer. */
const isRecord = (name: string): boolean =>
  /^(?:prompt\.md|context\.json|agent\.program\.json|command\.prompt\.md|verification\.plan\.json|.+\.(?:args\.txt|schema\.json))$/.test(
    name,
  );

/** Bytes of a record that is read again although its times say that nobody touched it: what happens within one tick of the
 *  system's clock leaves no trace in them, and no program gets to write a large one so soon. */
const shortTo = 64 * 1024;

export type StageRecords = {
  /** Writes an artifact, masked. */
  readonly keep: (name: string, text: string) => Promise<void>;
  /** The same for one that nobody may write. */
  readonly keepLocked: (name: string, text: string) => Promise<void>;
  /** When a program has ended: records that it changed or removed are as they were again, and their names are told. */
  readonly putBack: () => Promise<void>;
};

export function stageRecords(
  nodeDir: string,
  mask: (text: string) => string,
  told: (changed: readonly string[]) => void,
): StageRecords {
  const written = new Map<string, { again(): Promise<void>; isThere(): boolean }>();
  type Write = (path: string, text: string) => Promise<void>;
  const by = (write: Write) => async (name: string, content: string) => {
    const path = join(nodeDir, name);
    const text = mask(content);
    await write(path, text);
    if (isRecord(name)) written.set(name, { again: () => write(path, text), isThere: asItIs(path, text) });
  };
  return {
    keep: by(keepText),
    keepLocked: by(async (path, text) => {
      if (!writeFresh(path, text, 0o444))
        await writeFileAtomic(path, text, { mode: 0o444, evenFolder: true });
    }),
    async putBack() {
      const changed: string[] = [];
      for (const [name, { again, isThere }] of written) {
        if (isThere()) continue;
        changed.push(name);
        await again();
      }
      if (changed.length > 0) told(changed);
    },
  };
}

/** Whether the file that stands at `path` now is still that one, with that text. */
function asItIs(path: string, text: string): () => boolean {
  const was = lstatSync(path);
  return () => {
    const is = lstatSync(path, { throwIfNoEntry: false });
    if (is?.isFile() !== true || is.size !== was.size) return false;
    const untouched = is.ino === was.ino && is.ctimeMs === was.ctimeMs;
    return (untouched && is.size > shortTo) || readFileSync(path).equals(Buffer.from(text));
  };
}
