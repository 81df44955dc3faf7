/** Runs from a program, by what the library offers. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  forkLocalRun,
  plainFlags,
  plainHost,
  replayLocalRun,
  resumeLocalRun,
  startLocalRun,
} from '../../src/app/embedded.ts';
import { readPipeline } from '../../src/app/read-pipeline.ts';
import type { Finished, Host } from '../../src/app/types.ts';
import type { Refusal } from '../../src/core/diagnostic.ts';
import type { RunEvent } from '../../src/core/events.ts';
import { findMoment } from '../../src/run/moment.ts';
import { openRun } from '../../src/run/open-run.ts';

let folder: string;
let told: string[];
let doors: Host;
const stop = { at: '' };

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'factory-embedded-'));
  told = [];
  stop.at = '';
  const controller = new AbortController();
  const event = (event: RunEvent) => {
    told.push(event.type);
    if ('node_id' in event && event.node_id === stop.at && event.type === 'StageStarted')
      controller.abort('test');
  };
  doors = plainHost({
    cwd: folder,
    env: { ...process.env, FACTORY_SANDBOX: 'none' },
    signal: controller.signal,
    watcher: { event, streamed() {}, output() {}, spent() {} },
  });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const where = (runId: string) => ({ runsDir: 'runs', runId });

async function graphOf(text: string) {
  writeFileSync(join(folder, 'p.dot'), text);
  const { graph, found } = await readPipeline('p.dot', folder);
  if (graph === undefined) throw new Error(JSON.stringify(found));
  return graph;
}
const twoSteps = () =>
  graphOf(
    `digraph { workdir="none"; start -> one -> two -> end
      one [shape=parallelogram, tool_command="echo one >> steps.txt"]
      two [shape=parallelogram, tool_command="echo two >> steps.txt"] }`,
  );
const ran = (ended: Finished | Refusal) => {
  if ('problems' in ended) throw new Error(JSON.stringify(ended.problems));
  return ended.result;
};
const steps = (workspace: string) => readFileSync(join(workspace, 'steps.txt'), 'utf8');

describe('a run from a program', () => {
  it('is made below the folder that the doors name, by a relative path as well', async () => {
    const result = ran(await startLocalRun(await twoSteps(), where('a'), plainFlags(), doors));
    expect(result).toMatchObject({ status: 'completed', run_dir: join(folder, 'runs/a') });
    expect(isAbsolute(result.workspace)).toBe(true);
    expect(steps(result.workspace)).toBe('one\ntwo\n');
    expect(told.filter((type) => type === 'StageCompleted')).toHaveLength(4);
  });

  it('stops when its signal fires, and can be resumed', async () => {
    stop.at = 'two';
    const graph = await twoSteps();
    const cut = ran(await startLocalRun(graph, where('a'), plainFlags(), doors));
    expect(cut).toMatchObject({ status: 'interrupted', exit_code: 130 });
    const { signal } = new AbortController();
    const whole = ran(await resumeLocalRun('runs/a', undefined, plainFlags(), { ...doors, signal }));
    expect(whole.status).toBe('completed');
    expect(steps(whole.workspace)).toBe('one\ntwo\n');
  });

  it.each(['PipelineStarted', 'StageStarted', 'StageCompleted', 'CheckpointSaved', 'PipelineCompleted'])(
    'ends with the error that a listener throws at %s, is released, and can be resumed',
    async (type) => {
      const graph = await twoSteps();
      const event = (event: RunEvent) => {
        if (event.type === type) throw new Error('the listener broke');
      };
      const watcher = { ...doors.watcher, event };
      await expect(startLocalRun(graph, where('a'), plainFlags(), { ...doors, watcher })).rejects.toThrow(
        'the listener broke',
      );
      const lock = JSON.parse(readFileSync(join(folder, 'runs/a/lock/000001.json'), 'utf8'));
      expect(lock.released).not.toBeNull();
      const whole = ran(await resumeLocalRun('runs/a', undefined, plainFlags(), doors));
      expect([whole.status, steps(whole.workspace)]).toEqual(['completed', 'one\ntwo\n']);
    },
  );

  it('can be forked and replayed', async () => {
    ran(await startLocalRun(await twoSteps(), where('a'), plainFlags(), doors));
    const dir = join(folder, 'runs/a');
    const read = openRun(dir).history();
    if (!read.ok) throw new Error(read.why);
    const moment = findMoment(read.records, { node: 'one' });
    if (!moment.ok) throw new Error(moment.why);
    const flags = plainFlags({ command_timeout: 7000 });
    const fork = ran(await forkLocalRun('runs/a', moment, undefined, where('b'), flags, doors));
    expect([fork.status, steps(fork.workspace)]).toEqual(['completed', 'one\ntwo\n']);
    // A resume has the same limits without flags.
    const { caps } = JSON.parse(readFileSync(join(folder, 'runs/b/manifest.json'), 'utf8'));
    expect(caps.command_timeout_ms).toBe(7000);
    const replay = ran(await replayLocalRun('runs/a', {}, where('c'), plainFlags(), doors));
    expect([replay.status, steps(replay.workspace)]).toEqual(['completed', 'one\ntwo\n']);
  });

  it.each([
    ['an id that leaves the folder', { runsDir: 'runs', runId: '../a' }, /run id/],
    ['an id that is taken', { runsDir: 'runs', runId: 'taken' }, /already/],
  ])('is refused for %s, with nothing left behind', async (_, place, why) => {
    mkdirSync(join(folder, 'runs/taken'), { recursive: true });
    const refusal = await startLocalRun(await twoSteps(), place, plainFlags(), doors);
    expect(refusal).toMatchObject({ problems: [{ code: 'run-id', message: expect.stringMatching(why) }] });
    expect(existsSync(join(folder, 'a'))).toBe(false);
    expect(told).toEqual([]);
  });

  it('is refused where its folder would hold the tree that is copied', async () => {
    const graph = await graphOf('digraph { start -> end }');
    const refusal = await startLocalRun(
      graph,
      { runsDir: '.', runId: 'a' },
      plainFlags({ workdir: 'tree' }),
      doors,
    );
    expect(refusal).toMatchObject({ problems: [{ code: 'workdir' }] });
    mkdirSync(join(folder, 'tree'));
    expect(
      await startLocalRun(graph, { runsDir: '.', runId: 'a' }, plainFlags({ workdir: 'tree' }), doors),
    ).toMatchObject({ problems: [{ code: 'runsdir', message: expect.stringContaining('contains') }] });
  });
});
