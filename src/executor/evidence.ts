/** The attempts of a run, read from its directory: which execution of each node belongs to which attempt. */

import { join } from 'node:path';
import * as z from 'zod';
import { readStage } from '../engine/node-dir.ts';
import type { Layout } from '../model/layout.ts';
import { nodeLayout } from '../model/layout.ts';
import { once } from '../model/once.ts';
import { readRecords } from '../store/journal.ts';
import { readSome } from '../system/read.ts';

/** One execution of a node. */
export type Visit = {
  readonly dir: string;
  /** `open`: it did not end. */
  readonly ended: 'done' | 'failed' | 'open';
  readonly reason: string;
  /** What it set in the run's context. */
  readonly updates: Readonly<Record<string, unknown>>;
};
/** By node: `prompt`, `propose`, `apply`, `verify`, `promises`, `accept`, `commit`, `rollback`, `proof`. */
export type Attempt = { readonly index: number; readonly visits: ReadonlyMap<string, Visit> };

/** An attempt begins with each execution of `prompt`; an execution that a resume repeats replaces the interrupted one. The
 *  outcome is read from `status.json`: the journal of a killed run may lack its last line. */
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

const statusSchema = once(() =>
  z.object({
    outcome: z.string(),
    failure_reason: z.string(),
    failure_class: z.string().optional(),
    context_updates: z.record(z.string(), z.json()),
  }),
);

async function visitOf(dir: string): Promise<Visit> {
  const open: Visit = { dir, ended: 'open', reason: '', updates: {} };
  const status = statusSchema().safeParse(await jsonOf(open, 'status.json'));
  if (!status.success || status.data.failure_class === 'cancelled') return open;
  const { outcome, failure_reason: reason, context_updates: updates } = status.data;
  return { dir, ended: outcome === 'fail' ? 'failed' : 'done', reason, updates };
}

/** The latest execution is in the node's directory, earlier ones below it. */
async function dirOf(run: Layout, node: string, visit: number): Promise<string> {
  const dir = run.node(node);
  const stage = await readStage(dir);
  return stage === undefined || stage.visit === visit ? dir : join(nodeLayout(dir).visits, String(visit));
}

/** A text artifact of an execution, up to 16 MiB; undefined when there is none. */
export const textOf = (visit: Visit | undefined, name: string): Promise<string | undefined> =>
  visit === undefined ? Promise.resolve(undefined) : readSome(join(visit.dir, name), 16 * 1024 * 1024);

export async function jsonOf(visit: Visit | undefined, name: string): Promise<unknown> {
  const text = await textOf(visit, name);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    // An interrupted run may leave incomplete files.
    return undefined;
  }
}
