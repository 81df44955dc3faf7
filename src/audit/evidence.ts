/** The texts that agents of a run read and wrote, from the run directory. Read-only. */
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Exchange } from '../model/exchange.ts';
import { exchangesLayout, layout, nodeLayout, reservedNodeIds } from '../model/layout.ts';
import type { RunRecord } from '../model/visit-record.ts';
import { bodiesOf, DamagedExchange, readBody, readExchanges } from '../store/exchanges.ts';
import { isFolder, namesIn, readPlainBytes } from '../system/read.ts';

export type Evidence = {
  readonly node: string;
  readonly visit: number;
  /** Relative to the run directory. */
  readonly where: string;
  readonly text: Buffer;
};

/** Files of the engine in a node's folder, whose content is not an agent's or is stored elsewhere too. */
const own = new Set(['stage.json', 'context.json', 'workspace.diff.json', 'status.json', 'budget.json']);

/** The most bytes that are read of one artifact. */
const largest = 256 * 1024 * 1024;

/** Prompts, answers and transcripts in the folders of the nodes accepted by `isAgent`, by execution. */
export async function* artifacts(
  runDir: string,
  isAgent: (node: string) => boolean,
): AsyncGenerator<Evidence> {
  for (const node of foldersIn(runDir)) {
    if (reservedNodeIds.includes(node) || node.startsWith('.') || !isAgent(node)) continue;
    const dir = layout(runDir).node(node);
    const { visits, stage } = nodeLayout(dir);
    const earlier = foldersIn(visits);
    for (const nth of earlier) yield* inFolder(join(visits, nth), `${node}/visits/${nth}`, node, Number(nth));
    const visit = await visitOf(stage);
    if (visit !== undefined) yield* inFolder(dir, node, node, visit);
  }
}

async function visitOf(stage: string): Promise<number | undefined> {
  const text = await readIfThere(stage);
  const visit = /"visit":\s*(\d+)/.exec(text?.toString('utf8') ?? '')?.[1];
  return visit === undefined ? undefined : Number(visit);
}

async function* inFolder(dir: string, shown: string, node: string, visit: number): AsyncGenerator<Evidence> {
  for (const entry of await readdir(dir, { withFileTypes: true })) {
    if (!entry.isFile() || own.has(entry.name)) continue;
    const text = await readIfThere(join(dir, entry.name));
    if (text === undefined) continue;
    yield { node, visit, where: `${shown}/${entry.name}`, text };
  }
}

/** The recorded texts of each agent call: prompt, requests, stream, answer, artifacts. `damaged` is called with a
 *  sentence for unreadable ones. */
export async function* recorded(
  runDir: string,
  damaged: (why: string) => void,
): AsyncGenerator<Evidence | Exchange> {
  const dir = layout(runDir).exchanges;
  const read = await readExchanges(dir);
  if (!read.ok) {
    if (!read.missing) damaged(read.why);
    return;
  }
  const shown = basename(dir);
  const file = basename(exchangesLayout(dir).calls);
  for (const [index, { exchange }] of read.exchanges.entries()) {
    yield exchange;
    for (const body of bodiesOf(exchange)) {
      const where =
        typeof body === 'string'
          ? `${shown}/${file}:${index + 1}`
          : `${shown}/bodies/${body.sha256.slice(0, 12)}…`;
      try {
        const text = Buffer.from(await readBody(dir, body));
        yield { node: exchange.node, visit: exchange.visit, where, text };
      } catch (error) {
        if (!(error instanceof DamagedExchange)) throw error;
        damaged(error.message);
      }
    }
    // The command line of a program, and the attributes it comes from.
    const acts = JSON.stringify([exchange.actions, exchange.artifacts.map(({ name }) => name)]);
    yield {
      node: exchange.node,
      visit: exchange.visit,
      where: `${shown}/${file}:${index + 1}`,
      text: Buffer.from(acts),
    };
  }
}

/** Context updates of agents, and failure reasons of their nodes. */
export function* updates(
  records: readonly RunRecord[],
  isAgent: (node: string) => boolean,
): Generator<Evidence> {
  for (const record of records) {
    if (record.type !== 'Visit' || !isAgent(record.node)) continue;
    const { outcome } = record;
    const said = { updates: outcome.updates, notes: outcome.notes, reason: reasonIn(outcome) };
    yield {
      node: record.node,
      visit: record.visit,
      where: 'journal.jsonl',
      text: Buffer.from(JSON.stringify(said)),
    };
  }
}

const reasonIn = (outcome: object): unknown => ('reason' in outcome ? outcome.reason : '');

/** The names of the folders in `dir`, sorted. */
const foldersIn = (dir: string): string[] =>
  namesIn(dir)
    .filter((name) => isFolder(join(dir, name)))
    .sort();

const readIfThere = async (path: string): Promise<Buffer | undefined> => {
  const read = readPlainBytes(path, largest, 'cut');
  return read.kind === 'text' ? read.text : undefined;
};
