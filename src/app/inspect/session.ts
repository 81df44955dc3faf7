/** The session of an agent in one execution: its turns, what it said and called, tokens, cost and times. While it works, from the file
 *  that grows; then from its records. */
import { join, relative } from 'node:path';
import { costOf, type Prices, pricesOf } from '../../core/budget/prices.ts';
import { sumOfUsages, type Usage } from '../../core/budget/usage.ts';
import type { Environment } from '../../core/contracts/process.ts';
import type { Refusal } from '../../core/diagnostic.ts';
import { masker } from '../../core/policy/mask.ts';
import { textsToMask } from '../../core/policy/secrets.ts';
import { layout, nodeLayout } from '../../core/records/layout.ts';
import { type FoldedSession, type SessionItem, sessionOf } from '../../core/session.ts';
import { assertNoLinkAbove } from '../../platform/files/inside.ts';
import { cutText, liveSessionOf } from '../../run/live-sessions.ts';
import { areMasked } from './execution.ts';
import { folderOf } from './folder.ts';
import { type InspectedRun, readForViews } from './read-run.ts';
import type { InspectHost } from './rows.ts';
import { findExecution } from './run.ts';
import { type RecordedSession, recordedIn } from './session-records.ts';
import type { Session, ShownItem, ShownTurn } from './session-shape.ts';

export type SessionQuery = {
  /** The number of the first item. */
  readonly from?: number | undefined;
  readonly limit?: number | undefined;
  /** Only this item, with its whole texts. */
  readonly item?: number | undefined;
  /** With whole texts. */
  readonly whole?: true;
  /** Words that items are sought for. */
  readonly words?: string | undefined;
};

type Row = InspectedRun['executions'][number];

/** Characters of a text in a list of items, and of one that was asked for alone. */
const [mostInList, mostAlone] = [4096, 2 * 1024 * 1024];

/** The session of the execution `visit` of `node`, by default the latest; or why there is none. Secrets of `env` are masked. */
export async function inspectSession(
  dir: string,
  node: string,
  visit: number | undefined,
  host: InspectHost & { readonly env: Environment },
  query: SessionQuery = {},
): Promise<Session | Refusal> {
  const run = await readForViews(dir, host);
  if ('problems' in run) return run;
  const row = findExecution(run.executions, node, visit);
  if ('problems' in row) return row;
  const withheld = run.withheld(row.node);
  const recorded = withheld ? { source: 'none' as const, lines: [] } : await recordOf(run, row);
  const session = sessionOf(recorded.lines, row.state !== 'running');
  const turns = turnsOf(session, row, pricesOf(run.manifest));
  return {
    ...shown(session, row, turns, recorded.source),
    ...itemsOf(session, turns, masker(textsToMask(host.env)), query),
    withheld,
  };
}

/** What grows while it works, or is left of an owner that was killed; else the records in its folder, once they are masked. */
async function recordOf(run: InspectedRun, row: Row): Promise<RecordedSession> {
  const isWhole = areMasked(row.state, run.row.status);
  if (!isWhole) {
    assertNoLinkAbove(run.dir, relative(run.dir, join(layout(run.dir).sessions, row.node)));
    return { source: 'live', lines: liveSessionOf(run.dir, row) ?? [] };
  }
  const folder = await folderOf(run.dir, row);
  // A node can put links in its folder, to files that it cannot read itself: none is followed.
  assertNoLinkAbove(run.dir, relative(run.dir, nodeLayout(folder).prompt));
  const visit = run.history.records.find(
    (one) => one.type === 'Visit' && one.node === row.node && one.visit === row.visit,
  );
  const asked = run.history.exchanges.findLast((one) => one.node === row.node && one.visit === row.visit);
  const by = visit?.type === 'Visit' ? visit.outcome.by?.agent : undefined;
  return recordedIn(folder, { agent: by ?? asked?.agent.name, model: row.usage?.model });
}

function shown(
  session: FoldedSession,
  row: Row,
  turns: readonly ShownTurn[],
  source: RecordedSession['source'],
): Omit<Session, 'turns' | 'items' | 'withheld'> {
  const { agent, model, first_ms, items } = session;
  const calls = items.flatMap(({ call }) => (call === null ? [] : [call]));
  const known = turns.flatMap(({ usage, cost_usd }) => (usage === null ? [] : [{ usage, cost_usd }]));
  const soFar = known.reduce<Usage | undefined>((sum, { usage }) => sumOfUsages(sum, usage), undefined);
  const { node, visit, state, attempts } = row;
  return {
    schema_version: 1,
    ...{ node, visit, state, attempts, source, agent, model, first_ms },
    usage: row.usage ?? soFar ?? null,
    cost_usd: row.usage === null && soFar !== undefined ? sumOfCosts(known) : row.cost_usd,
    counts: {
      turns: turns.length,
      calls: calls.length,
      failed: calls.filter(({ state }) => state === 'failed').length,
      items: items.length,
    },
  };
}

const sumOfCosts = (turns: readonly Pick<ShownTurn, 'cost_usd'>[]): number | null =>
  turns.reduce<number | null>(
    (sum, { cost_usd }) => (sum === null || cost_usd === null ? null : sum + cost_usd),
    0,
  );

/** What the turns used. A single one used what its execution did; a program that continues a conversation reports more. */
function turnsOf(session: FoldedSession, row: Row, prices: Prices): readonly ShownTurn[] {
  const isOnly = session.turns.length === 1 && row.attempts === 1 && row.usage !== null;
  return session.turns.map((turn) => {
    const usage = isOnly ? row.usage : turn.usage;
    return { ...turn, usage, cost_usd: usage === null ? null : costOf(usage, prices) };
  });
}

function itemsOf(
  session: FoldedSession,
  all: readonly ShownTurn[],
  mask: (text: string) => string,
  { from = 0, limit = 10_000, item, whole, words = '' }: SessionQuery,
): Pick<Session, 'turns' | 'items' | 'found'> {
  const first = item ?? from;
  const most = item === undefined && whole === undefined ? mostInList : mostAlone;
  const end = item === undefined ? first + limit : first + 1;
  const items = session.items
    .slice(first, end)
    .map((one, at) => itemShown(masked(one, mask), first + at, most));
  const [least = 0, last = 0] = [items[0]?.turn, items.at(-1)?.turn];
  // The latest turn may have nothing yet.
  const isLast = end >= session.items.length;
  const turns = all.filter(({ number }) => number >= least && (isLast || number <= last));
  const sought = words.toLowerCase();
  if (sought === '') return { turns, items };
  const found = session.items.flatMap((one, number) => (has(masked(one, mask), sought) ? [number] : []));
  return { turns, items, found };
}

const masked = (item: SessionItem, mask: (text: string) => string): SessionItem => ({
  ...item,
  text: mask(item.text),
  call: item.call && {
    ...item.call,
    ...{ arguments: mask(item.call.arguments), output: mask(item.call.output) },
  },
});

const has = ({ text, call }: SessionItem, sought: string): boolean =>
  [text, call?.name, call?.arguments, call?.output].some((one) => one?.toLowerCase().includes(sought));

/** Texts are masked before they are cut: no part of a secret is left at a cut. */
function itemShown({ call, ...item }: SessionItem, number: number, most: number): ShownItem {
  const { arguments: given = '', output = '' } = call ?? {};
  const texts = [item.text, given, output];
  return {
    number,
    ...item,
    text: cutText(item.text, most),
    call: call && {
      ...call,
      arguments: cutText(given, most),
      output: cutText(output, most),
      output_lines: output === '' ? 0 : output.trimEnd().split('\n').length,
    },
    cut: texts.some(({ length }) => length > most),
  };
}
