/** The log of a run, printed afterwards and while it runs. */
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { plainFlags, plainHost, startLocalRun } from '../../src/app/embedded.ts';
import { readPipeline } from '../../src/app/read-pipeline.ts';
import { cleanEnv, cli, type Home, home } from '../support/in-process.ts';

/** Node `wait` ends as soon as the file `$FLAG` exists, or its folder does not: a test that kills the engine leaves no process. */
const pipeline = `digraph g {
  workdir="none"
  start [shape=Mdiamond]
  wait [shape=parallelogram, tool_command="until [ -e $FLAG ] || [ ! -e \${FLAG%/*} ]; do sleep 0.02; done"]
  no [shape=parallelogram, tool_command="false"]
  exit [shape=Msquare]
  start -> wait -> no -> exit
}`;
const patient = { timeout: 30_000, interval: 5 };
const timeless = (text: string): string[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) =>
      line.replace(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d /, '').replace(/elapsed_ms=\d+/, 'elapsed_ms=0'),
    );

const walkedIn =
  'node no failed and reached the exit "exit" by an unconditional edge: tool_exit_code_1 (a condition such as outcome=fail on the edge forgives it)';

async function begun(): Promise<{ it: Home; flag: string; events: string }> {
  const it = await home({ 'p.dot': pipeline });
  return { it, flag: join(it.path, 'flag'), events: join(it.path, '.factory/runs/r/events.jsonl') };
}

/** `factory logs r -f`, read as it comes. */
function following(it: Home, ...more: string[]) {
  const child = spawn(process.execPath, [cli, 'logs', 'r', '--follow', ...more], {
    cwd: it.path,
    env: cleanEnv({ HOME: it.path }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const texts = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    texts.out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    texts.err += text;
  });
  const ended = new Promise<number | null>((done) => child.on('close', done));
  return { child, texts, ended };
}

const stageWaits = (events: string) => vi.waitFor(() => expect(existsSync(events)).toBe(true), patient);

test('a running run is followed to its end, and its log is the same afterwards', async () => {
  const { it, flag, events } = await begun();
  await using _ = it;
  const run = it.factory(['run', 'p.dot', '--run-id', 'r', '-q'], { env: { FLAG: flag } });
  await stageWaits(events);
  const { texts, ended } = following(it);
  await vi.waitFor(() => expect(texts.out).toContain('node started node=wait visit=1\n'), patient);
  expect(texts.err).toBe('');
  writeFileSync(flag, '');
  expect((await run).code).toBe(1);
  expect(await ended, texts.err).toBe(0);
  expect(timeless(texts.out)).toEqual([
    'INFO  pipeline starting agent=none',
    'INFO  node started node=start visit=1',
    'INFO  node completed node=start outcome=success elapsed_ms=0',
    'INFO  node started node=wait visit=1',
    'INFO  node completed node=wait outcome=success elapsed_ms=0',
    'INFO  node started node=no visit=1',
    'WARN  node failed node=no reason=tool_exit_code_1 class=product elapsed_ms=0',
    'INFO  node started node=exit visit=1',
    'WARN  failing exit reached node=exit outcome=fail',
    `ERROR pipeline failed error=${JSON.stringify(walkedIn)}`,
  ]);
  expect(texts.err).toMatch(
    /^run r: failed: no: tool_exit_code_1\nnext: .* fork r --at no --before --pipeline .*\n$/,
  );

  const again = await it.program(['logs', 'r']);
  expect(again).toMatchObject({ code: 0, stdout: texts.out, stderr: texts.err });
  const last = await it.factory(['logs', 'r', '--last', '2']);
  expect(last.stdout).toBe(texts.out.split('\n').slice(-3).join('\n'));
  expect((await it.factory(['logs', 'r', '--last', '0'])).stdout).toBe('');
  const node = await it.factory(['logs', 'r', '--node', 'no']);
  expect(timeless(node.stdout).map((line) => line.slice(0, 19))).toEqual([
    'INFO  node started ',
    'WARN  node failed n',
  ]);
  const exit = await it.factory(['logs', 'r', '--node', 'exit']);
  expect(timeless(exit.stdout)).toContain('WARN  failing exit reached node=exit outcome=fail');
  const verbose = await it.factory(['logs', 'r', '--verbose']);
  expect(verbose.stdout).toContain(' DEBUG checkpoint saved node=wait\n');
  const quiet = await it.factory(['logs', 'r', '--verbose'], { env: { FACTORY_LOG_LEVEL: 'error' } });
  expect(timeless(quiet.stdout).map((line) => line.slice(0, 21))).toEqual(['ERROR pipeline failed']);
  const json = await it.factory(['logs', 'r', '--json']);
  expect(json.stdout).toBe(await it.read('.factory/runs/r/events.jsonl'));
  const nothing = await it.factory(['logs', 'r', '--node', 'nowhere']);
  expect(nothing).toMatchObject({ code: 0, stdout: '' });
  expect(nothing.stderr).toContain('no event so far is about a node "nowhere"\n');
});

test('the log of a killed run reports the kill and the command to resume', async () => {
  const { it, flag, events } = await begun();
  await using _ = it;
  let kill = () => {};
  const run = it.program(['run', 'p.dot', '--run-id', 'r'], {
    env: { FLAG: flag },
    watch: (_line, engine) => {
      kill = () => engine.kill('SIGKILL');
    },
  });
  await stageWaits(events);
  const { texts, ended } = following(it, '--node', 'wait');
  await vi.waitFor(() => expect(texts.out).toContain('node started node=wait visit=1\n'), patient);
  kill();
  expect((await run).signal).toBe('SIGKILL');
  expect(await ended).toBe(0);
  expect(timeless(texts.out)).toEqual(['INFO  node started node=wait visit=1']);
  expect(texts.err).toMatch(/^run r: crashed at wait\nnext: .* resume r\n$/);
  writeFileSync(flag, '');
});

test('logs -f ends when its output is closed, although the run continues', async () => {
  const { it, flag, events } = await begun();
  await using _ = it;
  const run = it.factory(['run', 'p.dot', '--run-id', 'r', '-q'], { env: { FLAG: flag } });
  await stageWaits(events);
  const { child, texts, ended } = following(it);
  await vi.waitFor(() => expect(texts.out).toContain('node=wait'), patient);
  child.stdout.destroy();
  // The next line shows that the output is closed; the run still waits.
  const { epoch } = JSON.parse(readFileSync(events, 'utf8').split('\n', 1)[0] ?? '') as { epoch: number };
  appendFileSync(events, `${JSON.stringify({ type: 'Later', at: '2099-01-01T00:00:00.000Z', epoch })}\n`);
  expect(await ended).toBe(0);
  expect(texts.err).toMatch(/^run r: running: wait · until .*\n$/);
  writeFileSync(flag, '');
  await run;
});

test('an unreadable record, or one of another version, does not stop the log', async () => {
  const { it, flag, events } = await begun();
  await using _ = it;
  writeFileSync(flag, '');
  await it.factory(['run', 'p.dot', '--run-id', 'r', '-q'], { env: { FLAG: flag } });
  appendFileSync(events, 'no record\n{"type":"Later","at":"2099-01-01T00:00:00.000Z","epoch":1}\n');
  const shown = await it.factory(['logs', 'r', '--last', '1']);
  expect(shown.stdout).toBe('2099-01-01 00:00:00 INFO  Later\n');
  expect(shown.stderr).toMatch(/^line \d+ of .*events\.jsonl cannot be read\n/);
  const other = await it.factory(['logs', 'elsewhere']);
  expect(other.code).toBe(2);
  expect(other.stderr).toContain('error[no-run]: there is no run "elsewhere"');
  expect((await it.factory(['logs', 'r', '--last', '-1'])).code).toBe(2);
  rmSync(events);
  expect((await it.factory(['logs', 'r', '--node', 'no'])).stderr).toMatch(
    /^there is no record in .*events\.jsonl\nrun r: /,
  );
});

test('the log of an ended run is complete and ends, although the program that started the run still runs', async () => {
  await using it = await home({ 'p.dot': 'digraph g { workdir="none"; start; exit; start -> exit }' });
  const read = await readPipeline('p.dot', it.path);
  const env = cleanEnv({ HOME: it.path });
  if (read.graph === undefined) throw new Error('the pipeline is one');
  await startLocalRun(
    read.graph,
    { runsDir: join(it.path, '.factory/runs'), runId: 'r' },
    plainFlags(),
    plainHost({ cwd: it.path, env }),
  );
  const { texts, ended } = following(it);
  expect(await ended).toBe(0);
  expect(texts.out).toMatch(/pipeline completed\n$/);
});
