/** What a run's attempts were, gathered from its directory: which visit of each stage belongs to which attempt. */
import { join } from 'node:path';
import type { Layout } from '../model/layout.ts';
import { nodeLayout } from '../model/layout.ts';
import { readRecords } from '../store/journal.ts';
import { readSome } from '../system/read.ts';
import { readStage } from '../engine/node-dir.ts';

/** How a visit ended; `open` when it did not. */
export type Visit = {
  readonly node: string;
  readonly dir: string;
  readonly ended: 'done' | 'failed' | 'open';
  readonly reason: string;
};
/** By node: `prompt`, `propose`, `apply`, `verify`, `promises`, `accept`, `commit`, `rollback`, `proof`. */
export type Attempt = { readonly index: number; readonly visits: ReadonlyMap<string, Visit> };

/** An attempt begins with each visit of `prompt`; a stage that a resume makes again replaces what was cut. */
export async function attemptsOf(run: Layout): Promise<Attempt[]> {
  const { records } = await readRecords(run.events);
  const attempts = new Map<number, Map<string, { visit: number; ended: Visit['ended']; reason: string }>>();
  let current = 0;
  for (const record of records) {
    const { type, node_id: node, visit } = record;
    if (typeof node !== 'string' || typeof visit !== 'number') continue;
    if (type === 'StageStarted') {
      if (node === 'prompt') {
        current = visit;
        attempts.set(current, new Map());
      }
      attempts.get(current)?.set(node, { visit, ended: 'open', reason: '' });
    } else if (type === 'StageCompleted') {
      attempts.get(current)?.set(node, { visit, ended: 'done', reason: '' });
    } else if (type === 'StageFailed') {
      const reason = typeof record['failure_reason'] === 'string' ? record['failure_reason'] : '';
      attempts.get(current)?.set(node, { visit, ended: 'failed', reason });
    }
  }
  const found: Attempt[] = [];
  for (const [index, nodes] of [...attempts].sort(([a], [b]) => a - b)) {
    const visits = new Map<string, Visit>();
    for (const [node, { visit, ended, reason }] of nodes) {
      visits.set(node, { node, dir: await dirOf(run, node, visit), ended, reason });
    }
    found.push({ index, visits });
  }
  return found;
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
