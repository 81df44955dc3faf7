/** `factory run --base COMMIT --holdout-of RUN`: another commit of the workdir, judged by what an earlier run has sealed. */
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { house } from '../support/house.ts';
import { onDisk } from '../support/temporary.ts';

onDisk();

/** The tool makes commits, so that the run has a history; what the builder can see of the workspace is in its output. */
const pipeline = `digraph judged {
  workdir="w"
  start [shape=Mdiamond]
  look [shape=parallelogram, access="run", tool_command="find . -name .git -prune -o -type f -print | sort; cat a.txt"]
  next [shape=parallelogram, access="run", tool_command="factory order next"]
  judge [shape=parallelogram, tool_command="cat scripts/scenarios/*.sh"]
  exit [shape=Msquare]
  start -> look
  look -> next [condition="outcome=success"]
  next -> judge [condition="outcome=fail && failure_class!=product"]
  judge -> exit [condition="outcome=success"]
}`;
const quiet = { quiet: true } as const;

async function ran(flags: Readonly<Record<string, string>>, more: Readonly<Record<string, string>> = {}) {
  const files = { 'p.dot': pipeline, 'w/a.txt': 'first\n', 'suite/a.sh': '# the sealed suite\n', ...more };
  const it = await house(files, () => ({ FACTORY_SANDBOX: 'none' }));
  const git = (...words: string[]) =>
    execFileSync('git', ['-C', join(it.path, 'w'), '-c', 'user.name=a', '-c', 'user.email=a@b', ...words], {
      encoding: 'utf8',
    }).trim();
  git('init', '--quiet');
  git('add', '--all');
  git('commit', '--quiet', '--message', 'first');
  const told = await it.run('p.dot', { runId: 'base', ...quiet, ...flags });
  expect(told.code, told.err).toBe(0);
  const output = (run: string, node: string) => it.read(`.factory/runs/${run}/${node}/tool.stdout.txt`);
  const sealed = (run: string) => it.json(`.factory/runs/${run}/manifest.json`).holdout;
  return Object.assign(it, { git, output, sealed });
}

test('a run of another commit has the sealed scenarios of an earlier run, though their folder is gone', async () => {
  await using it = await ran({ holdout: 'suite' });
  const base = it.git('rev-parse', 'HEAD');
  writeFileSync(join(it.path, 'w/a.txt'), 'second\n');
  it.git('commit', '-qam', 'second');
  // Changes of the working tree are left out.
  writeFileSync(join(it.path, 'w/a.txt'), 'unfinished\n');
  rmSync(join(it.path, 'suite'), { recursive: true });
  const told = await it.run('p.dot', { runId: 'again', base, holdoutOf: 'base', ...quiet });
  expect(told.code, told.err).toBe(0);
  expect(it.output('again', 'look')).toMatch(/^\.\/a\.txt\nfirst\n/);
  expect(it.output('again', 'judge')).toBe('# the sealed suite\n');
  const { key: _, store_sha256: __, ...facts } = it.sealed('again');
  expect(it.sealed('base')).toMatchObject(facts);
  expect(it.json('.factory/runs/again/manifest.json').git.base_commit).toBe(base);
  expect((await it.verb(['audit', 'again'])).code).toBe(0);
  const head = it.git('rev-parse', 'HEAD');
  const third = await it.run('p.dot', { runId: 'third', base: head, holdoutOf: 'again', ...quiet });
  expect(third.code, third.err).toBe(0);
  expect(it.output('third', 'look')).toMatch(/^\.\/a\.txt\nsecond\n/);
});

test('--base counts also for a pipeline that makes no commits', async () => {
  await using it = await ran({ holdout: 'suite' });
  const base = it.git('rev-parse', 'HEAD');
  writeFileSync(join(it.path, 'w/a.txt'), 'second\n');
  it.git('commit', '-qam', 'second');
  const checks = pipeline
    .replace('factory order next', 'echo new > made.txt')
    .replace('outcome=fail && failure_class!=product', 'outcome=success');
  writeFileSync(join(it.path, 'checks.dot'), checks);
  const told = await it.run('checks.dot', { runId: 'again', base, holdoutOf: 'base', ...quiet });
  expect(told.code, told.err).toBe(0);
  expect(it.output('again', 'look')).toMatch(/^\.\/a\.txt\nfirst\n/);
  expect(it.output('again', 'judge')).toBe('# the sealed suite\n');
  expect(it.json('.factory/runs/again/manifest.json').base_commit).toBe(base);
  expect((await it.verb(['verify', 'again'])).code).toBe(0);
  // What it changed is in no commit, so that no delivery is proposed.
  expect(it.json('.factory/runs/again/result.json').next).toBe('');
  // A name of a commit is one, too; any other word is refused.
  const named = await it.run('checks.dot', { runId: 'named', base: 'HEAD~1', holdoutOf: 'base', ...quiet });
  expect(named.code, named.err).toBe(0);
  expect(it.json('.factory/runs/named/manifest.json').base_commit).toBe(base);
  const none = await it.run('checks.dot', { runId: 'none', base: 'nothing', ...quiet });
  expect([none.code, none.err]).toEqual([2, expect.stringMatching(/base-commit.*has no commit nothing/)]);
});

test('scenarios in commits of the workdir stay hidden in each of them', async () => {
  await using it = await ran(
    { holdout: 'w/hidden' },
    { 'w/hidden/a.sh': '# the sealed suite\n', 'w/scripts/scenarios/old.sh': '# an old suite\n' },
  );
  writeFileSync(join(it.path, 'w/hidden/a.sh'), '# another suite\n');
  writeFileSync(join(it.path, 'w/scripts/scenarios/old.sh'), '# another old one\n');
  it.git('commit', '-qam', 'second');
  const base = it.git('rev-parse', 'HEAD~1');
  const told = await it.run('p.dot', { runId: 'again', base, holdoutOf: 'base', ...quiet });
  expect(told.code, told.err).toBe(0);
  expect(it.output('again', 'look')).toMatch(/^\.\/a\.txt\nfirst\n/);
  expect(it.output('again', 'judge')).toBe('# the sealed suite\n');
});

test.for([
  ['a run that is not there', 'nothing', /--holdout-of: /],
  ['a run without a holdout', 'base', /run base has no holdout/],
  ['a path', '../base', /--holdout-of: the run id/],
] as const)('%s has no scenarios to judge by', async ([, of, why]) => {
  await using it = await ran({}, { 'p.dot': pipeline.replace('cat scripts/scenarios/*.sh', 'true') });
  const told = await it.run('p.dot', { runId: 'again', holdoutOf: of, ...quiet });
  expect([told.code, told.err]).toEqual([2, expect.stringMatching(why)]);
});
