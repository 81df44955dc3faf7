/** What `show` prints of a run is what its view says, from fewer of its records. */
import { cpSync, existsSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { readEvents, readLatestEvents } from '../../../src/app/inspect/event-history.ts';
import { executionStandings } from '../../../src/app/inspect/executions.ts';
import { readOverview } from '../../../src/app/inspect/overview.ts';
import { readForViews } from '../../../src/app/inspect/read-run.ts';
import { inspectRun } from '../../../src/app/inspect/run.ts';
import { realClock } from '../../../src/platform/clock.ts';
import { JournalLines } from '../../../src/run/journal-lines.ts';
import { RunReader } from '../../../src/run/open-run.ts';
import { house } from '../../support/house.ts';

const loop = (after: string) => `digraph g { workdir="none"; start; exit
  count [type=tool, tool_command="echo x >> n; test $(wc -l < n) -lt 6"]
  again [type=tool, tool_command="echo no >&2; exit 1"]
  start -> count; count -> again [condition="outcome=success"]; again -> count [condition="outcome=fail"]
  ${after} }`;
const rest = 'rest [type=tool, tool_command="echo > begun; sleep 60"]';
const pipelines = {
  'completed.dot': loop('count -> exit [condition="outcome=fail"]'),
  'failed.dot': loop('count -> exit [condition="outcome=retry"]'),
  'interrupted.dot': loop(`${rest}; count -> rest [condition="outcome=fail"]; rest -> exit`),
  'branches.dot': `digraph g { workdir="none"; start; exit; fan [shape=component]; a [type=tool, tool_command="exit 1"]
    b [type=tool, tool_command="true"]; join [shape=tripleoctagon, join_policy=all_success]
    start -> fan; fan -> a; fan -> b; a -> join [condition="outcome=fail || outcome=success"]; b -> join
    join -> exit [condition="outcome=success"] }`,
};
/** `killed` has lost the line of its stop; `twice` was interrupted again after a resume. */
const ids = ['completed', 'failed', 'interrupted', 'killed', 'twice', 'branches'] as const;

let it: Awaited<ReturnType<typeof house>>;
const dirOf = (id: string) => join(it.path, '.factory/runs', id);
const fileOf = (id: string, name: string) => join(dirOf(id), name);
const host = () => ({ cwd: it.path, clock: { ...realClock, now: () => new Date('2100-01-01') } });

beforeAll(async () => {
  it = await house(pipelines);
  for (const id of ['completed', 'failed', 'branches']) await it.run(`${id}.dot`, { runId: id, quiet: true });
  for (const id of ['interrupted', 'twice'])
    await it.runUntil('interrupted.dot', { runId: id, quiet: true }, () =>
      existsSync(fileOf(id, 'workspace/begun')),
    );
  await it.resume('twice', {}, (line) => line.includes('rest'));
  cpSync(dirOf('interrupted'), dirOf('killed'), { recursive: true });
  const { length } = it.read('.factory/runs/killed/journal.jsonl').trimEnd().split('\n').at(-1) ?? '';
  truncateSync(
    fileOf('killed', 'journal.jsonl'),
    statSync(fileOf('killed', 'journal.jsonl')).size - length - 1,
  );
});
afterAll(() => it[Symbol.asyncDispose]());

test.for(ids)('the overview of a run that is %s has what its view has', async (id) => {
  const [overview, view] = [await readOverview(dirOf(id), host()), await inspectRun(dirOf(id), host())];
  if ('problems' in overview || 'problems' in view) throw new Error('a run cannot be read');
  const { manifest, nodes, steps, groups, ...facts } = overview;
  expect(nodes).toEqual(view.nodes.map(({ sandbox, ...row }) => row));
  expect(facts).toEqual(Object.fromEntries(Object.keys(facts).map((key) => [key, view[key as never]])));
});

test.for(ids)('of a run that is %s any end of its events tells how each node stands', async (id) => {
  const run = await readForViews(dirOf(id), host());
  if ('problems' in run) throw new Error('the run cannot be read');
  const { reader, history, row } = run;
  const facts = {
    history,
    graph: undefined,
    withheld: () => false,
    status: row.status,
    now: host().clock.now(),
  };
  const all = executionStandings({ ...facts, events: await readEvents(reader) });
  const { size } = statSync(fileOf(id, 'events.jsonl'));
  for (const bytes of [100, 400, 1000, 2000, size - 1, size]) {
    const events = await readLatestEvents(reader, history, bytes);
    expect(executionStandings({ ...facts, events })).toEqual(all);
  }
});

test.for(ids)(
  'for the overview of a run that is %s one reader reads its journal, and none its trace',
  async (id) => {
    using journal = vi.spyOn(JournalLines.prototype, 'read');
    using views = vi.spyOn(RunReader.prototype, 'view');
    await readOverview(dirOf(id), host());
    expect(new Set(journal.mock.contexts).size).toBe(1);
    expect(new Set(views.mock.calls.map(([name]) => name))).toEqual(new Set(['events']));
  },
);

test('of long events only the end is read, unless an unfinished execution began more than once', async () => {
  const read = async (id: string) => {
    const run = await readForViews(dirOf(id), host());
    if ('problems' in run) throw new Error('the run cannot be read');
    return (await readLatestEvents(run.reader, run.history, 1000)).of.size < run.events.of.size;
  };
  expect(await Promise.all(ids.map(read))).toEqual([true, true, true, true, false, true]);
});
