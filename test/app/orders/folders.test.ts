/** Directories that cannot be created or used: found before a model is paid. */
import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { plainHost } from '../../../src/app/embedded.ts';
import { runOrder } from '../../../src/app/orders/run-order.ts';
import { readSource } from '../../../src/app/orders/sources.ts';
import { inspect } from '../../../src/git/repository.ts';
import { realSpawn } from '../../../src/platform/process/spawn.ts';
import { bareEnv, git, put, repository } from '../../builder/support.ts';
import { home } from '../../support/in-process.ts';
import { answer, order } from './support.ts';

const answers = { propose: [answer('f1.txt', '1\n')] };

/** A repository whose check runs `verify`, and the command that carries out the order there. */
async function place(verify: (path: string) => string) {
  const it = await home({
    'order.json': JSON.stringify(order(1)),
    'script.json': JSON.stringify({ format: 'factory-script/1', answers }),
    'file.txt': '',
  });
  const repo = join(it.path, 'repo');
  put(repo, { 'scripts/verify.sh': verify(it.path) });
  repository(repo);
  const begin = ['order', 'run', '--repo', 'repo', '--work-order', 'order.json', '--no-push'];
  const agent = ['--agent', 'scripted', '--script', 'script.json'];
  return Object.assign(it, {
    repo,
    order: (...more: string[]) => it.factory([...begin, ...agent, ...more]),
  });
}

test('a directory below a file is refused before anything begins', async () => {
  await using it = await place(() => 'exit 0\n');
  for (const flag of ['--artifacts-dir', '--out']) {
    const ran = await it.order(flag, 'file.txt/deep/er');
    expect(ran.stderr).toMatch(
      new RegExp(`error\\[order\\]: ${flag} ${it.path}/file.txt/deep/er\\S* cannot be created: `),
    );
    expect(ran.code).toBe(1);
    expect(existsSync(join(it.path, '.factory/runs'))).toBe(false);
  }
});

test('a directory for runs in the repository is refused', async () => {
  await using it = await place(() => 'exit 0\n');
  const begin = ['order', 'run', '--repo', '.', '--work-order', '../order.json', '--runsdir', 'runs'];
  const ran = await it.factory(begin, { cwd: it.repo });
  const where = `${it.path}/repo/runs is in the repository, and git does not ignore it`;
  expect(ran.stderr).toContain(`error[order]: --runsdir ${where}`);
  expect(ran.code).toBe(1);
});

test('a copy of the artifacts among the artifacts or the runs is refused before anything begins', async () => {
  await using it = await place(() => 'exit 0\n');
  symlinkSync('.', join(it.path, 'link'));
  for (const out of ['artifacts/factory', 'link/.factory/runs/x']) {
    const ran = await it.order('--out', out);
    expect(ran.stderr).toContain('is a directory of runs or artifacts');
    expect(ran.code).toBe(1);
    expect(['artifacts', '.factory'].filter((name) => existsSync(join(it.path, name)))).toEqual([]);
  }
});

test('a copy of the artifacts that fails is a warning: the order has landed, and the next one runs', async () => {
  await using it = await place((path) => `rm -rf '${path}/copy'; : > '${path}/copy'\n`);
  const ran = await it.order('--out', 'copy', '--branch', 'one');
  expect(ran.code, ran.stderr).toBe(0);
  expect(ran.stderr).toContain('WARNING: the artifacts could not be copied to ');
  expect(git(it.repo, 'log', '--format=%s', 'main..one')).toBe('WO-01: Step 1');
  const [id = ''] = readdirSync(join(it.path, 'artifacts/factory'));
  const record = JSON.parse(readFileSync(join(it.path, 'artifacts/factory', id, 'run.json'), 'utf8'));
  expect(record.verdict).toBe('PASS');
  git(it.repo, 'switch', '-q', 'main');
  const next = await it.order('--branch', 'two');
  expect(next.code, next.stderr).toBe(0);
  expect(readdirSync(join(it.path, 'artifacts/factory'))).toHaveLength(2);
});

test('a second run with the same id removes nothing of the first', async () => {
  await using it = await place(() => 'exit 0\n');
  // The state after both have found that the run does not exist.
  put(it.path, { 'runs/A/x': '', 'artifacts/factory/A/attempt_1/x': 'first' });
  const env = bareEnv(it.path);
  const [source, repo] = [await readSource(join(it.path, 'order.json')), await inspect(it.repo, env)];
  if ('problems' in source || 'problem' in repo) throw new Error('no order');
  const wish = {
    ...{ runId: 'A', runsDir: join(it.path, 'runs'), artifacts: join(it.path, 'artifacts'), out: undefined },
    ...{ branch: 'mine', reuse: false, create: false, commit: undefined, push: false, allowExempt: false },
    ...{ model: 'm', temperature: undefined, maxAttempts: 1, timeoutSeconds: 9, batch: null },
    ...{ agent: 'scripted', script: join(it.path, 'script.json') },
  };
  const doors = { ...plainHost({ cwd: it.path, env }), spawn: realSpawn };
  const told = await runOrder(repo, source, wish, doors);
  expect(told).toMatchObject({ problems: [{ message: expect.stringContaining('there is a run "A"') }] });
  expect(await it.read('artifacts/factory/A/attempt_1/x')).toBe('first');
});
