/** Runs are removed, and waited for, by `rm`, `prune` and `wait`. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { noteSession, writeSession } from '../../src/agents/program/session-files.ts';
import { recordDelivery } from '../../src/app/delivered.ts';
import { realClock } from '../../src/platform/clock.ts';
import { acquireLock } from '../../src/run/lock.ts';
import { call, type Flags } from '../support/verb.ts';

const commits =
  '[{\\"work_order\\":\\"WO-01\\",\\"commit\\":\\"c\\",\\"subject\\":\\"s\\",\\"attempts\\":1}]';
const output = `{\\"outcome\\":\\"success\\",\\"context_updates\\":{\\"build.commits\\":${commits}}}`;
const pipeline = (command: string) => `digraph g {
  workdir="none"
  start [shape=Mdiamond]
  one [shape=parallelogram, tool_command="${command}"]
  exit [shape=Msquare]
  start -> one
  one -> exit [condition="outcome=success"]
}`;

let top = '';
let runs = '';
const env = { PATH: process.env['PATH'], HOME: '/nonexistent', FACTORY_SANDBOX: 'none' };
const asked = (verb: readonly string[], flags: Flags = {}, doors = {}) =>
  call(verb, flags, { cwd: top, env, ...doors });

beforeAll(async () => {
  top = mkdtempSync(join(tmpdir(), 'factory-rm-'));
  runs = join(top, '.factory/runs');
  writeFileSync(join(top, 'plain.dot'), pipeline('true'));
  writeFileSync(join(top, 'commits.dot'), pipeline(`printf '%s' '${output}' > $FACTORY_OUTPUT`));
  for (const [file, id, code, more] of [
    ['plain.dot', 'done', 0, {}],
    ['commits.dot', 'made', 0, {}],
    ['plain.dot', 'cut', 130, { ATTRACTION_TEST_STOP_AFTER_NODE: 'one' }],
  ] as const) {
    const ran = await asked(['run', file], { runId: id, quiet: true }, { env: { ...env, ...more } });
    expect(ran.err).toBe('');
    if (code === 0) expect(ran.code).toBe(0);
  }
  cpSync(runs, join(top, 'kept'), { recursive: true });
});
beforeEach(() => {
  rmSync(runs, { recursive: true, force: true });
  cpSync(join(top, 'kept'), runs, { recursive: true });
});
afterAll(() => rmSync(top, { recursive: true, force: true }));

const left = () => readdirSync(runs).sort();

test.for([
  ['a resume', ['resume', 'cut']],
  ['rm', ['rm', 'cut']],
] as const)(
  '%s removes the session that a killed engine has left in the home of an agent, and no other',
  async ([, verb]) => {
    const [ours, users] = ['6affb302-3e34-436f-b334-5ca7e9546ede', '713a28ae-2985-4d16-82e8-a4a9097f6e7d'];
    const home = join(top, 'claude-home');
    for (const id of [ours, users]) await writeSession(join(home, 'projects'), `-w/${id}.jsonl`, id);
    await noteSession(join(runs, 'cut/.scratch/one'), { program: 'claude', home, ids: [ours] });
    expect((await asked(verb)).code).toBe(0);
    expect(readdirSync(join(home, 'projects/-w'))).toEqual([`${users}.jsonl`]);
  },
);
const locked = async (id: string) => {
  const answer = await acquireLock(join(runs, id), { clock: realClock });
  if (answer.kind !== 'acquired') throw new Error(answer.why);
  return answer.lock;
};

test('rm removes whole runs, but none with undelivered commits unless it is forced', async () => {
  const refused = await asked(['rm', 'done', 'made']);
  expect(refused.code).toBe(2);
  expect(refused.err).toContain('run made has commits that were never delivered; nothing was removed');
  expect(left()).toEqual(['cut', 'done', 'made']);
  const removed = await asked(['rm', 'done', 'cut']);
  expect(removed).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^removed done \(completed, \d.* [KM]iB\)\n/),
  });
  expect(left()).toEqual(['made']);
  const delivery = { to: '/somewhere', branch: 'b', head: 'c' };
  recordDelivery(join(runs, 'made'), delivery, realClock, (message) => expect(message).toBe(''));
  expect((await asked(['rm', 'made'])).code).toBe(0);
  expect(left()).toEqual([]);
});

test('rm keeps the commits of a run that did not complete, and takes no beginning of a title for a run', async () => {
  const stopped = { env: { ...env, ATTRACTION_TEST_STOP_AFTER_NODE: 'one' } };
  await asked(['run', 'commits.dot'], { runId: 'half', quiet: true }, stopped);
  const refused = await asked(['rm', 'half']);
  expect(refused.code).toBe(2);
  expect(refused.err).toContain('run half has commits that were never delivered');
  expect(refused.err).toContain('factory resume half; --force removes them');
  expect((await asked(['rm', 'plain'])).code).toBe(2);
  expect((await asked(['rm', 'half'], { force: true })).code).toBe(0);
  expect(left()).toEqual(['cut', 'done', 'made']);
});

test('rm removes no run that a process works for, and nothing that only looks like a run', async () => {
  const lock = await locked('cut');
  const refused = await asked(['rm', 'cut'], { force: true });
  expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('run cut is running') });
  expect(refused.err).toContain('factory stop cut');
  await lock.release();
  mkdirSync(join(top, 'site'), { recursive: true });
  writeFileSync(join(top, 'site/manifest.json'), '{"name":"a web page"}');
  expect((await asked(['rm', join(top, 'site')], { force: true })).code).toBe(2);
  expect(existsSync(join(top, 'site/manifest.json'))).toBe(true);
  expect(left()).toEqual(['cut', 'done', 'made']);
});

test('a run that cannot be read is removed only by force', async () => {
  writeFileSync(join(runs, 'done/manifest.json'), '{}');
  expect((await asked(['rm', 'done'])).err).toContain('cannot be read');
  expect((await asked(['rm', 'done'], { force: true })).code).toBe(0);
  expect(left()).toEqual(['cut', 'made']);
});

test('the key of a holdout is removed with its run, and not with a copy of the run', async () => {
  mkdirSync(join(top, 'sealed'), { recursive: true });
  writeFileSync(join(top, 'sealed/a.sh'), 'exit 0');
  const keys = join(top, 'keys');
  const doors = { env: { ...env, FACTORY_KEYS: keys } };
  const ran = await asked(['run', 'plain.dot'], { runId: 'judged', quiet: true, holdout: 'sealed' }, doors);
  expect(ran).toMatchObject({ code: 0, err: '' });
  cpSync(join(runs, 'judged'), join(runs, 'copy'), { recursive: true });
  expect((await asked(['rm', 'copy'], {}, doors)).code).toBe(0);
  expect(readdirSync(keys)).toHaveLength(1);
  expect((await asked(['rm', 'judged'], {}, doors)).code).toBe(0);
  expect(readdirSync(keys)).toEqual([]);
});

test('prune needs a rule, keeps what is running or undelivered, and says what it freed', async () => {
  expect((await asked(['prune'])).err).toContain('nothing says which runs are old');
  const lock = await locked('cut');
  const dry = await asked(['prune'], { keep: 0, dryRun: true });
  expect(dry.out).toMatch(/^would remove done \(completed, .*\)\n/);
  expect(dry.out).toContain('kept cut: it is running\n');
  expect(dry.out).toContain('kept made: it has commits that were never delivered\n');
  expect(dry.out).toMatch(/would remove 1 run, \d.*; kept 2\n--undelivered removes/);
  expect(left()).toEqual(['cut', 'done', 'made']);
  await lock.release();
  const pruned = await asked(['prune'], { keep: 0, keepFailed: true, undelivered: true, json: true });
  expect(JSON.parse(pruned.out)).toMatchObject({
    removed: [{ run_id: 'done' }, { run_id: 'made' }],
    others: 1,
  });
  expect(left()).toEqual(['cut']);
});

test('prune keeps a run that waits for an answer', async () => {
  const gate = 'one [shape=hexagon]; start -> one; one -> exit [label=Approve]';
  writeFileSync(
    join(top, 'gate.dot'),
    `digraph g { workdir="none"; start [shape=Mdiamond]; exit [shape=Msquare]; ${gate} }`,
  );
  for (const file of ['gate.dot', 'plain.dot'])
    await asked(['run', file], { runId: file.replace('.dot', '-1') });
  const pruned = await asked(['prune'], { keep: 0, undelivered: true, json: true });
  expect(JSON.parse(pruned.out).kept).toMatchObject([{ run_id: 'gate-1', why: 'suspended' }]);
  expect(left()).toEqual(['gate-1']);
});

test('prune removes a run when it is older than --older and not among the --keep newest', async () => {
  const long = (ago: number) => new Date(Date.now() - ago * 86_400_000);
  for (const name of ['manifest.json', 'journal.jsonl', 'checkpoint.json', 'result.json'])
    for (const id of ['done', 'cut'])
      if (existsSync(join(runs, id, name))) utimesSync(join(runs, id, name), long(20), long(20));
  expect((await asked(['prune'], { older: '30d', undelivered: true })).out).toMatch(/^removed 0 runs/);
  // The newest of the three is "cut".
  expect((await asked(['prune'], { older: '14d', keep: 1, undelivered: true })).out).toContain(
    'removed done',
  );
  expect(left()).toEqual(['cut', 'made']);
});

test('wait answers with the exit code of the run, and with 124 when the time is up', async () => {
  expect(await asked(['wait', 'done'])).toMatchObject({
    code: 0,
    out: 'run done: completed: 3 nodes done\n',
  });
  const both = await asked(['wait', 'done', 'cut'], { json: true });
  const { runs: records } = JSON.parse(both.out);
  expect(records).toMatchObject([
    { run_id: 'done', exit_code: 0 },
    { run_id: 'cut', exit_code: both.code },
  ]);
  expect(both.code).not.toBe(0);
  const lock = await locked('cut');
  expect(await asked(['wait', 'cut'], { timeout: '10ms' })).toMatchObject({
    code: 124,
    out: 'run cut is still running\n',
  });
  await lock.release();
});

test('rm takes no title for a run, removes nothing with --dry-run, and asks a person on a terminal', async () => {
  const before = left();
  const titled = await asked(['rm', 'plain.dot'], { force: true });
  expect(titled.code).toBe(2);
  expect(titled.err).toMatch(/"plain\.dot" is a title, not the id of a run[\s\S]*name a run by its id: /);
  const dry = await asked(['rm', 'done'], { dryRun: true });
  expect(dry).toMatchObject({ code: 0, out: expect.stringMatching(/^would remove done \(completed, /) });
  expect(left()).toEqual(before);
  const answered = async (key: string) => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    let shown = '';
    output.on('data', (piece: Buffer) => {
      shown += piece;
    });
    const ended = asked(['rm', 'done'], {}, { terminal: { input, output, interrupt: () => {} } });
    await expect.poll(() => shown).toContain('Remove this run with all files?');
    input.write(key);
    return ended;
  };
  expect(await answered('\r')).toMatchObject({
    code: 1,
    err: expect.stringContaining('nothing was removed'),
  });
  expect(left()).toEqual(before);
  expect((await answered('y')).code).toBe(0);
  expect(left()).not.toContain('done');
});
