/** Stops a loop in which agents work and nothing comes of it: the same failure again, and nothing that counts has changed
 *  in between. */
import { isAbsolute, join } from 'node:path';
import { graphAttributes } from '../lint/words.ts';
import { readAttributes } from '../model/attribute.ts';
import type { Alike } from '../model/attribution.ts';
import type { RunState } from '../model/checkpoint.ts';
import type { Graph, Node } from '../model/graph.ts';
import { nodeLayout } from '../model/layout.ts';
import type { Failure, Outcome } from '../model/outcome.ts';
import { own } from '../model/own.ts';
import { kindOf } from '../model/resolve.ts';
import { modelsOf } from '../nodes/escalation.ts';
import type { NodeKind } from '../nodes/kind.ts';
import { judgingAttributes } from '../nodes/kind.ts';
import { leadsTo, loopOf } from '../policy/loops.ts';
import { isRelevant, type Signature, signatureOf } from '../policy/signature.ts';
import { mostAtOnce, readSome } from '../system/read.ts';
import { diff } from '../workspace/changes.ts';
import { type Ignore, readIgnore } from '../workspace/ignore.ts';
import type { Snapshot } from '../workspace/snapshot.ts';

/** Failures alike that stop a loop when nobody says otherwise. */
const usual = 3;
const mostVisits = 10;
/** Bytes of the end of each stream that tell one failure from another. */
const mostRead = 32_768;

/** A visit of a node that judges, as the loop sees it. */
export type Judged = {
  readonly node: Node;
  readonly nodeDir: string;
  readonly workspace: string;
  /** Of the environment that stages are given: where what they print may name other files each time. */
  readonly temporary?: string | undefined;
  readonly visit: number;
  /** Its number among all visits of the run. */
  readonly step: number;
  readonly outcome: Outcome;
  readonly before: Snapshot;
  readonly after: Snapshot;
};

/** How the failures of the node stand after this visit: null when they have ended, undefined when they are as before.
 *  `snapshotOf` gives a snapshot that was taken earlier; what cannot be compared counts as a change. */
export async function alikeAfter(
  kind: string,
  state: Pick<RunState, 'alike' | 'agent_step'>,
  judged: Judged,
  snapshotOf: (id: string) => Promise<Snapshot>,
): Promise<Alike | null | undefined> {
  if (kind !== 'tool' && kind !== 'verification') return undefined;
  const { node, outcome, visit, step, after } = judged;
  const earlier = own(state.alike ?? {}, node.id);
  if (outcome.status !== 'fail') return earlier === undefined ? undefined : null;
  const signature = await signed(judged, kind, outcome);
  const once = {
    signature: signature.id,
    head: signature.head,
    count: 1,
    visits: [visit],
    step,
    after: after.id,
  };
  if (earlier === undefined || earlier.signature !== signature.id) return once;
  if (await changed(earlier.after, judged, snapshotOf)) return once;
  // Nobody has tried to mend it: what asks again and again by itself waits for something.
  if ((state.agent_step ?? -1) < earlier.step) return undefined;
  return {
    ...once,
    count: earlier.count + 1,
    visits: [...earlier.visits, visit].slice(-mostVisits),
  };
}

/** Why the loop that `next` leads back into is over, or undefined. */
export function loopStopped(
  graph: Graph,
  kinds: readonly NodeKind[],
  node: Node,
  next: string,
  alike: Alike | null | undefined,
): string | undefined {
  if (alike == null || !leadsTo(graph, next, node.id)) return undefined;
  const most = breakerOf(graph, kinds, node, next);
  if (most === 0 || alike.count < most) return undefined;
  const more = alike.count > alike.visits.length ? '…, ' : '';
  return `loop_stopped: node ${node.id} failed alike ${alike.count} times with no change in between (visits ${more}${alike.visits.join(', ')}): ${alike.head}`;
}

/** How many failures alike stop the loop; 0 for none. Where nobody says it and an agent of the loop goes through several
 *  models, each of them has its try. */
function breakerOf(graph: Graph, kinds: readonly NodeKind[], node: Node, next: string): number {
  const said =
    readAttributes(node.attrs, judgingAttributes).values.breaker ??
    readAttributes(graph.attrs, graphAttributes).values.breaker;
  if (said !== undefined) return said;
  const ladders = loopOf(graph, next, node.id).map((id) => {
    const one = graph.nodes.get(id);
    return one !== undefined && kindOf(one, kinds)?.type === 'codergen' ? modelsOf(one).length + 1 : 0;
  });
  return Math.max(usual, ...ladders);
}

async function changed(
  from: string,
  judged: Pick<Judged, 'before' | 'workspace'>,
  snapshotOf: (id: string) => Promise<Snapshot>,
): Promise<boolean> {
  const { before: to } = judged;
  if (from === to.id) return false;
  const earlier = await snapshotOf(from).catch(() => undefined);
  if (earlier === undefined) return true;
  const { created, modified, deleted, folders } = diff(earlier, to);
  const counted = [
    ...[created, modified, deleted].flatMap((paths) => paths.map((path) => ({ path, folder: false }))),
    ...[folders.created, folders.modified, folders.deleted].flatMap((paths) =>
      paths.map((path) => ({ path, folder: true })),
    ),
  ].filter(({ path }) => isRelevant(path));
  if (counted.length === 0) return false;
  const ignored = await ignoredBy(judged);
  return counted.some(({ path, folder }) => !ignored(path, folder));
}

/** What the product's own `.gitignore` leaves out: the files that its builds and tests make. */
async function ignoredBy({ before, workspace }: Pick<Judged, 'before' | 'workspace'>): Promise<Ignore> {
  if (before.tree.get('.gitignore')?.kind !== 'file') return () => false;
  const out = readIgnore((await readSome(join(workspace, '.gitignore'), mostRead)) ?? '');
  return (path, folder) =>
    out(path, folder) || [...path.matchAll(/\//g)].some(({ index }) => out(path.slice(0, index), true));
}

async function signed(judged: Judged, kind: string, failure: Failure): Promise<Signature> {
  const { node, nodeDir, temporary = '' } = judged;
  const at = nodeLayout(nodeDir);
  const texts =
    kind === 'tool'
      ? await Promise.all([tail(at.toolStdout), tail(at.toolStderr)])
      : await lastResult(at.verificationResults);
  return signatureOf({
    node: node.id,
    class: failure.class,
    command: failure.command ?? '',
    reason: failure.reason,
    output: texts.join('\n'),
    temporary: isAbsolute(temporary) ? temporary : '',
  });
}

/** The end of a file, from the beginning of a line on: where it is cut depends on the length of every number in it. */
async function tail(path: string): Promise<string> {
  const text = (await readSome(path, mostRead, 'tail')) ?? '';
  return Buffer.byteLength(text) < mostRead ? text : text.slice(text.indexOf('\n') + 1);
}

async function lastResult(path: string): Promise<string[]> {
  const text = await readSome(path, mostAtOnce);
  if (text === undefined) return [];
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return [];
  }
  if (typeof value !== 'object' || value === null || !('commands' in value) || !Array.isArray(value.commands))
    return [];
  const last: unknown = value.commands.at(-1);
  return typeof last !== 'object' || last === null
    ? []
    : Object.entries(last).flatMap(([key, said]) =>
        (key === 'stdout' || key === 'stderr') && typeof said === 'string' ? [said] : [],
      );
}
