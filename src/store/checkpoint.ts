/** `checkpoint.json` on disk: replaced as a whole, flushed before anybody is told of it. */
import { open, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { Checkpoint } from '../model/checkpoint.ts';
import { isMissing, syncFolder, writeJson } from '../system/files.ts';
import { inALine, messageOf, type Unreadable, unreadable } from './problem.ts';

/** Up to this many ids stand in the checkpoint itself; more go to a file that grows, so that saving stays cheap. */
const mostInline = 1000;
const listName = 'completed_nodes.txt';

const InFile = z.object({
  ...Checkpoint.shape,
  completed_nodes: z.array(z.string()).optional(),
  completed_nodes_file: z
    .string()
    .regex(/^[A-Za-z0-9_.-]+$/)
    .optional()
    .describe('Next to the checkpoint: an id a line, in the order they completed'),
  completed_nodes_count: z.int().min(0).optional().describe('How many lines of that file count'),
});

/** What is checked before saving. The context is left out: any value of it loads again, and it may be large. */
const Loadable = Checkpoint.omit({ context: true, outcomes: true });

/** Replaces the checkpoint at `path`. When it settles the new one outlives a power cut; until then a crash leaves the
 *  old one. Rejects when it cannot be written, or is none that could be loaded again. */
export async function saveCheckpoint(path: string, checkpoint: Checkpoint): Promise<void> {
  const checked = Loadable.safeParse(checkpoint);
  if (!checked.success)
    throw new Error(`Internal: a checkpoint that nobody could load: ${z.prettifyError(checked.error)}`);
  const { completed_nodes, ...rest } = checkpoint;
  const ids = new Set(completed_nodes);
  const list =
    ids.size <= mostInline
      ? { completed_nodes: [...ids].sort() }
      : {
          completed_nodes_file: listName,
          completed_nodes_count: await growList(join(dirname(path), listName), ids),
        };
  await writeJson(path, ordered(rest, list), { sync: true, syncFolder: true });
}

/** The list of completed nodes stands where readers of the file look for it, after `last_completed_node`. */
function ordered(rest: Omit<Checkpoint, 'completed_nodes'>, list: object): object {
  const { schema_version, run_id, epoch, last_completed_node, ...others } = rest;
  return { schema_version, run_id, epoch, last_completed_node, ...list, ...others };
}

export type LoadedCheckpoint =
  | { readonly ok: true; readonly checkpoint: Checkpoint }
  | (Unreadable & { readonly missing: boolean });

/** Loads the checkpoint at `path`, or says what is wrong with which file and how to go on. Rejects only when the file is
 *  there and may not be read. */
export async function loadCheckpoint(path: string): Promise<LoadedCheckpoint> {
  const broken = (what: string): LoadedCheckpoint => {
    const fix = 'put back a copy of the file if there is one, else start a new run (without --resume)';
    return { ...unreadable(`${path} ${what}`, fix), missing: false };
  };
  const text = await textOf(path);
  if (text === undefined) {
    const what = `there is no checkpoint ${path}, so there is no run that could go on`;
    const fix = 'check the run id and --runsdir, or start a new run (without --resume)';
    return { ...unreadable(what, fix), missing: true };
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return broken(`is not JSON (${messageOf(error)})`);
  }
  const read = InFile.safeParse(value);
  if (!read.success) return broken(`is no checkpoint of this version (${inALine(read.error)})`);
  const { completed_nodes, completed_nodes_file, completed_nodes_count, ...rest } = read.data;
  const loaded = (ids: readonly string[]): LoadedCheckpoint => ({
    ok: true,
    checkpoint: { ...rest, completed_nodes: [...new Set(ids)].sort() },
  });
  if (completed_nodes !== undefined) return loaded(completed_nodes);
  if (completed_nodes_file === undefined || completed_nodes_count === undefined) {
    return broken('is no checkpoint of this version (completed_nodes: missing)');
  }
  const ids = wholeLines((await textOf(join(dirname(path), completed_nodes_file))) ?? '');
  if (ids.length < completed_nodes_count) {
    return broken(
      `counts ${completed_nodes_count} completed nodes, but ${completed_nodes_file} beside it has ${ids.length}`,
    );
  }
  return loaded(ids.slice(0, completed_nodes_count));
}

/** Makes the file hold `ids` and answers how many lines it has. Lines are only added, except that lines of a stage
 *  whose checkpoint was never written go; so the lines that the present checkpoint counts stay as they are. */
async function growList(path: string, ids: ReadonlySet<string>): Promise<number> {
  const kept: string[] = [];
  for (const id of wholeLines((await textOf(path)) ?? '')) {
    if (!ids.has(id)) break;
    kept.push(id);
  }
  const known = new Set(kept);
  const added = [...ids].filter((id) => !known.has(id));
  const file = await open(path, 'a', 0o644);
  try {
    await file.truncate(Buffer.byteLength(kept.map((id) => `${id}\n`).join('')));
    if (added.length > 0) await file.writeFile(added.map((id) => `${id}\n`).join(''));
    await file.datasync();
  } finally {
    await file.close();
  }
  if (kept.length === 0) await syncFolder(dirname(path));
  return kept.length + added.length;
}

const wholeLines = (text: string): string[] => text.split('\n').slice(0, -1);

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
