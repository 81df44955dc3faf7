/** The views of a run that is killed, torn and resumed: whole at the end, and read once. */
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { nothingSpent } from '../../src/core/budget/usage.ts';
import { layout } from '../../src/core/records/layout.ts';
import { removeTree } from '../../src/platform/files/remove.ts';
import { beginning, type JournalPosition, readJournal } from '../../src/run/journal-read.ts';
import { openRun } from '../../src/run/open-run.ts';
import { rebuildViews } from '../../src/run/rebuild.ts';
import { openRunJournal } from '../../src/run/run-journal.ts';
import { verifyRun } from '../../src/verify/index.ts';
import { house } from '../support/house.ts';

const pipeline = `digraph e { workdir="none"; start [shape=Mdiamond]; done [shape=Msquare]
  a [shape=parallelogram, tool_command="true"]
  b [shape=parallelogram, max_visits=4, tool_command="test $FACTORY_VISIT = 3"]
  start -> a -> b; b -> a [condition="outcome=fail"]; b -> done [condition="outcome=success"] }`;
const input = () => ({ node_type: '', node_shape: 'box', node_attrs: {}, workspace: '/w' });
const views = ['events', 'trace'] as const;

let it: Awaited<ReturnType<typeof house>>;
let recorded: string;
let copies: string;
beforeAll(async () => {
  it = await house({ 'p.dot': pipeline }, () => ({ FACTORY_SANDBOX: 'none' }));
  expect((await it.run('p.dot', { runId: 'r' })).code).toBe(0);
  recorded = join(it.path, '.factory/runs/r');
  copies = realpathSync(mkdtempSync(join(tmpdir(), 'views-')));
}, 60_000);
afterAll(async () => {
  await removeTree(copies);
  await it[Symbol.asyncDispose]();
});

const linesOf = (path: string): string[] => readFileSync(path, 'utf8').split(/(?<=\n)/);

/** A copy of the recorded run as it was after the first `count` lines of its journal, with all that its views had then. */
let made = 0;
function stoppedAfter(count: number): string {
  const dir = join(copies, String(made++));
  mkdirSync(dir);
  cpSync(layout(recorded).manifest, layout(dir).manifest);
  writeFileSync(layout(dir).journal, linesOf(layout(recorded).journal).slice(0, count).join(''));
  for (const view of views) {
    const kept = linesOf(layout(recorded)[view]).filter((line) => JSON.parse(line).line <= count);
    writeFileSync(layout(dir)[view], kept.join(''));
  }
  return dir;
}

/** An owner that brings the views up to date, and resumes the run. */
async function owner(dir: string, epoch: number): Promise<void> {
  const history = openRun(dir).history();
  const read = await openRun(dir).manifest();
  if (!history.ok || !read.ok) throw new Error('unreadable');
  const about = { runId: 'r', epoch };
  const { events, trace } = await rebuildViews({ manifest: read.manifest, history }, about, {
    runDir: dir,
    input,
  });
  const journal = await openRunJournal(dir, { ...about, sync: false }, history);
  const { at, elapsed_ms, snapshot, spent = nothingSpent } = history.checkpoint;
  const resumed = { type: 'Resumed', at, elapsed_ms, spent, snapshot: snapshot ?? '' } as const;
  await journal.commit({ ...resumed, manifest_sha256: history.manifestSha256 }, history.checkpoint);
  const line = journal.mark().records;
  trace.append({ schema_version: 1, type: 'SessionInitialized', at }, line);
  events.append({ schema_version: 1, type: 'PipelineStarted', at, agent: 'none', resumed: true }, line);
  await journal.close();
  for (const one of [events, trace]) one.close();
}

/** Follows a view from where it has read. */
function reader(path: string) {
  let cursor: JournalPosition = beginning;
  const seqs: number[] = [];
  return {
    seqs,
    cursor: () => cursor,
    async read() {
      for await (const entry of readJournal(path, cursor)) {
        cursor = entry.cursor;
        if (entry.kind === 'record') seqs.push(Number(entry.record['seq']));
      }
    },
  };
}

/** The records that the journal gives, without what only a running engine knows. */
const given = (path: string): unknown[] =>
  linesOf(path)
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
    .filter(({ type }) => !/^(?:PipelineStarted|SessionInitialized|ResumeLoaded)$/.test(type))
    .map(({ type, at, node_id, visit, from_node, line }) => ({ type, at, node_id, visit, from_node, line }));

const problemsOf = async (dir: string) =>
  (await verifyRun({ runDir: dir, env: {} })).problems.filter(({ where }) =>
    /^(?:journal|events|trace)\.jsonl$/.test(where),
  );

test('whatever is missing of the views after a kill is there again, wherever each was torn, and a reader sees each record once', async () => {
  const whole = linesOf(layout(recorded).journal).length - 1;
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: whole }),
      fc.array(
        fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true })),
        {
          minLength: 1,
          maxLength: 5,
        },
      ),
      async (count, tears) => {
        const dir = stoppedAfter(count);
        const readers = views.map((view) => reader(layout(dir)[view]));
        for (const [n, tear] of tears.entries()) {
          for (const [of, view] of views.entries()) {
            const path = layout(dir)[view];
            const read = readers[of]?.cursor().offset ?? 0;
            const size = readFileSync(path).length;
            // A kill takes nothing that was written: no reader has seen what is torn.
            truncateSync(path, Math.round(read + (size - read) * (tear[of] ?? 0)));
          }
          await owner(dir, n + 2);
          if (n % 2 === 1) for (const one of readers) await one.read();
        }
        expect(await problemsOf(dir)).toEqual([]);
        for (const [of, view] of views.entries()) {
          const path = layout(dir)[view];
          const should = given(layout(recorded)[view]).filter(
            (record) => (record as { line: number }).line <= count,
          );
          expect(given(path)).toEqual(should);
          await readers[of]?.read();
          const { seqs = [] } = readers[of] ?? {};
          expect(seqs).toEqual(
            linesOf(path)
              .filter((line) => line !== '')
              .map((_, at) => at + 1),
          );
        }
      },
    ),
    { numRuns: 40 },
  );
}, 120_000);
