/** The journals of a run, line by line: whole, in order, and as long as somebody vouches for. */
import { stat } from 'node:fs/promises';
import type { JsonObject } from '../model/json.ts';
import type { Mark } from '../model/mark.ts';
import { linkOf } from '../store/chain.ts';
import { beginning, type Cursor, readJournal } from '../store/journal-read.ts';
import { isCode, isMissing } from '../system/files.ts';
import type { Findings } from './report.ts';

/** A record in what the checks of other files need of it. */
export type Fact = {
  readonly seq: number;
  readonly epoch: number;
  readonly type: string;
  readonly node: string;
  readonly visit: number;
  readonly outcome: string;
  readonly signal: string;
};

export type ReadFacts = {
  readonly facts: readonly Fact[];
  /** After each of them, the hash of all so far. */
  readonly hashes: readonly string[];
  /** Bytes behind the last whole record. */
  readonly torn: number;
};

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const number = (value: unknown): number => (typeof value === 'number' ? value : 0);

const factOf = (record: JsonObject): Fact => ({
  seq: number(record['seq']),
  epoch: number(record['epoch']),
  type: text(record['type']),
  node: text(record['node_id']) || text(record['node']),
  visit: number(record['visit']),
  outcome: record['type'] === 'StageFailed' ? 'fail' : text(record['outcome']),
  signal: text(record['signal']),
});

/** Reads the journal at `path`, called `where` in the report, and says what no writer of ours leaves: damaged lines,
 *  gaps, repeats, records of another run. */
export async function readFacts(
  path: string,
  where: string,
  runId: string,
  found: Findings,
  each: (record: JsonObject) => void = () => {},
): Promise<ReadFacts> {
  const facts: Fact[] = [];
  const hashes: string[] = [];
  let end = 0;
  let unread = 0;
  const late = ({ line, epoch, offset }: Cursor) => {
    end = offset;
    if (Number.isInteger(epoch) && epoch > 0) unread += 1;
    else found.add('added', where, `line ${line} is of no owner of the run`, { is: `epoch ${epoch}` });
  };
  for await (const entry of readJournal(path, beginning, late)) {
    const { line, offset } = entry.cursor;
    end = offset;
    if (entry.kind === 'unreadable') {
      found.add('changed', where, `line ${line} is damaged: it ${entry.why}`);
      continue;
    }
    const fact = factOf(entry.record);
    for (let last = facts.at(-1); last !== undefined && supersedes(fact, last); last = facts.at(-1)) {
      facts.pop();
      hashes.pop();
      unread += 1;
    }
    const before = facts.at(-1);
    if (fact.seq !== (before?.seq ?? 0) + 1)
      found.add('changed', where, `line ${line} is out of order: lines are missing, added or moved`, {
        should: `number ${(before?.seq ?? 0) + 1}`,
        is: `number ${fact.seq}`,
      });
    if (entry.record['run_id'] !== runId)
      found.add('changed', where, `line ${line} is another run's`, {
        should: runId,
        is: text(entry.record['run_id']),
      });
    facts.push(fact);
    hashes.push(linkOf(hashes.at(-1) ?? '', entry.bytes));
    each(entry.record);
  }
  // Nobody can tell what an owner that was taken over had to say.
  if (unread > 0)
    found.cannot(
      `${unread} ${unread === 1 ? 'line' : 'lines'} of ${where} that an owner wrote while a later one had the run: readers leave them out, and nobody vouches for them`,
    );
  const size = await stat(path).then(
    (is) => is.size,
    (error: unknown) => {
      if (isMissing(error) || isCode(error, 'ELOOP')) return undefined;
      throw error;
    },
  );
  return { facts, hashes, torn: Math.max(0, (size ?? 0) - end) };
}

const supersedes = (later: Fact, earlier: Fact): boolean =>
  later.epoch > earlier.epoch && later.seq <= earlier.seq;

/** Holds a journal against what `by` vouches for. */
export function checkMark(
  read: Pick<ReadFacts, 'hashes'>,
  where: string,
  mark: Mark,
  by: string,
  found: Findings,
): boolean {
  const { records, sha256 } = mark;
  if (read.hashes.length < records) {
    found.add('missing', where, `records are missing: ${by} counts more of them`, {
      should: `${records} records`,
      is: `${read.hashes.length} records`,
    });
    return false;
  }
  const is = records === 0 ? '' : (read.hashes[records - 1] ?? '');
  if (is === sha256) return true;
  found.add(
    'changed',
    where,
    `a line among the first ${records} is not what was written there, as ${by} knows them`,
    { should: sha256, is },
  );
  return false;
}
