import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Clock } from '../../src/core/contracts/clock.ts';
import { manifestSchema } from '../../src/core/records/manifest.ts';
import { realClock } from '../../src/platform/clock.ts';
import { acquireLock } from '../../src/run/lock.ts';
import { openRun } from '../../src/run/open-run.ts';
import { findRun, makeRunsDir, newRunId, newRunIdProblem, validRunId } from '../../src/run/runs.ts';
import { listRuns } from '../../src/run/summary.ts';
import { temp } from '../platform/temp.ts';

const put = (path: string, value: unknown) => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value));
};

/** The mark of an empty journal, as a checkpoint has it. */
const journal = { records: 0, sha256: '', bytes: 0 };

describe('a run id', () => {
  test.for(['01JQ', 'a', 'x'.repeat(100), 'run-1_b.c', '0..1'])('may be %s', (id) => {
    expect(validRunId(id)).toBeUndefined();
  });

  test.for([
    '',
    '.',
    '..',
    '../x',
    'a/b',
    '/abs',
    '.hidden',
    '-flag',
    '_x',
    'a b',
    'a\n',
    'ä',
    'a\0',
    'x'.repeat(101),
  ])('may not be %j', (id) => {
    expect(validRunId(id)).toMatch(/run id/);
  });

  test('that names the run started last is refused for a new run', () => {
    expect(newRunIdProblem('latest')).toBe('"latest" names the run that was started last');
    expect(newRunIdProblem('-1')).toMatch(/run/);
    expect(newRunIdProblem('latest-1')).toBeUndefined();
  });

  test.for(['queue', 'Holds', 'spend', 'schedules', 'github'])(
    'that names the shared folder %s is refused',
    (id) => {
      expect(newRunIdProblem(id)).toBe(`"${id}" is the name of a folder that all runs share`);
      expect(newRunIdProblem(`${id}-1`)).toBeUndefined();
    },
  );

  test('of a new run is a ULID of the current time', () => {
    const at = (ms: number): Clock => ({ ...realClock, now: () => new Date(ms) });
    const [early, late] = [newRunId(at(1_700_000_000_000)), newRunId(at(1_700_000_000_001))];
    expect(early).toMatch(/^[0-9A-HJKMNP-TV-Z]{26}$/);
    expect(early < late).toBe(true);
    expect(newRunId(at(1))).not.toBe(newRunId(at(1)));
    expect(validRunId(early)).toBeUndefined();
  });
});

describe('a runs directory', () => {
  test('in the default place is kept out of git; elsewhere nothing is added', async () => {
    await using it = await temp();
    await makeRunsDir(it.at('w', '.factory', 'runs'));
    await makeRunsDir(it.at('w', '.factory', 'runs'));
    expect(readFileSync(it.at('w', '.factory', '.gitignore'), 'utf8')).toBe('*\n');
    expect(readdirSync(it.at('w', '.factory', 'runs'))).toEqual([]);
    await makeRunsDir(it.at('given', 'runs'));
    expect(existsSync(it.at('given', '.gitignore'))).toBe(false);
    writeFileSync(it.at('w', '.factory', '.gitignore'), 'mine\n');
    await makeRunsDir(it.at('w', '.factory', 'runs'));
    expect(readFileSync(it.at('w', '.factory', '.gitignore'), 'utf8')).toBe('mine\n');
  });

  test.each(['', '*'])(
    'is kept out of git although its creator was killed after writing "%s"',
    async (torn) => {
      await using it = await temp();
      mkdirSync(it.at('w', '.factory'), { recursive: true });
      writeFileSync(it.at('w', '.factory', '.gitignore'), torn);
      await makeRunsDir(it.at('w', '.factory', 'runs'));
      expect(readFileSync(it.at('w', '.factory', '.gitignore'), 'utf8')).toBe('*\n');
    },
  );
});

describe('finding a run', () => {
  async function some() {
    const it = await temp();
    for (const id of ['abc', 'abd', 'abcd', 'xyz']) put(it.at('runs', id, 'manifest.json'), {});
    put(it.at('runs', 'notes', 'readme'), '');
    put(it.at('runs', '.new.part', 'manifest.json'), {});
    return it;
  }

  test.for([
    { name: 'xyz', id: 'xyz' },
    { name: 'x', id: 'xyz' },
    { name: 'abc', id: 'abc' },
    { name: 'abcd', id: 'abcd' },
  ])('$name is $id', async ({ name, id }) => {
    await using it = await some();
    expect(await findRun(it.at('runs'), name)).toEqual({ ok: true, id, dir: it.at('runs', id) });
  });

  test('by the path of its directory needs no runs directory', async () => {
    await using it = await some();
    expect(await findRun('/nowhere', `${it.at('runs', 'xyz')}/`)).toMatchObject({ ok: true, id: 'xyz' });
    symlinkSync(it.at('runs', 'xyz'), it.at('link'));
    expect(await findRun('/nowhere', it.at('link'))).toEqual({
      ok: true,
      id: 'xyz',
      dir: it.at('runs', 'xyz'),
    });
  });

  test.for([
    { name: 'ab', why: /3 run ids begin with "ab": abc, abcd, abd/ },
    { name: 'q', why: /no run "q" in .* \(it has: xyz, abd, abcd, abc\)/ },
    { name: 'notes', why: /no run "notes"/ },
    { name: '.new.part', why: /no run/ },
    { name: '', why: /empty/ },
    { name: '../runs', why: /no run/ },
  ])('"$name" is refused with the reason', async ({ name, why }) => {
    await using it = await some();
    expect(await findRun(it.at('runs'), name)).toEqual({ ok: false, why: expect.stringMatching(why) });
  });

  test('in a folder without runs reports that', async () => {
    await using it = await temp();
    for (const place of [it.at('none'), it.at('x'.repeat(300))])
      expect(await findRun(place, 'x')).toMatchObject({
        ok: false,
        why: expect.stringMatching(/it has no runs/),
      });
  });
});

test('runs are listed newest first with their state, damaged and crashed ones too', async () => {
  await using it = await temp();
  const run = (id: string, started_at: string, status: string) => {
    put(it.at(id, 'manifest.json'), { started_at, pipeline_path: `${id}.dot` });
    put(it.at(id, 'journal.jsonl'), '');
    put(it.at(id, 'checkpoint.json'), { status, journal });
  };
  run('a', '2026-01-03T00:00:00Z', 'completed');
  run('b', '2026-01-01T00:00:00Z', 'failed');
  run('c', '2026-01-02T00:00:00Z', 'running');
  run('d', '2026-01-04T00:00:00Z', 'running');
  put(it.at('e', 'journal.jsonl'), '');
  put(it.at('e', 'checkpoint.json'), '{');
  const answer = await acquireLock(it.at('d'), { clock: realClock });
  const runs = await listRuns(it.dir, realClock);
  expect(runs.map(({ id, status, pipeline }) => [id, status, pipeline])).toEqual([
    ['d', 'running', 'd.dot'],
    ['a', 'completed', 'a.dot'],
    ['c', 'crashed', 'c.dot'],
    ['b', 'failed', 'b.dot'],
    ['e', 'unreadable', ''],
  ]);
  put(it.at('f', 'manifest.json'), { started_at: '2026-01-05T00:00:00Z', pipeline_path: 'f.dot' });
  put(it.at('f', 'journal.jsonl'), '');
  put(it.at('f', 'checkpoint.json'), {
    journal,
    status: 'failed',
    next_node: null,
    elapsed_ms: 1200,
    ended: { exit_node: 'bad', reason: 'because' },
    last_failure: { node: 'check' },
  });
  expect((await listRuns(it.dir, realClock))[0]).toMatchObject({
    id: 'f',
    elapsedMs: 1200,
    reason: 'because',
    nextNode: '',
    failedNode: 'check',
  });
  expect(await listRuns(join(it.dir, 'none'), realClock)).toEqual([]);
  if (answer.kind === 'acquired') await answer.lock.release();
});

test('a run whose owner is unknown is unreadable, and the others are listed', async () => {
  await using it = await temp();
  for (const id of ['a', 'b']) {
    put(it.at(id, 'manifest.json'), { started_at: '2026-01-05T00:00:00Z', pipeline_path: 'r.dot' });
    put(it.at(id, 'journal.jsonl'), '');
    put(it.at(id, 'checkpoint.json'), { status: 'running', journal });
  }
  symlinkSync('lock', it.at('a', 'lock'));
  const runs = await listRuns(it.dir, realClock);
  expect(runs.map(({ id, status }) => [id, status])).toEqual([
    ['b', 'crashed'],
    ['a', 'unreadable'],
  ]);
  expect(await acquireLock(it.at('a'), { clock: realClock })).toMatchObject({
    kind: 'refused',
    why: expect.stringContaining('but is something else'),
  });
});

const stood = { next_node: 'check', ended: { reason: 'because' } };
test.for([
  { status: 'failed', ...stood },
  { status: 'interrupted', next_node: 'check' },
  { status: 'paused_quota', next_node: 'check', parked: { reason: 'quota' } },
])('a run that was $status is running once a process owns it', async (checkpoint) => {
  await using it = await temp();
  put(it.at('r', 'manifest.json'), { started_at: '2026-01-05T00:00:00Z', pipeline_path: 'r.dot' });
  put(it.at('r', 'journal.jsonl'), '');
  put(it.at('r', 'checkpoint.json'), { ...checkpoint, journal });
  const answer = await acquireLock(it.at('r'), { clock: realClock });
  const how = async () => (await listRuns(it.dir, realClock))[0];
  expect(await how()).toMatchObject({ status: 'running', reason: '', nextNode: 'check' });
  if (answer.kind === 'acquired') await answer.lock.release();
  expect(await how()).toMatchObject({ status: checkpoint.status, nextNode: 'check' });
  // A run that has reached an exit is only read.
  put(it.at('r', 'journal.jsonl'), '');
  put(it.at('r', 'checkpoint.json'), { ...checkpoint, journal, status: 'failed', next_node: null });
  expect((await acquireLock(it.at('r'), { clock: realClock })).kind).toBe('acquired');
  expect(await how()).toMatchObject({ status: 'failed' });
});

test.for([undefined, '{"schema', 'null', '{"schema_version":2,"started_at":"x","pipeline_path":"r.dot"}'])(
  'a run that cannot be resumed because of its manifest is unreadable: %s',
  async (manifest) => {
    await using it = await temp();
    put(it.at('r', 'journal.jsonl'), '');
    put(it.at('r', 'checkpoint.json'), { status: 'failed', ...stood, journal });
    if (manifest !== undefined) put(it.at('r', 'manifest.json'), manifest);
    expect((await listRuns(it.dir, realClock))[0]).toMatchObject({ status: 'unreadable', reason: '' });
  },
);

test.for([
  { name: 'missing', text: undefined, why: /there is no .*manifest\.json, so .* is no run/ },
  { name: 'torn', text: '{"schema', why: /manifest\.json is not JSON/ },
  {
    name: 'of another version',
    text: '{"schema_version":2}',
    why: /has the form 2 \(schema_version\), .*the newer version of factory/,
  },
  { name: 'no run’s', text: '{"schema_version":1}', why: /no manifest of this version \(run_id: / },
])('a manifest that is $name is reported with the file and a fix', async ({ text, why }) => {
  await using it = await temp();
  if (text !== undefined) put(it.at('manifest.json'), text);
  expect(await openRun(it.dir).manifest()).toEqual({ ok: false, why: expect.stringMatching(why) });
});

test('a pipe or a huge file instead of a manifest is neither waited for nor read into memory', async () => {
  await using it = await temp();
  execFileSync('mkfifo', [it.at('manifest.json')]);
  expect(await openRun(it.dir).manifest()).toMatchObject({ why: expect.stringContaining('is no file') });
  put(it.at('other'), '');
  truncateSync(it.at('other'), 3e9);
  renameSync(it.at('other'), it.at('manifest.json'));
  expect(await openRun(it.dir).manifest()).toMatchObject({
    why: expect.stringContaining('has 3000000000 bytes'),
  });
});

test.for([
  { run_id: 'x; rm -rf ~' },
  { marker: '' },
  { variables: { spec: { value: '', file: { source: '/s', sha256: '', stored: '../../x' } } } },
  { files: { '../../x': '' } },
])('a manifest whose words lead elsewhere is none: %o', async (words) => {
  await using it = await temp();
  put(it.at('manifest.json'), JSON.stringify({ schema_version: 1, ...words }));
  const read = await openRun(it.dir).manifest();
  const [name = ''] = Object.keys(words);
  // Of many findings the first three are reported.
  expect(
    manifestSchema()
      .safeParse({ schema_version: 1, ...words })
      .error?.issues.map(({ path }) => path[0]),
  ).toContain(name);
  expect(read.ok).toBe(false);
});
