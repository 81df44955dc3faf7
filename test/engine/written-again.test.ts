/** What a program that outlived its stage writes while the stage's work is put back. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { succeeded } from '../../src/core/outcome.ts';
import { layout } from '../../src/core/records/layout.ts';
import { runLoop } from '../../src/engine/loop.ts';
import { exit } from '../../src/nodes/exit.ts';
import { start } from '../../src/nodes/start.ts';
import type { Snapshots } from '../../src/workspace/snapshot.ts';
import { openSnapshots } from '../../src/workspace/snapshots.ts';
import { temp } from '../platform/temp.ts';
import { graphOf } from '../support/graph.ts';
import { prepared, work } from './prepared-run.ts';

const text = `start [shape=Mdiamond]; a [shape=parallelogram, allowed_write_paths="out/"]; other [shape=Msquare]
  start -> a; a -> other [condition="outcome=fail"]`;

/** A run whose stage writes `kept` out of its scope, which is written again after each of the first `times` restores. */
async function ran(dir: string, times: number, stage: (kept: string) => void) {
  const { workspace, contents: at } = layout(dir);
  const kept = join(workspace, 'kept');
  mkdirSync(workspace, { recursive: true });
  writeFileSync(kept, 'the original');
  const real = await openSnapshots({ workspace, dir: at });
  const snapshot = await real.take();
  let left = times;
  const busy: Snapshots = Object.assign(Object.create(real), {
    async restore(...asked: Parameters<Snapshots['restore']>) {
      await real.restore(...asked);
      if (left-- > 0) writeFileSync(kept, 'by another');
    },
  });
  const ready = await prepared(dir, graphOf(text), {
    kinds: [
      start,
      exit,
      work(() => {
        stage(kept);
        return succeeded();
      }),
    ],
    snapshots: busy,
  });
  const end = await runLoop({ ...ready, snapshot });
  await ready.close();
  return { end, kept: readFileSync(kept, 'utf8') };
}

const stages: readonly (readonly [string, (kept: string) => void])[] = [
  ['writes out of its scope', (kept) => writeFileSync(kept, 'by the stage')],
  [
    'leaves no workspace',
    (kept) => {
      rmSync(dirname(kept), { recursive: true });
      writeFileSync(dirname(kept), 'no folder');
    },
  ],
];

test.for(stages)('of a stage that %s: undone with it', async ([, stage]) => {
  await using it = await temp();
  const { end, kept } = await ran(it.dir, 2, stage);
  expect(end).toMatchObject({ state: { status: 'completed' } });
  expect(kept).toBe('the original');
});

test.for(stages)('of a stage that %s: without end, it ends the run', async ([, stage]) => {
  await using it = await temp();
  const { end } = await ran(it.dir, Number.POSITIVE_INFINITY, stage);
  expect(JSON.stringify(end)).toContain('written again each time it was restored');
});
