/** What a run's attempts were, gathered from its directory: which visit of each stage belongs to which attempt. */
import { join } from 'node:path';
import * as z from 'zod';
import { readStage } from '../engine/node-dir.ts';
import type { Layout } from '../model/layout.ts';
import { nodeLayout } from '../model/layout.ts';
import { readRecords } from '../store/journal.ts';
import { readSome } from '../system/read.ts';

/** How a visit ended; `open` when it did not. */
export type Visit = {
  readonly dir: string;
  readonly ended: 'done' | 'failed' | 'open';
  readonly reason: string;
  /** What it put into the run's context. */
  readonly updates: Readonly<Record<string, unknown>>;
};
/** By node: `prompt`, `propose`, `apply`, `verify`, `promises`, `accept`, `commit`, `rollback`, `proof`. */
export type Attempt = { readonly index: number; readonly visits: ReadonlyMap<string, Visit> };

/** An attempt begins with each visit of `prompt`; a stage that a resume makes again replaces what was cut. How a visit
 *  ended stands in its `status.json`: the journal may lack the last line of a run that was killed. */
export async function attemptsOf(run: Layout): Promise<Attempt[]> {
  const { records } = await readRecords(run.events);
  const started = new Map<number, Map<string, number>>();
  let current = 0;
  for (const { type, node_id: node, visit } of records) {
    if (type !== 'StageStarted' || typeof node !== 'string' || typeof visit !== 'number') continue;
    if (node === 'prompt') {
      current = visit;
      started.set(current, new Map());
    }
    started.get(current)?.set(node, visit);
  }
  const attempts: Attempt[] = [];
  for (const [index, nodes] of [...started].sort(([a], [b]) => a - b)) {
    const visits = new Map<string, Visit>();
    for (const [node, visit] of nodes) visits.set(node, await visitOf(await dirOf(run, node, visit)));
    attempts.push({ index, visits });
  }
  return attempts;
}

const Status = z.object({
  outcome: z.string(),
  failure_reason: z.string(),
  failure_class: z.string().optional(),
  context_updates: z.record(z.string(), z.json()),
});

async function visitOf(dir: string): Promise<Visit> {
  const open: Visit = { dir, ended: 'open', reason: '', updates: {} };
  const status = Status.safeParse(await jsonOf(open, 'status.json'));
  if (!status.success || status.data.failure_class === 'cancelled') return open;
  const { outcome, failure_reason: reason, context_updates: updates } = status.data;
  return { dir, ended: outcome === 'fail' ? 'failed' : 'done', reason, updates };
}

/** The latest visit lies in the node's own folder, earlier ones below it. */
async function dirOf(run: Layout, node: string, visit: number): Promise<string> {
  const dir = run.node(node);
  const stage = await readStage(dir);
  return stage === undefined || stage.visit === visit ? dir : join(nodeLayout(dir).visits, String(visit));
}

/** A text artifact of a visit, whole as far as it is sensible; undefined when there is none. */
export const textOf = (visit: Visit | undefined, name: string): Promise<string | undefined> =>
  visit === undefined ? Promise.resolve(undefined) : readSome(join(visit.dir, name), 16 * 1024 * 1024);

export async function jsonOf(visit: Visit | undefined, name: string): Promise<unknown> {
  const text = await textOf(visit, name);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    // A run that was cut may leave anything; what cannot be read is not evidence.
    return undefined;
  }
}
