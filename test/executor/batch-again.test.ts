/** A batch that is asked for again, from elsewhere than where it ended. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { git, put, repository } from '../builder/support.ts';
import { home } from '../support/in-process.ts';
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

test('from where the batch began: what is on its branch is stepped over, and told of as it was', async () => {
  await using it = await place();
  expect((await it.batch([answered(1)])).code).toBe(1);
  const branch = git(it.repo, 'branch', '--show-current');
  const record = join(it.path, 'art', branch.replace(/^factory\/adhoc/, 'factory'), 'run.json');
  const before = readFileSync(record, 'utf8');
  expect((await it.batch([answered(2)])).code).toBe(0);
  git(it.repo, 'switch', '-q', 'main');
  const again = await it.batch([]);
  expect(again.code, again.stdout + again.stderr).toBe(0);
  expect(again.stdout).toContain('Nothing to do');
  expect(readFileSync(record, 'utf8')).toBe(before);
  expect(git(it.repo, 'for-each-ref', '--format=%(refname:short)', 'refs/heads')).toBe(`${branch}\nmain`);

  // A run on another repository is not this one's, though both begin with the same commit.
  git(it.path, 'clone', '-q', '-b', 'main', 'repo', 'other');
  await it.batch([answered(1)], '--repo', 'other', '--branch', branch);
  expect(git(join(it.path, 'other'), 'log', '--format=%s', `main..${branch}`)).toBe('WO-01: Step 1');
});

test('stopped by an order that cannot be read, it says what is done, and with which code it ends', async () => {
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

test('an order is made again whose promised file somebody has taken away since', async () => {
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

test('from an older commit that is named: what a later one holds is made again', async () => {
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

test('an order that a batch goes on with keeps to the limits that are given now', async () => {
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
