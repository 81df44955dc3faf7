import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Followed, type FollowOptions, followRun } from '../../../src/app/inspect/follow.ts';
import { startRun } from '../../../src/app/run/index.ts';
import type { RunEvent } from '../../../src/core/events.ts';
import { layout } from '../../../src/core/records/layout.ts';
import { realClock } from '../../../src/platform/clock.ts';
import { acquireLock } from '../../../src/run/lock.ts';
import { openRun } from '../../../src/run/open-run.ts';
import { temp } from '../../platform/temp.ts';
import { pipelineIn, plainFlags, quietDoors } from '../../support/host.ts';

const until = (file: string) => `while [ ! -e ${file} ]; do sleep 0.01; done`;

/** What a follower sees of texts and of events with a node, each as a short line. */
async function followed(
  dir: string,
  options: Partial<FollowOptions>,
  saw: (one: Followed) => void = () => {},
) {
  const lines: string[] = [];
  const whole = { clock: realClock, until: 'ended', texts: true, ...options } as const;
  for await (const one of followRun(openRun(dir), whole)) {
    if (one.kind === 'event')
      lines.push(`${String(one.record['type'])} ${String(one.record['node_id'] ?? '')}`);
    if (one.kind === 'text')
      lines.push(
        `${one.begins ? '|' : ''}${one.text.node}@${one.text.visit} ${one.text.channel}: ${one.text.text}`,
      );
    saw(one);
  }
  return lines;
}

test('a follower sees events and output in order while the run goes, and its end', async () => {
  await using it = await temp();
  const graph = await pipelineIn(
    it.dir,
    `digraph g { workdir="none"; start [type=start]; exit [type=exit];
      a [type=tool, tool_command="printf 'one hunter2-'; ${until('first')}; echo hunter2; echo two >&2"];
      b [type=tool, tool_command="echo three; ${until('second')}"];
      start -> a -> b -> exit }`,
  );
  let begun = (): void => {};
  const started = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const quiet = quietDoors(it.dir, { A_TOKEN: 'hunter2-hunter2' });
  const event = ({ type }: RunEvent) => type === 'PipelineStarted' && begun();
  const doors = { ...quiet, watcher: { ...quiet.watcher, event } };
  const running = startRun(graph, { runsDir: it.at('runs'), runId: 'r' }, plainFlags, doors);
  await started;
  const dir = it.at('runs', 'r');
  const { live, workspace } = layout(dir);
  const files: string[] = [];
  const lines = await followed(dir, {}, (one) => {
    if (one.kind !== 'text') return;
    files.push(readFileSync(live, 'utf8'));
    writeFileSync(join(workspace, one.text.node === 'a' ? 'first' : 'second'), '');
  });
  expect(await running).toMatchObject({ code: 0 });
  expect(lines.filter((line) => !/^(?:Pipeline|CheckpointSaved)/.test(line))).toEqual([
    'StageStarted start',
    'StageCompleted start',
    'StageStarted a',
    '|a@1 stdout: one ',
    'a@1 stdout: ***\n',
    'a@1 stderr: two\n',
    'StageCompleted a',
    'StageStarted b',
    '|b@1 stdout: three\n',
    'StageCompleted b',
    'StageStarted exit',
    'StageCompleted exit',
  ]);
  expect(lines.at(-1)).toBe('PipelineCompleted ');
  // Replaced at the first text of an execution, removed at the end of the run, without the secret in between.
  expect(files.at(-1)).not.toContain('one');
  expect(files.join('')).not.toContain('hunter2-hunter2');
  expect(existsSync(live)).toBe(false);

  const again = await followed(dir, {});
  expect(again).toEqual(lines.filter((line) => !line.includes('@1')));
  const rest = await followed(dir, { after: again.length - 1 });
  expect(rest).toEqual(['PipelineCompleted ']);
});

test('a follower of a run that may be resumed ends when it is aborted', async () => {
  await using it = await temp();
  const graph = await pipelineIn(
    it.dir,
    'digraph g { workdir="none"; start [type=start]; exit [type=exit]; start -> exit }',
  );
  await startRun(graph, { runsDir: it.at('runs'), runId: 'r' }, plainFlags, quietDoors(it.dir));
  const leaves = new AbortController();
  const lines = await followed(it.at('runs', 'r'), { until: 'aborted', signal: leaves.signal }, (one) => {
    if (one.kind === 'caught_up') leaves.abort();
  });
  expect(lines.at(-1)).toBe('PipelineCompleted ');
});

test('a follower sees events that the owner writes after the line that ends the run', async () => {
  await using it = await temp();
  const graph = await pipelineIn(
    it.dir,
    'digraph g { workdir="none"; start [type=start]; exit [type=exit]; start -> exit }',
  );
  await startRun(graph, { runsDir: it.at('runs'), runId: 'r' }, plainFlags, quietDoors(it.dir));
  const dir = it.at('runs', 'r');
  const { events } = layout(dir);
  const whole = readFileSync(events, 'utf8');
  writeFileSync(events, whole.replace(/[^\n]+\n$/, ''));
  const answer = await acquireLock(dir, { clock: realClock });
  if (answer.kind !== 'acquired') throw new Error(answer.why);
  const lines = await followed(dir, {}, (one) => {
    if (one.kind === 'caught_up') writeFileSync(events, whole);
  });
  expect(lines.at(-1)).toBe('PipelineCompleted ');
  await answer.lock.release();
});

test('a run directory that is not there ends at once', async () => {
  await using it = await temp();
  expect(await followed(it.at('none'), {})).toEqual([]);
});
