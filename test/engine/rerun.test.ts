/** The second run of a failed scenario: its input, and which of its output stays. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDesk } from '../../src/engine/desk.ts';
import { rerun } from '../../src/engine/rerun.ts';
import type { RunSetting } from '../../src/engine/run-context.ts';
import type { Visit } from '../../src/engine/site.ts';
import { layout } from '../../src/model/layout.ts';
import { type Failure, failed, type Outcome, succeeded } from '../../src/model/outcome.ts';
import type { Site } from '../../src/nodes/kind.ts';
import { openSnapshots } from '../../src/workspace/snapshots.ts';
import { graphOf } from '../support/graph.ts';
import { temp } from '../system/temp.ts';
import { prepared, work } from './prepared-run.ts';

const attribution = { class: 'product', how: 'default', why: 'exit code 1' } as const;
const first = failed('tool_exit_code_1', 'product', { exitCode: 1, attribution, judge: true }) as Outcome &
  Failure;

/** Runs a judge again that took `tookMs` of the five seconds that the run had left. */
async function again(dir: string, tookMs: number, judge: (site: Site) => Outcome): Promise<Outcome> {
  const at = layout(dir);
  const graph = graphOf('judge [shape=parallelogram, judge=true]; exit [shape=Msquare]; judge -> exit');
  let setting: RunSetting | undefined;
  const ready = await prepared(dir, graph, {
    kinds: [],
    attempt: (given) => {
      setting = given;
      return { run: () => Promise.reject(new Error('nobody asks')) };
    },
  });
  const node = graph.nodes.get('judge');
  if (node === undefined || setting === undefined) throw new Error('no run');
  const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.snapshots, sync: false });
  const before = await snapshots.take();
  mkdirSync(at.node('judge'), { recursive: true });
  const visit: Visit = {
    node,
    state: ready.state,
    visit: 1,
    attempt: 1,
    call: 1,
    timeout: { ms: 60_000, explicit: true, runLeftMs: 5000 },
    snapshotId: before.id,
    signal: ready.signal,
    spawned: async () => {},
    acted: () => {},
    desk: openDesk({
      books: ready.books,
      caps: ready.caps,
      nodeCaps: {},
      kept: { usd: 0, tokens: 0, ms: 0 },
      wallLeft: () => 5000,
      node: 'judge',
      visit: 1,
      clock: setting.clock,
    }),
  };
  const kind = { ...work(() => first), run: async (_: unknown, site: Site) => judge(site) };
  const index = join(dir, 'index');
  writeFileSync(index, 'staged');
  const historyEnv = { GIT_DIR: 'there', GIT_INDEX_FILE: index, GIT_WORK_TREE: at.workspace };
  const told = await rerun({ ...setting, historyEnv }, snapshots, first, {
    kind,
    visit,
    before,
    tookMs,
  });
  await ready.close();
  return told;
}

test('has what the first run has left of the time, and none where that is nothing', async () => {
  await using it = await temp();
  const times: number[] = [];
  const passes = (site: Site) => {
    times.push(site.timeout.ms);
    return succeeded();
  };
  expect(await again(it.dir, 3000, passes)).toMatchObject({ class: 'scenario', rerun: { result: 'passed' } });
  await using other = await temp();
  expect(await again(other.dir, 5000, passes)).toBe(first);
  expect(times).toEqual([2000]);
});

test('uses git with a separate index, and reports the output of the command that failed', async () => {
  await using it = await temp();
  const told = await again(it.dir, 0, ({ historyEnv, nodeDir, workspace }) => {
    const { GIT_INDEX_FILE: index = '', ...more } = historyEnv;
    expect(more).toEqual({ GIT_DIR: 'there', GIT_WORK_TREE: workspace });
    expect(readFileSync(index, 'utf8')).toBe('staged');
    writeFileSync(index, 'by the second run');
    for (const n of [0, 2, 10]) writeFileSync(join(nodeDir, `verification.${n}.stdout.txt`), `${n}\n`);
    return first;
  });
  expect(told).toMatchObject({ class: 'product', rerun: { result: 'alike', exit_code: 1 } });
  expect(readFileSync(join(it.dir, 'index'), 'utf8')).toBe('staged');
  expect(readFileSync(join(layout(it.dir).node('judge'), 'rerun.stdout.txt'), 'utf8')).toBe('10\n');
});
