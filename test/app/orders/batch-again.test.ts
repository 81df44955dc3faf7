/** A batch that is run again. */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { git, put, repository } from '../../builder/support.ts';
import { home } from '../../support/in-process.ts';
import { answer, order } from './support.ts';

const answered = (n: number, more: object = {}) => answer(`f${n}.txt`, `${n}\n`, more);
const script = (...propose: object[]): string =>
  JSON.stringify({ format: 'factory-script/1', answers: { propose } });

const usage = { input_tokens: 20, output_tokens: 10, cost_usd: 0 };
const flags = ['--repo', 'repo', '--workdir', 'wos', '--artifacts-dir', 'art', '--no-push'];

/** A repository, two orders, and a batch of them whose model gives these answers, one order after the other. */
async function place() {
  const orders = { 'wos/WO-01.json': JSON.stringify(order(1)), 'wos/WO-02.json': JSON.stringify(order(2)) };
  const it = await home({ ...orders, 'script.json': script() });
  const repo = join(it.path, 'repo');
  put(repo, { 'scripts/verify.sh': 'exit 0\n' });
  repository(repo);
  const agent = ['--agent', 'scripted', '--script', 'script.json', '--max-attempts', '1'];
  const batch = (answers: readonly object[], ...more: string[]) => {
    writeFileSync(join(it.path, 'script.json'), script(...answers));
    return it.factory(['order', 'run-all', ...flags, ...agent, ...more]);
  };
  return Object.assign(it, { repo, batch });
}

test('run again on the branch it made, a batch skips what is committed there, and another repository is not concerned', async () => {
  await using it = await place();
  expect((await it.batch([answered(1)])).code).toBe(1);
  const branch = git(it.repo, 'branch', '--show-current');
  expect((await it.batch([answered(2)])).code).toBe(0);
  const again = await it.batch([]);
  expect(again.code, again.stdout + again.stderr).toBe(0);
  expect(again.stdout).toContain('Nothing to do');
  expect(git(it.repo, 'for-each-ref', '--format=%(refname:short)', 'refs/heads')).toBe(`${branch}\nmain`);

  // A run on another repository begins with the same commit.
  git(it.path, 'clone', '-q', '-b', 'main', 'repo', 'other');
  await it.batch([answered(1)], '--repo', 'other', '--branch', branch);
  expect(git(join(it.path, 'other'), 'log', '--format=%s', `main..${branch}`)).toBe('WO-01: Step 1');
});

test('a batch stopped by an order that cannot be read reports the orders before it and its exit code', async () => {
  await using it = await place();
  put(it.path, { 'wos/WO-02.json': '{ torn' });
  const ran = await it.batch([answered(1)], '--branch', 'mine', '--json');
  expect(ran.code, ran.stderr).toBe(1);
  expect(JSON.parse(ran.stdout)).toMatchObject({
    status: 'refused',
    exit_code: 1,
    problems: [{ message: expect.stringContaining('WO-02.json cannot be read') }],
    orders: [{ name: 'WO-01.json', skipped: false, verdict: 'PASS', branch: 'mine' }],
  });
  expect(git(it.repo, 'log', '--format=%s', 'main..mine')).toBe('WO-01: Step 1');
  const again = await it.batch([], '--branch', 'mine', '--json');
  expect(JSON.parse(again.stdout).orders).toMatchObject([{ name: 'WO-01.json', skipped: true }]);
});

test('an order whose promised file was removed is built again', async () => {
  await using it = await place();
  const all = ['--branch', 'mine', '--reuse-branch'];
  expect((await it.batch([answered(1)], '--branch', 'mine')).code).toBe(1);
  git(it.repo, 'rm', '-q', 'f1.txt');
  git(it.repo, 'commit', '-q', '-m', 'not wanted');
  await it.batch([answered(1)], ...all);
  expect(git(it.repo, 'log', '--format=%s', 'main..mine').split('\n')).toEqual([
    'WO-01: Step 1',
    'not wanted',
    'WO-01: Step 1',
  ]);
});

test('with --commit-hash, orders committed after that commit are built again', async () => {
  await using it = await place();
  expect((await it.batch([answered(1)])).code).toBe(1);
  const older = await it.batch([answered(1)], '--branch', 'mine', '--commit-hash', 'main');
  expect(older.code).toBe(1);
  expect(older.stdout).not.toContain('already committed');
  expect(git(it.repo, 'log', '--format=%s', 'main..mine')).toBe('WO-01: Step 1');
  git(it.repo, 'switch', '-q', '-');
  const auto = await it.batch([answered(1)], '--commit-hash', 'main');
  expect(auto.stdout).not.toContain('already committed');
  const none = await it.batch([], '--branch', 'other', '--commit-hash', 'nowhere');
  expect(none.stderr).toContain('there is no commit "nowhere"');
  expect(none.code).toBe(1);
});

test('an interrupted order that a batch resumes has the limits of the new command', async () => {
  await using it = await place();
  const ends = { ...order(1), acceptance_commands: ['bash -c "test -f ../go || sleep 20; false"'] };
  put(it.path, {
    'wos/WO-01.json': JSON.stringify(ends),
    'script.json': script(answered(1, { usage }), answered(1, { usage })),
  });
  const begin = ['order', 'run-all', ...flags, '--agent', 'scripted', '--script', 'script.json'];
  let cut = false;
  const ran = await it.factory(begin, {
    watch: (line, process) => {
      if (cut || !line.includes('node=accept')) return;
      cut = true;
      process.kill('SIGTERM');
    },
  });
  expect(ran.code, ran.stderr).toBe(130);
  const [id = ''] = readdirSync(join(it.path, 'art/factory'));
  put(it.path, { [`.factory/runs/${id}/go`]: '' });
  const again = await it.factory([...begin, '--max-tokens', '10']);
  expect(readdirSync(join(it.path, 'art/factory'))).toEqual([id]);
  expect(again.stdout, again.stderr).toContain('30 tokens');
});
