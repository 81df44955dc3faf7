/** What a row says of a pipeline, read without its graph. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { inspectRow } from '../../../src/app/inspect/rows.ts';
import type { RunRow } from '../../../src/app/inspect/run-row.ts';
import { runTitles } from '../../../src/app/inspect/title.ts';
import { realClock } from '../../../src/platform/clock.ts';
import { house } from '../../support/house.ts';

const read = vi.hoisted(() => ({ graphs: 0 }));
vi.mock('../../../src/dot/read.ts', async (original) => {
  const dot = await original<typeof import('../../../src/dot/read.ts')>();
  const readGraph: typeof dot.readGraph = (...words) => {
    read.graphs += 1;
    return dot.readGraph(...words);
  };
  return { ...dot, readGraph };
});

const pipeline = `digraph g { workdir="none"; label="Ship it"; start; exit
  work [type=tool, tool_command="sleep 60\\ntrue"]; start -> work -> exit }`;

let it: Awaited<ReturnType<typeof house>>;
const runs = () => join(it.path, '.factory/runs');
const rowNow = () => inspectRow(join(runs(), 'one'), { cwd: it.path, clock: realClock });
let running: RunRow | undefined;

beforeAll(async () => {
  it = await house({ 'p.dot': pipeline });
  let asked: Promise<unknown> | undefined;
  await it.runUntil('p.dot', { runId: 'one', quiet: true }, () => {
    if (asked === undefined && /"node":"work"/.test(journalNow()))
      asked = rowNow().then((row) => {
        running = row;
      });
    return running !== undefined;
  });
});
afterAll(() => it[Symbol.asyncDispose]());

function journalNow(): string {
  try {
    return readFileSync(join(runs(), 'one/journal.jsonl'), 'utf8');
  } catch {
    return '';
  }
}

test('a running node is named with its command', () =>
  expect(running).toMatchObject({ status: 'running', headline: 'work · sleep 60' }));

test('rows and titles read no graph', async () => {
  read.graphs = 0;
  expect(await rowNow()).toMatchObject({ title: 'Ship it', headline: 'interrupted at work' });
  expect(await runTitles(runs())).toEqual([{ id: 'one', title: 'Ship it' }]);
  expect(read.graphs).toBe(0);
});

test('the title of a run of an earlier version is in its graph', async () => {
  const path = join(runs(), 'one/manifest.json');
  const manifest = JSON.parse(readFileSync(path, 'utf8'));
  const { sha256, text } = manifest.pipeline;
  // The engine of this process has read the very same text.
  writeFileSync(path, JSON.stringify({ ...manifest, pipeline: { sha256, text: `${text}\n` } }));
  read.graphs = 0;
  expect(await rowNow()).toMatchObject({ title: 'Ship it', headline: 'interrupted at work' });
  expect(await runTitles(runs())).toEqual([{ id: 'one', title: 'Ship it' }]);
  expect(read.graphs).toBeGreaterThan(0);
});
