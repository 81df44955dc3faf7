/** Writes the engine's records into a node's directory (prompt, context, plan), and restores them if the node's programs, which
 *  can write there, changed them. */
import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StageProgram } from '../core/contracts/node-kind.ts';
import type { Exit } from '../core/contracts/process.ts';
import type { RanCommand } from '../core/records/visit.ts';
import { head } from '../platform/files/read.ts';
import { writeFileAtomic, writeFresh } from '../platform/files/write.ts';
import { keepText } from '../run/artifacts.ts';

/** Files that programs must not write. Any other file may be an answer. */
const isRecord = (name: string): boolean =>
  /^(?:prompt\.md|context\.json|agent\.program\.json|command\.prompt\.md|verification\.plan\.json|.+\.(?:args\.txt|schema\.json))$/.test(
    name,
  );

/** Bytes up to which a record is compared although its times are unchanged: a change within one tick of the system's clock does
 *  not show in them. Writing a larger file takes longer than that. */
const shortTo = 64 * 1024;

export type StageRecords = {
  /** Writes an artifact, masked. */
  readonly keep: (name: string, text: string) => Promise<void>;
  /** The same for a read-only file. */
  readonly keepLocked: (name: string, text: string) => Promise<void>;
  /** After a program has ended: restores records that it changed or removed, and reports their names. */
  readonly putBack: () => Promise<void>;
};

/** The records of one attempt. */
export type AttemptRecords = StageRecords & {
  /** After a program has ended: makes the directory readable, whatever the program did to it. */
  readonly reopen: () => void;
};

export function stageRecords(
  nodeDir: string,
  mask: (text: string) => string,
  report: (changed: readonly string[]) => void,
): StageRecords {
  const written = new Map<string, { again(): Promise<void>; isThere(): boolean }>();
  type Write = (path: string, text: string) => Promise<void>;
  const by = (write: Write) => async (name: string, content: string) => {
    const path = join(nodeDir, name);
    const text = mask(content);
    await write(path, text);
    if (isRecord(name))
      written.set(name, { again: () => write(path, text), isThere: unchangedCheck(path, text) });
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
      if (changed.length > 0) report(changed);
    },
  };
}

/** Returns a check whether the file at `path` is still the same, with that text. */
function unchangedCheck(path: string, text: string): () => boolean {
  const was = lstatSync(path);
  return () => {
    const is = lstatSync(path, { throwIfNoEntry: false });
    if (is?.isFile() !== true || is.size !== was.size) return false;
    const untouched = is.ino === was.ino && is.ctimeMs === was.ctimeMs;
    return (untouched && is.size > shortTo) || readFileSync(path).equals(Buffer.from(text));
  };
}

/* Lists the programs that a node has run, for its journal line. */

/** Programs of one attempt that are listed, and bytes of each of their words. */
const mostCommands = 100;
const longestWord = 2000;

/** Adds a program that has ended to the list. */
export function note(
  ran: RanCommand[],
  program: StageProgram,
  ended: Exit,
  mask: (text: string) => string,
): void {
  if (ran.length >= mostCommands) return;
  ran.push({
    argv: program.argv.map((word) => head(mask(word), longestWord)),
    exit_code: ended.kind === 'exited' ? ended.code : null,
    stdout: program.stdoutName,
    stderr: program.stderrName,
  });
}
