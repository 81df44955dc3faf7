/** What a killed engine left running is ended by its follower, and by nobody who has been followed itself. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { endLeftovers } from '../../src/app/run/leftovers.ts';
import { addedBefore } from '../../src/app/run/unchanged-inputs.ts';
import type { Checkpoint } from '../../src/core/records/checkpoint.ts';
import type { Manifest } from '../../src/core/records/manifest.ts';
import { realClock } from '../../src/platform/clock.ts';
import { fence, Superseded } from '../../src/platform/files/fence.ts';
import { isAlive, processId } from '../../src/platform/process/table.ts';
import { acquireLock } from '../../src/run/lock.ts';
import { writeStage } from '../../src/run/node-directory.ts';
import { temp } from '../platform/temp.ts';
import { graphOf } from '../support/graph.ts';

test.each([0, 1])('an engine that was taken over after %i looks ends nobody’s stage', async (looks) => {
  await using it = await temp();
  const stage = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
  const ended = once(stage, 'exit');
  const process = processId(stage.pid ?? 0);
  if (process === undefined) throw new Error('it has just begun');
  try {
    mkdirSync(it.at('work'));
    await writeStage(it.at('work'), { visit: 1, attempt: 1, marker: 'nobody-else', process });
    let left = looks;
    const open = fence(it.dir, () => {
      if (left-- <= 0) throw new Superseded('taken');
    });
    const manifest = { marker: 'nobody-else', workspace_path: it.at('workspace') } as Manifest;
    const leftovers = endLeftovers(it.dir, manifest, { next_node: 'work' } as Checkpoint, []);
    if (looks === 0) await expect(leftovers).rejects.toThrow(Superseded);
    else expect(await leftovers).toBe(0);
    expect(isAlive(process)).toBe(true);
    open();
    expect(await endLeftovers(it.dir, manifest, { next_node: 'work' } as Checkpoint, [])).toBe(1);
    expect(isAlive(process)).toBe(false);
  } finally {
    stage.kill('SIGKILL');
    await ended;
  }
});

test('a copy of a run ends nothing that the run has noted, which may be at work', async () => {
  await using it = await temp();
  const stage = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
  const ended = once(stage, 'exit');
  const process = processId(stage.pid ?? 0);
  if (process === undefined) throw new Error('it has just begun');
  try {
    const [run, copy] = [it.at('run'), it.at('copy')] as const;
    mkdirSync(it.at('run', 'work'), { recursive: true });
    await writeStage(it.at('run', 'work'), { visit: 1, attempt: 1, marker: 'one-run', process });
    const answer = await acquireLock(run, { clock: realClock });
    if (answer.kind === 'refused') throw new Error(answer.why);
    await answer.lock.release();
    cpSync(run, copy, { recursive: true });
    const manifest = { marker: 'one-run', workspace_path: it.at('run', 'workspace') } as Manifest;
    const leftIn = (dir: string) => endLeftovers(dir, manifest, { next_node: 'work' } as Checkpoint, []);
    expect(await leftIn(copy)).toBe(0);
    expect(isAlive(process)).toBe(true);
    expect(await leftIn(run)).toBe(1);
  } finally {
    stage.kill('SIGKILL');
    await ended;
  }
});

const chain = (edges: string) => graphOf(`start [shape=Mdiamond]; exit [shape=Msquare]; ${edges}`);
const first = chain('start -> a -> b -> c -> exit');
test.for<readonly [string, string, readonly [string, string, boolean][]]>([
  ['behind the next node', 'start -> a -> b -> c -> x -> exit', []],
  ['right before the next node', 'start -> a -> b -> x -> c -> exit', [['x', 'b', false]]],
  ['before the next node', 'start -> a -> x -> b -> c -> exit', [['x', 'a', false]]],
  [
    'two in a row',
    'start -> x -> y -> a -> b -> c -> exit',
    [
      ['x', 'start', false],
      ['y', 'start', false],
    ],
  ],
  ['on a way back', 'start -> a -> x -> b -> c -> exit; c -> a', [['x', 'a', true]]],
  ['on a way that was not taken', 'start -> a -> b -> c -> exit; a -> x -> exit', [['x', 'a', false]]],
])('a new node %s is named with the node to fork before', ([, edges, wanted]) => {
  const state = { visits: { start: 1, a: 1, b: 1 }, next_node: 'c' };
  const added = addedBefore(first, chain(edges), state);
  expect(added.map(({ id, after, reachable }) => [id, after, reachable])).toEqual(wanted);
});
