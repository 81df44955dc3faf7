import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readPipeline } from '../../src/app/read-pipeline.ts';
import { forkRun, resumeRun, startRun } from '../../src/app/run/index.ts';
import { openRun } from '../../src/run/open-run.ts';
import { temp } from '../platform/temp.ts';
import { plainFlags, quietDoors } from '../support/host.ts';

const plain = { FACTORY_SANDBOX: 'none' };

/** A run `old` that has failed at no exit, and what a fork of it needs. */
async function begun(dir: string) {
  writeFileSync(
    join(dir, 'p.dot'),
    'digraph g { workdir="none"; max_steps=1; start [shape=Mdiamond]; exit [shape=Msquare]; start -> exit }',
  );
  const { graph } = await readPipeline('p.dot', dir);
  if (graph === undefined) throw new Error('the pipeline is sound');
  const runsDir = join(dir, 'runs');
  const start = (runId: string, env: Readonly<Record<string, string>>) =>
    startRun(graph, { runsDir, runId }, plainFlags, quietDoors(dir, env));
  await start('old', plain);
  const old = join(runsDir, 'old');
  const fork = async (env: Readonly<Record<string, string>>) => {
    const read = openRun(old).history();
    const visit = read.ok ? read.records[1] : undefined;
    if (!read.ok || visit?.type !== 'Visit') throw new Error('the run has made a visit');
    const moment = { ok: true, visit, before: false, snapshot: visit.after, records: read.records } as const;
    return forkRun(old, moment, undefined, { runsDir, runId: 'new' }, plainFlags, quietDoors(dir, env));
  };
  const resume = (env: Readonly<Record<string, string>>) =>
    resumeRun(old, graph, { ...plainFlags, max_steps: 9 }, quietDoors(dir, env));
  return { start: (env: Readonly<Record<string, string>>) => start('new', env), fork, resume, runsDir };
}

test.each([
  ['a folder', 'folder', 'which is a folder'],
  ['a text', 'text', 'which is not a budget file'],
  ['the budget of another version', 'other', 'which is not a budget file'],
  ['a place without a folder', 'gone/budget.json', 'which cannot be used: '],
  ['a place below a file', 'text/budget.json', 'which is not in a directory'],
])('FACTORY_BUDGET that names %s is refused before a run is made', async (_, name, why) => {
  await using it = await temp();
  mkdirSync(it.at('folder'));
  writeFileSync(it.at('text'), 'five dollars');
  const budget = { usd: 1, tokens: 1, ms: 1, unknown_cost: 'stop' };
  writeFileSync(it.at('other'), JSON.stringify({ schema_version: 2, ...budget }));
  const run = await begun(it.dir);
  const env = { ...plain, FACTORY_BUDGET: it.at(name) };
  const refusal = {
    problems: [
      { code: 'budget', message: expect.stringContaining(`FACTORY_BUDGET names ${it.at(name)}, ${why}`) },
    ],
  };
  expect(await run.start(env)).toMatchObject(refusal);
  expect(await run.fork(env)).toMatchObject(refusal);
  expect(await run.resume(env)).toMatchObject(refusal);
  expect(existsSync(join(run.runsDir, 'new'))).toBe(false);
});

test('a sandbox that there is not is refused before a fork is made', async () => {
  await using it = await temp();
  const run = await begun(it.dir);
  expect(await run.fork({ FACTORY_SANDBOX: 'non' })).toMatchObject({ problems: [{ code: 'sandbox' }] });
  expect(existsSync(join(run.runsDir, 'new'))).toBe(false);
});

test.each([
  ['HOME', 'text/x'],
  ['HOME', 'text'],
  ['XDG_STATE_HOME', 'text/x/y'],
  ['FACTORY_KEYS', 'text/keys'],
])('%s that lies at %s, where text is a file, is refused before a run is made', async (name, path) => {
  await using it = await temp();
  writeFileSync(it.at('text'), 'five dollars');
  const run = await begun(it.dir);
  const env = { ...plain, [name]: it.at(path) };
  const message = `${name} is ${it.at(path)}, but ${it.at('text')} is a file, and not a folder`;
  const refusal = {
    problems: [{ code: 'environment', message, fix: expect.stringMatching(`^set ${name} to a folder`) }],
  };
  expect(await run.start(env)).toEqual({ problems: [{ ...refusal.problems[0], severity: 'error' }] });
  expect(await run.fork(env)).toMatchObject(refusal);
  expect(await run.resume(env)).toMatchObject(refusal);
  expect(readdirSync(run.runsDir)).toEqual(['old']);
});

test.each(['/dev/null', '/missing/home'])(
  'a user whose HOME is %s has no home, and runs start',
  async (HOME) => {
    await using it = await temp();
    const run = await begun(it.dir);
    expect(await run.start({ ...plain, HOME })).not.toHaveProperty('problems');
  },
);
