/** Which rows a worker takes. One claim in the database at a time, so that no label has more jobs than its cap. */
import type { ClaimRequest } from '../core/contracts/job-queue.ts';
import type { Boss, Statements } from './pg-boss.ts';
import { inTransaction } from './postgres-connection.ts';
import * as rows from './postgres-rows.ts';

/** Priorities of rows that a worker is about to take over: above those of jobs. */
const above = 10_000;

/** A row that pg-boss has given to this worker. */
export type FetchedRow = {
  readonly id: string;
  readonly data: rows.RowData;
  readonly retryCount: number;
  readonly startedOn: Date;
  readonly groupId: string | null;
};

type ClaimPlace = {
  readonly boss: Boss;
  readonly schema: string;
  readonly name: string;
  readonly worker: string;
};

/** The queue was changed between two statements of a claim: it begins again. */
class ChangedMeanwhile extends Error {}
const mostTries = 5;

/** Jobs that are due and that no worker has had, for as many places as there are. */
export async function claimed(place: ClaimPlace, request: ClaimRequest): Promise<readonly FetchedRow[]> {
  const { rows: due } = await place.boss.getDb().executeSql(rows.anyDue(place.schema), [place.name]);
  if (due[0]?.['found'] !== true) return [];
  for (let tries = 0; tries < mostTries; tries++) {
    try {
      return await claimOnce(place, request);
    } catch (error) {
      if (!(error instanceof ChangedMeanwhile)) throw error;
    }
  }
  return [];
}

const claimOnce = (
  { boss, schema, name, worker }: ClaimPlace,
  request: ClaimRequest,
): Promise<readonly FetchedRow[]> =>
  inTransaction(boss, async (db) => {
    await db.executeSql(rows.lockOf(schema, 'claims'));
    const groups = await groupsFor(db, schema, name, request);
    const leaves = [...request.leaves];
    const { rows: passing } = await db.executeSql(rows.anyPassed(schema), [name, leaves]);
    const fetchAll = () => fetchDue(boss, name, db, request.most, groups);
    const fetched =
      passing[0]?.['found'] === true
        ? await inTransaction(boss, async (other) => {
            await other.executeSql(rows.lockPassed(schema), [name, leaves]);
            return fetchAll();
          })
        : await fetchAll();
    if (fetched.length === 0) return [];
    // One that cannot be read is given back in a state in which no claim takes it.
    const unreadable = fetched.filter(({ data }) => rows.readData(data) === undefined);
    if (unreadable.length > 0) await boss.fail(name, unreadable, null, { db });
    const picked = fetched.filter((row) => !unreadable.includes(row)).sort(byClaim);
    await db.executeSql(rows.setWorker(schema), [name, picked.map(({ id }) => id), worker]);
    await db.executeSql(rows.tellOthers(schema));
    return picked;
  });

async function fetchDue(
  boss: Boss,
  name: string,
  db: Statements,
  most: number,
  groups: Groups,
): Promise<readonly FetchedRow[]> {
  const picked: FetchedRow[] = [];
  while (picked.length < most) {
    const batchSize = groups.count ? 1 : most - picked.length;
    const options = { db, batchSize, includeMetadata: true, ignoreGroups: groups.full() };
    const some = (await boss.fetch(name, options)) as unknown as readonly FetchedRow[];
    for (const { groupId, data } of some) {
      // Left by a dead worker, or submitted with labels that no worker had, since the looks above.
      if (data.worker !== undefined || (groupId !== null && groups.isFull(groupId)))
        throw new ChangedMeanwhile();
      if (groupId !== null) groups.add(groupId);
    }
    picked.push(...some);
    if (some.length < batchSize) break;
  }
  return picked;
}

const byClaim = ({ data: a }: FetchedRow, { data: b }: FetchedRow): number =>
  b.job.priority - a.job.priority || (a.order < b.order ? -1 : a.order > b.order ? 1 : 0);

/** Jobs that pg-boss has taken from silent workers. */
export const takenOver = (
  { boss, schema, name, worker }: ClaimPlace,
  request: ClaimRequest,
): Promise<readonly { readonly row: FetchedRow; readonly from: string }[]> =>
  inTransaction(boss, async (db) => {
    await db.executeSql(rows.lockOf(schema, 'claims'));
    const { rows: left } = await db.executeSql(rows.leftRows(schema), [name]);
    if (left.length === 0) return [];
    const groups = await groupsFor(db, schema, name, request);
    const chosen = chooseLeft(left as unknown as readonly LeftRow[], request, groups);
    if (chosen.length === 0) return [];
    for (const id of chosen) await boss.update(name, undefined, { id, priority: above, db });
    const options = { db, batchSize: chosen.length, includeMetadata: true, minPriority: above };
    const fetched = (await boss.fetch(name, options)) as unknown as readonly FetchedRow[];
    const picked = fetched.map((row) => {
      const { job, order, worker: from = '' } = row.data;
      const data = { job: { ...job, taken_over: (job.taken_over ?? 0) + 1 }, order, worker };
      return { row: { ...row, data }, from };
    });
    const data = picked.map(({ row }) => row.data);
    await db.executeSql(rows.setTakenOver(schema), [
      name,
      picked.map(({ row }) => row.id),
      data.map((one) => JSON.stringify(one)),
      data.map(({ job }) => job.priority),
    ]);
    await db.executeSql(rows.tellOthers(schema));
    return picked;
  });

type LeftRow = { readonly id: string; readonly data: rows.RowData; readonly group_id: string | null };

function chooseLeft(
  left: readonly LeftRow[],
  { most, leaves }: ClaimRequest,
  groups: Groups,
): readonly string[] {
  const chosen: string[] = [];
  for (const { id, data, group_id } of left) {
    const job = rows.readData(data)?.job;
    if (chosen.length === most || job === undefined || leaves.has(job.run_id)) continue;
    if (group_id !== null && groups.isFull(group_id)) continue;
    if (group_id !== null) groups.add(group_id);
    chosen.push(id);
  }
  return chosen;
}

type Groups = {
  /** Whether a claim can fill a group. */
  readonly count: boolean;
  add(group: string): void;
  isFull(group: string): boolean;
  full(): readonly string[];
};

/** Which combinations of labels are not for this worker now: foreign ones, and those of which enough run. */
async function groupsFor(
  db: Statements,
  schema: string,
  name: string,
  { labels, mostOfLabel }: ClaimRequest,
): Promise<Groups> {
  const count = Object.keys(mostOfLabel).length > 0;
  const running = new Map<string, number>();
  if (count || labels !== undefined) {
    const { rows: found } = await db.executeSql(rows.countGroups(schema), [name]);
    for (const { group_id, running: many } of found) running.set(String(group_id), Number(many));
  }
  const runningWith = (label: string) =>
    [...running].reduce((sum, [group, many]) => sum + (rows.labelsIn(group).includes(label) ? many : 0), 0);
  const isFull = (group: string) =>
    rows.labelsIn(group).some((label) => {
      const most = mostOfLabel[label];
      return labels?.includes(label) === false || (most !== undefined && runningWith(label) >= most);
    });
  return {
    count,
    add: (group) => void running.set(group, (running.get(group) ?? 0) + 1),
    isFull,
    full: () => [...running.keys()].filter(isFull),
  };
}
