/** Event logs with a gap, as a kill between the checkpoint and the events leaves them: the resume closes it. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type Doors, resumeRun, startRun } from '../../src/factory.ts';
import type { RunEvent } from '../../src/model/event.ts';
import { layout } from '../../src/model/layout.ts';
import { pipelineIn, plainFlags, quietDoors } from '../support/doors.ts';
import { temp } from '../system/temp.ts';

type Line = Readonly<Record<string, unknown>>;

const dot = (label: string) => `digraph g { workdir="none"; start [shape=Mdiamond]; exit [shape=Msquare]
  a [shape=parallelogram, tool_command="exit 3"]; b [shape=parallelogram, tool_command="true"]
  long [shape=parallelogram, tool_command="true", label="${label}"]
  asks [prompt="ask", max_retries=1, retry_delay="1ms"]
  dies [shape=parallelogram, tool_command="kill -9 $$"]
  start -> a; a -> b [condition="outcome=fail"]; a -> exit; b -> asks -> long -> dies
  dies -> exit [condition="outcome=fail"] }`;

const used = (cost_usd: number) => ({ model: 'm', input_tokens: 100, output_tokens: 50, cost_usd });
const script = JSON.stringify({
  format: 'factory-script/1',
  answers: {
    asks: [
      { fail: { class: 'infra', reason: 'busy' }, usage: used(0.25) },
      { text: 'ok', usage: used(1) },
    ],
  },
});
const flags = { ...plainFlags, agent: 'scripted', script: 'script.json' };

const linesOf = (path: string): string[] => readFileSync(path, 'utf8').split('\n').slice(0, -1);
const read = (path: string): Line[] => linesOf(path).map((line) => JSON.parse(line) as Line);

/** Without what differs from one time to another. */
const bare = (lines: readonly Line[]): Line[] =>
  lines.map(({ at: _, seq: __, epoch: ___, elapsed_ms: ____, ...rest }) => rest);

/** As if the engine had been killed when the checkpoint after `node` stood and `events` and `trace` so many lines of its
 *  visit had; then resumed. Returns the records of the execution in an uninterrupted run, and in this one. */
async function killedAfter(node: string, kept: { readonly events: number; readonly trace: number }) {
  await using it = await temp();
  // A line of the journal may be longer than the first part that is read.
  writeFileSync(it.at('script.json'), script);
  const graph = await pipelineIn(it.dir, dot('x'.repeat(node === 'long' ? 2 << 20 : 1)));
  const at = layout(it.at('runs', 'r1'));
  const had = new Map<string, Buffer>();
  const quiet = quietDoors(it.dir, { FACTORY_SANDBOX: 'none' });
  const event = (event: RunEvent) => {
    if (event.type === 'CheckpointSaved' && event.last_completed_node === node)
      for (const path of [at.checkpoint, at.visits]) had.set(path, readFileSync(path));
  };
  const doors: Doors = { ...quiet, watcher: { ...quiet.watcher, event } };
  await startRun(graph, { runsDir: it.at('runs'), runId: 'r1' }, flags, doors);
  const whole = { events: ofVisit(read(at.events), node), trace: ofVisit(read(at.trace), node) };
  for (const [path, bytes] of had) writeFileSync(path, bytes);
  for (const which of ['events', 'trace'] as const) {
    const lines = linesOf(at[which]);
    const begins = read(at[which]).findIndex((line) => isBegin(line, node));
    writeFileSync(
      at[which],
      lines
        .slice(0, begins + kept[which])
        .map((line) => `${line}\n`)
        .join(''),
    );
  }
  const lock = `${at.locks}/000001.json`;
  const held = JSON.parse(readFileSync(lock, 'utf8'));
  writeFileSync(lock, JSON.stringify({ ...held, start_time: 'gone', released: null }));
  rmSync(at.result);
  const ended = await resumeRun(it.at('runs', 'r1'), graph, plainFlags, doors);
  expect(ended).toMatchObject({ code: 0 });
  const [events, trace] = [read(at.events), read(at.trace)];
  return {
    whole,
    told: { events: ofVisit(events, node), trace: ofVisit(trace, node) },
    took: events.find((line) => line['node_id'] === node && 'elapsed_ms' in line)?.['elapsed_ms'],
    until: read(at.visits).map((line) => Number(line['elapsed_ms'])),
    visit: read(at.visits).findIndex((line) => line['node'] === node),
    last: [events.at(-1)?.['type'], trace.at(-1)?.['type']],
  };
}

const isBegin = (line: Line, node: string): boolean =>
  (line['type'] === 'StageStarted' || line['type'] === 'NodeInputCaptured') && line['node_id'] === node;

const ofVisit = (lines: readonly Line[], node: string): Line[] =>
  bare(
    lines.filter((line) => [line['node_id'], line['last_completed_node'], line['from_node']].includes(node)),
  ).filter(({ type }) => type !== 'ResumeLoaded');

test.for([
  ['a', 1, 1],
  ['a', 2, 1],
  ['a', 3, 1],
  ['a', 3, 2],
  ['a', 3, 3],
  ['start', 1, 1],
  ['b', 1, 1],
  ['asks', 2, 1],
  ['long', 1, 1],
  ['dies', 3, 1],
  ['dies', 1, 2],
  ['exit', 1, 1],
  ['exit', 2, 2],
] as const)(
  'killed after the checkpoint of %s, with %i events and %i records of its trace',
  async ([node, events, trace]) => {
    const { whole, told, last, took, until, visit } = await killedAfter(node, { events, trace });
    expect(told).toEqual(whole);
    // How long the stage took, not the run.
    const before = until[visit - 1] ?? 0;
    if (events === 1 && before > 0) expect(took).toBe((until[visit] ?? 0) - before);
    expect(last).toEqual(['PipelineCompleted', 'PipelineCompleted']);
  },
);

test('a checkpoint counts no visit whose beginning is not on the disk: of the first stage, of one that follows itself, of the first after a resume', async () => {
  await using it = await temp();
  const again = 'test -e again || { touch again; exit 1; }';
  const graph = await pipelineIn(
    it.dir,
    `digraph g { workdir="none"; start [shape=Mdiamond]; exit [shape=Msquare]
      a [shape=parallelogram, tool_command="${again}"]
      start -> a; a -> a [condition="outcome=fail"]; a -> exit [condition="outcome=success"] }`,
  );
  const at = layout(it.at('runs', 'r1'));
  const vouched: string[] = [];
  const event = (event: RunEvent) => {
    if (event.type !== 'CheckpointSaved') return;
    const { journals } = JSON.parse(readFileSync(at.checkpoint, 'utf8'));
    const node = event.last_completed_node;
    const begun = (path: string, name: string) =>
      read(path)
        .slice(0, journals[name]?.records ?? 0)
        .filter((line) => isBegin(line, node)).length;
    vouched.push(`${node} ${begun(at.events, 'events.jsonl')} ${begun(at.trace, 'trace.jsonl')}`);
  };
  const doors = (more: Record<string, string> = {}): Doors => {
    const quiet = quietDoors(it.dir, { FACTORY_SANDBOX: 'none', ...more });
    return { ...quiet, watcher: { ...quiet.watcher, event } };
  };
  const stop = doors({ ATTRACTION_TEST_STOP_AFTER_NODE: 'start' });
  await startRun(graph, { runsDir: it.at('runs'), runId: 'r1' }, plainFlags, stop);
  expect(await resumeRun(it.at('runs', 'r1'), graph, plainFlags, doors())).toMatchObject({ code: 0 });
  expect(vouched).toEqual(['start 1 1', 'a 1 1', 'a 2 2', 'exit 1 1']);
});
