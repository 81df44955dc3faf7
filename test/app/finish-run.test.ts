/** A run whose engine was killed after its end, before it reported the result. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { unreportedEnd } from '../../src/app/run/complete-run.ts';
import { resumeRun, startRun } from '../../src/app/run/index.ts';
import { layout } from '../../src/core/records/layout.ts';
import { isStopped, processId } from '../../src/platform/process/table.ts';
import { openRun } from '../../src/run/open-run.ts';
import { verifyRun } from '../../src/verify/index.ts';
import { temp } from '../platform/temp.ts';
import { pipelineIn, plainFlags, quietDoors } from '../support/host.ts';

async function ground(it: { dir: string; at: (...names: string[]) => string }, dot: string) {
  const graph = await pipelineIn(it.dir, dot);
  const doors = quietDoors(it.dir);
  const flags = plainFlags;
  const start = (to = doors) => startRun(graph, { runsDir: it.at('runs'), runId: 'r1' }, flags, to);
  const last: (() => Promise<void>)[] = [];
  const dir = it.at('runs', 'r1');
  return { start, graph, doors, flags, dir, at: layout(dir), last };
}

/** Ends at no exit. */
const stuck = `digraph g { workdir="none"; start [shape=Mdiamond]; exit [shape=Msquare]
  a [shape=parallelogram, tool_command="exit 3"]; start -> a; a -> exit [condition="outcome=success"] }`;

/** As if the owner of that epoch had been killed. */
function killed(locks: string, epoch: number): void {
  const path = `${locks}/00000${epoch}.json`;
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), start_time: 'gone' }));
}

test('an end at no exit that was not reported is reported first; only the next resume repeats the node', async () => {
  await using it = await temp();
  const { start, graph, doors, flags, dir, at } = await ground(it, stuck);
  const first = await start();
  expect(first).toMatchObject({ code: 1, result: { reason: expect.stringMatching(/^no route/), stages: 2 } });
  rmSync(at.result);
  const stages = { result: { stages: 2 } };
  expect(await resumeRun(dir, graph, flags, doors)).toMatchObject({ code: 1, ...stages });
  expect(JSON.parse(readFileSync(at.result, 'utf8'))).toMatchObject({ status: 'failed', stages: 2 });
  expect(await resumeRun(dir, graph, flags, doors)).toMatchObject({ code: 1, result: { stages: 3 } });
  // The result is that of an earlier end at the same node.
  const result = JSON.parse(readFileSync(at.result, 'utf8'));
  writeFileSync(
    at.result,
    JSON.stringify({ ...result, status: 'interrupted', reason: 'interrupted by SIGINT' }),
  );
  expect(await resumeRun(dir, graph, flags, doors)).toMatchObject({ code: 1, result: { stages: 3 } });
  // A resume with raised limits continues; the manifest has the sandbox of its nodes.
  rmSync(at.result);
  const bare = { ...doors, env: { ...doors.env, FACTORY_SANDBOX: 'none' } };
  expect(await resumeRun(dir, graph, { ...flags, max_visits: 9 }, bare)).toMatchObject({
    result: { stages: 4 },
  });
  expect(JSON.parse(readFileSync(at.manifest, 'utf8')).sandbox).toMatchObject({ by: 'FACTORY_SANDBOX' });
});

test('the end of a run whose records were changed is not reported again', async () => {
  await using it = await temp();
  const { start, graph, doors, flags, dir, at } = await ground(it, stuck.replace('exit 3', 'true'));
  expect(await start()).toMatchObject({ code: 0 });
  const journal = readFileSync(at.journal, 'utf8');
  writeFileSync(at.journal, journal.replace('"node":"a"', '"node":"b"'));
  expect(await resumeRun(dir, graph, flags, doors)).toMatchObject({
    problems: [{ code: 'records-changed' }],
  });
  writeFileSync(at.journal, journal);
  expect(await resumeRun(dir, graph, flags, doors)).toMatchObject({ code: 0 });
});

test('a run that has ended at no exit is released when that is reported', async () => {
  await using it = await temp();
  const { start, graph, doors, flags, dir, at, last } = await ground(it, stuck);
  const released = (epoch: number) =>
    JSON.parse(readFileSync(`${at.locks}/00000${epoch}.json`, 'utf8')).released;
  const atLast = (work: () => Promise<void>) => void last.push(work);
  expect(await start({ ...doors, atLast })).toMatchObject({ result: { stages: 2 } });
  expect([released(1), last.length]).toEqual([null, 1]);
  killed(at.locks, 1);
  // A process that was killed while it reported the end counts as if it had not.
  expect(await resumeRun(dir, graph, flags, { ...doors, atLast })).toMatchObject({ result: { stages: 2 } });
  killed(at.locks, 2);
  expect(await resumeRun(dir, graph, flags, { ...doors, atLast })).toMatchObject({ result: { stages: 2 } });
  await last.at(-1)?.();
  expect(released(3)).not.toBeNull();
});

test('a run that was resumed after its end at no exit continues, even if that resume was killed', async () => {
  await using it = await temp();
  const { start, graph, doors, flags, dir, at } = await ground(it, stuck);
  const ended = { ...doors, atLast: () => {} };
  expect(await start(ended)).toMatchObject({ result: { stages: 2 } });
  killed(at.locks, 1);
  const had: Buffer[] = [];
  const event = () => void had.push(readFileSync(at.checkpoint), readFileSync(at.result));
  const watched = { ...ended, watcher: { ...doors.watcher, event } };
  const asked = await resumeRun(dir, graph, { ...flags, max_visits: 9 }, watched);
  expect(asked).toMatchObject({ result: { stages: 3 } });
  // As if that one had been killed before its node ended.
  killed(at.locks, 2);
  const [checkpoint = '', result = ''] = had;
  writeFileSync(at.checkpoint, checkpoint);
  writeFileSync(at.result, result);
  expect(await resumeRun(dir, graph, flags, doors)).toMatchObject({ result: { stages: 3 } });
});

test.each([
  ['no exit', stuck],
  ['an exit', stuck.replace('exit 3', 'true')],
])('temporary files of a killed engine are removed when an end at %s is reported again', async (_, dot) => {
  await using it = await temp();
  const { start, graph, doors, flags, dir, at } = await ground(it, dot);
  const stages = dot === stuck ? 2 : 3;
  expect(await start({ ...doors, atLast: () => {} })).toMatchObject({ result: { stages } });
  killed(at.locks, 1);
  const half = it.at('runs', 'r1', '.result.json.0123456789ab.tmp');
  writeFileSync(half, '{');
  // The lock of a killed git blocks every later one.
  const lock = it.at('runs', 'r1', 'history.git', 'index.lock');
  mkdirSync(at.history);
  writeFileSync(lock, '');
  expect(await resumeRun(dir, graph, flags, doors)).toMatchObject({ result: { stages } });
  expect([half, lock].filter(existsSync)).toEqual([]);
});

test('workspace, holdout and journals are complete when an end that was not reported is reported', async () => {
  await using it = await temp();
  const { graph, flags, dir, at } = await ground(
    it,
    'digraph g { holdout="judge/"; start [shape=Mdiamond]; exit [shape=Msquare]; start -> exit }',
  );
  mkdirSync(it.at('w', 'judge'), { recursive: true });
  writeFileSync(it.at('w', 'judge', 'j.sh'), 'true\n');
  writeFileSync(it.at('w', 'a.txt'), 'a\n');
  const doors = quietDoors(it.dir, { HOME: it.dir, FACTORY_SANDBOX: 'none' });
  const where = { runsDir: it.at('runs'), runId: 'r1' };
  expect(await startRun(graph, where, { ...flags, workdir: 'w' }, doors)).toMatchObject({ code: 0 });
  expect(readFileSync(`${at.workspace}/judge/j.sh`, 'utf8')).toBe('true\n');
  const events = () =>
    readFileSync(at.events, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).type);
  const [before, lines] = [events(), readFileSync(at.events, 'utf8').trimEnd().split('\n')];
  // As after a kill right before the result, and a power cut.
  rmSync(at.result);
  rmSync(`${at.workspace}/judge`, { recursive: true });
  writeFileSync(`${at.workspace}/a.txt`, '');
  writeFileSync(at.events, `${lines.slice(0, -1).join('\n')}\n`);
  expect(await resumeRun(dir, graph, flags, doors)).toMatchObject({ code: 0 });
  expect(events()).toEqual(before);
  expect((await verifyRun({ runDir: dir, env: doors.env })).problems).toEqual([]);
  expect(readFileSync(`${at.workspace}/a.txt`, 'utf8')).toBe('a\n');
  expect(readFileSync(`${at.workspace}/judge/j.sh`, 'utf8')).toBe('true\n');
});

test.each([
  ['no exit', stuck],
  ['an exit', stuck.replace('exit 3', 'true')],
])(
  'a damaged snapshot is reported in place of an end at %s, and nothing is restored from it',
  async (_, dot) => {
    await using it = await temp();
    const { start, graph, doors, flags, dir, at } = await ground(it, dot);
    await start();
    rmSync(at.result);
    writeFileSync(`${at.contents}/pack`, 'other bytes than a pack begins with');
    expect(await resumeRun(dir, graph, flags, doors)).toEqual({
      problems: [expect.objectContaining({ code: 'snapshot', message: expect.stringContaining('damaged') })],
    });
    expect(existsSync(at.result)).toBe(false);
  },
);

test.skipIf(process.platform !== 'linux')(
  'the end that a stopped engine has not reported is reported by a process that takes the run over',
  async () => {
    await using it = await temp();
    const { start, graph, doors, flags, dir, at } = await ground(
      it,
      'digraph g { workdir="none"; start [shape=Mdiamond]; exit [shape=Msquare]; start -> exit }',
    );
    await start();
    const engine = spawn('sleep', ['1000'], { stdio: 'ignore' });
    const ended = once(engine, 'exit');
    try {
      engine.kill('SIGSTOP');
      const id = processId(engine.pid ?? 0);
      await vi.waitFor(() => expect(id !== undefined && isStopped(id)).toBe(true));
      const path = `${at.locks}/000001.json`;
      const lock = JSON.parse(readFileSync(path, 'utf8'));
      const owner = { ...lock, pid: id?.pid, start_time: id?.startTime, released: null };
      writeFileSync(path, JSON.stringify(owner));
      rmSync(at.result);
      expect(await resumeRun(dir, graph, flags, doors)).toMatchObject({ code: 0 });
      expect(existsSync(at.result)).toBe(false);
      expect(await resumeRun(dir, graph, { ...flags, takeOver: true }, doors)).toMatchObject({ code: 0 });
      expect(existsSync(at.result)).toBe(true);
    } finally {
      engine.kill('SIGKILL');
      await ended;
    }
  },
);

test('an end that was read before another process resumed the run changes nothing in it', async () => {
  await using it = await temp();
  const growing = stuck.replace('exit 3', 'echo once >> a.txt; exit 3');
  const { start, graph, doors, flags, dir, at } = await ground(it, growing);
  await start();
  const then = await openRun(dir).stored();
  if ('problems' in then) throw new Error('the run can be read');
  expect(await resumeRun(dir, graph, flags, doors)).toMatchObject({ result: { stages: 3 } });
  const result = readFileSync(at.result, 'utf8');
  const { manifest, history } = then;
  const atLast = () => expect.unreachable('no release is deferred');
  expect(await unreportedEnd(openRun(dir), manifest, history, false, { ...doors, atLast })).toBeUndefined();
  expect(readFileSync(`${at.workspace}/a.txt`, 'utf8')).toBe('once\nonce\n');
  expect(readFileSync(at.result, 'utf8')).toBe(result);
  expect(await resumeRun(dir, graph, flags, doors)).toMatchObject({ result: { stages: 4 } });
});
