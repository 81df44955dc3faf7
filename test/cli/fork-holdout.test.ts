/** `factory fork RUN --before NODE --holdout DIR`: another suite for the same workspace and commits. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { house } from '../support/house.ts';
import { onDisk } from '../support/temporary.ts';

onDisk();

const runs = '.factory/runs';
/** The agent's answer is used once: a second call would fail. */
const pipeline = (more = '') => `digraph judged {
  workdir="w"
  agent_script="script.json"
  start [shape=Mdiamond]
  make [shape=box, prompt="Make it", response_file="made.txt", allowed_write_paths="made.txt", max_retries=0]
  ${more}
  judge [shape=parallelogram, tool_command="cat scripts/scenarios/*.sh >&2; ! grep -q stronger scripts/scenarios/a.sh || grep -q made made.txt"]
  exit [shape=Msquare]
  start -> make
  make -> ${more === '' ? 'judge' : 'next'} [condition="outcome=success"]
  judge -> exit [condition="outcome=success"]
}`;
const next = `next [shape=parallelogram, access="run", tool_command="factory order next"]
  next -> judge [condition="outcome=fail && failure_class!=product"]`;
const files = {
  'p.dot': pipeline(),
  'script.json': JSON.stringify({
    format: 'factory-script/1',
    answers: { make: [{ text: 'made\n' }] },
  }),
  'w/a.txt': 'a\n',
  'suite/a.sh': '# the first suite of scenarios\n',
  'stronger/a.sh': '# the stronger suite of scenarios\n',
  'stronger/b.sh': '# one more\n',
};
const quiet = { quiet: true } as const;

async function ran(
  more: Readonly<Record<string, string>> = {},
  flags: Readonly<Record<string, string>> = {},
) {
  const it = await house({ ...files, ...more }, () => ({ FACTORY_SANDBOX: 'none' }));
  const told = await it.run('p.dot', { runId: 'base', ...quiet, ...flags });
  expect(told.code, told.err).toBe(0);
  return it;
}

function commitAll(cwd: string): void {
  const git = (...words: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...words], { cwd });
  git('init', '--quiet');
  git('add', '--all');
  git('commit', '--quiet', '--message', 'all');
}

const manifest = (it: Awaited<ReturnType<typeof house>>, run: string) =>
  it.json(`${runs}/${run}/manifest.json`);

test('the fork is judged by the other suite, asks no agent, and its records say that the holdout is another one', async () => {
  await using it = await ran({}, { holdout: 'suite' });
  // Its key is not needed: the whole suite is replaced.
  rmSync(join(it.path, '.local'), { recursive: true });
  const told = await it.fork('base', { before: 'judge', holdout: 'stronger', runId: 'f', json: true });
  expect(told.code, told.err).toBe(0);
  expect(it.read(`${runs}/f/judge/tool.stderr.txt`)).toContain('the stronger suite');
  const { holdout, forked_from } = manifest(it, 'f');
  expect(forked_from).toMatchObject({ node: 'judge', before: true, changed: ['holdout'] });
  expect(holdout).toMatchObject({ paths: ['scripts/scenarios'], from: join(it.path, 'stronger'), files: 2 });
  expect(JSON.parse(told.out)).toMatchObject({ stages: 4, forked_from: { changed: ['holdout'] } });
  expect((await it.verb(['audit', 'f'], { json: true })).code).toBe(0);
  // A fork of the fork: the suite that it began with is not another one.
  const again = await it.fork('f', { at: 'judge', before: true, holdout: 'stronger', runId: 'ff', ...quiet });
  expect(again.code, again.err).toBe(0);
  expect(manifest(it, 'ff').forked_from.changed).toEqual([]);
});

test('a run without a holdout gets one, which git does not report in its history', async () => {
  await using it = await ran({ 'p.dot': pipeline(next).replace('cat scripts', 'true || cat scripts') });
  expect(manifest(it, 'base')).not.toHaveProperty('holdout');
  const told = await it.fork('base', { before: 'judge', holdout: 'stronger', runId: 'f', ...quiet });
  expect(told.code, told.err).toBe(0);
  expect(manifest(it, 'f').holdout).toMatchObject({ paths: ['scripts/scenarios'], files: 2 });
  expect(it.read(`${runs}/f/history.git/info/exclude`)).toContain('/scripts/scenarios\n');
  const tree = (run: string) => it.json(`${runs}/${run}/checkpoint.json`).snapshot;
  expect(tree('f')).toBe(tree('base'));
});

test('what agents of the run could read is no holdout for its fork', async () => {
  await using it = await ran({
    'w/known/a.sh': '# known\n',
    'p.dot': pipeline(next).replace('cat scripts', 'true || cat scripts'),
  });
  mkdirSync(join(it.path, 'w/later'));
  writeFileSync(join(it.path, 'w/later/a.sh'), '# made after the run\n');
  const fork = (holdout: string, runId: string) =>
    it.fork('base', { before: 'judge', holdout, runId, ...quiet });
  for (const [holdout, why] of [
    ['w/known', 'is in the workdir, and was in the workspace of run base: its agents could read it'],
    ['w', 'is the workdir, or contains it'],
    ['.', 'contains the runs directory'],
    [`${runs}/base/workspace`, 'lies in the runs directory'],
    ['nowhere', 'does not exist'],
    ['p.dot', 'is not a folder'],
  ] as const) {
    const told = await fork(holdout, 'no');
    expect([holdout, told.code]).toEqual([holdout, 2]);
    expect(told.err).toContain(why);
  }
  expect(existsSync(join(it.path, runs, 'no'))).toBe(false);
  expect((await fork('w/later', 'f')).code).toBe(0);
});

test('a commit that the run began with shows a folder to its agents, though the workspace is without it', async () => {
  await using it = await house(
    { ...files, 'p.dot': pipeline(next), 'w/acc/a.sh': '# tracked\n', 'w/.factoryignore': 'acc\n' },
    () => ({
      FACTORY_SANDBOX: 'none',
    }),
  );
  commitAll(join(it.path, 'w'));
  const began = await it.run('p.dot', { runId: 'base', holdout: 'suite', ...quiet });
  expect(began.code, began.err).toBe(0);
  const told = await it.fork('base', { before: 'judge', holdout: 'w/acc', runId: 'no', ...quiet });
  expect(told.code).toBe(2);
  expect(told.err).toContain('is in a commit that run base began with: its agents could read it');
});

test('scenarios of the workdir are made stronger in their place, though commits have them', async () => {
  await using it = await house(
    { ...files, 'p.dot': pipeline(next), 'w/scripts/scenarios/a.sh': '# first\n' },
    () => ({
      FACTORY_SANDBOX: 'none',
    }),
  );
  commitAll(join(it.path, 'w'));
  const began = await it.run('p.dot', { runId: 'base', ...quiet });
  expect(began.code, began.err).toBe(0);
  writeFileSync(join(it.path, 'w/scripts/scenarios/b.sh'), '# second\n');
  const told = await it.fork('base', {
    before: 'judge',
    holdout: 'w/scripts/scenarios',
    runId: 'f',
    ...quiet,
  });
  expect(told.code, told.err).toBe(0);
  const { holdout, forked_from } = manifest(it, 'f');
  expect([holdout.from, holdout.files, forked_from.changed]).toEqual(['workdir', 2, ['holdout']]);
});

test('scenarios of commits stay hidden in a fork, and in its forks, that are judged by a suite elsewhere', async () => {
  // A verification behind the judge would read the commits where they may be shown.
  const look = `look [type=verification, sees_holdout=false, verification.allowed_commands="git show"]
    plan [shape=parallelogram, sets_plan=true, sees_holdout=false, tool_command="echo '{\\"context_updates\\":{\\"verification.plan\\":{\\"files\\":[\\"a.txt\\"],\\"commands\\":[\\"git show HEAD:scripts/scenarios/a.sh\\"]}}}' > $FACTORY_OUTPUT"]
    failed [shape=Msquare]
    judge -> plan [condition="outcome=success"]; plan -> look; look -> exit [condition="outcome=success"]; look -> failed [condition="outcome=fail"]`;
  const dot = pipeline(next).replace('judge -> exit [condition="outcome=success"]', look);
  await using it = await house(
    { ...files, 'p.dot': dot, 'w/scripts/scenarios/a.sh': '# the first suite, committed\n' },
    () => ({
      FACTORY_SANDBOX: 'none',
    }),
  );
  commitAll(join(it.path, 'w'));
  await it.run('p.dot', { runId: 'base', ...quiet });
  for (const [from, runId] of [
    ['base', 'f'],
    ['f', 'ff'],
  ] as const) {
    await it.fork(from, { before: 'judge', holdout: 'stronger', runId, ...quiet });
    expect(manifest(it, runId).holdout).toMatchObject({ from: join(it.path, 'stronger'), committed: true });
    expect(it.read(`${runs}/${runId}/journal.jsonl`)).not.toContain('the first suite, committed');
    const said = readdirSync(join(it.path, runs, runId, 'look')).map((name) =>
      statSync(join(it.path, runs, runId, 'look', name)).isFile()
        ? it.read(`${runs}/${runId}/look/${name}`)
        : '',
    );
    expect(said.length).toBeGreaterThan(0);
    expect(said.join()).not.toContain('the first suite, committed');
  }
});

test('files of the product are not replaced by a holdout that the run did not have', async () => {
  await using it = await ran({ 'p.dot': pipeline().replaceAll('made.txt', 'scripts/scenarios/a.sh') });
  const told = await it.fork('base', { before: 'judge', holdout: 'stronger', runId: 'no', ...quiet });
  expect(told.code).toBe(2);
  expect(told.err).toContain('has scripts/scenarios/a.sh where the holdout would be (scripts/scenarios)');
});

test('--before with a node takes no --at, and with --at the word behind it is the run', async () => {
  await using it = await ran({}, { holdout: 'suite' });
  const both = await it.called(['fork', 'base', '--at', 'make', '--before=judge']);
  expect([both.code, both.err]).toEqual([2, expect.stringContaining('--at and --before name a node each')]);
  const told = await it.called(['fork', '--at', 'judge', '--before', 'base', '--run-id', 'f', '--quiet']);
  expect(told.code, told.err).toBe(0);
  expect(manifest(it, 'f').forked_from).toMatchObject({ node: 'judge', before: true, changed: [] });
});
