/** What `factory order run` proposes when it cannot go on, typed as it stands: with the runs in a folder of its own. */
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { emptySha, git, put, repository } from '../builder/support.ts';
import { cleanEnv, home } from '../support/cli.ts';

const order = {
  id: 'WO-01',
  title: 'Step 1',
  intent: 'One file.',
  preconditions: [],
  postconditions: [{ kind: 'file_exists', path: 'f.txt' }],
  allowed_files: ['f.txt'],
  forbidden: [],
  acceptance_commands: ['grep -q 1 f.txt'],
  context_files: ['f.txt'],
  notes: null,
};
const answers = {
  propose: [{ json: { summary: 's', writes: [{ path: 'f.txt', base_sha256: emptySha, content: '1\n' }] } }],
};

test('a branch that has moved, and a run that is there already', async () => {
  await using it = await home({
    'order.json': JSON.stringify(order),
    'script.json': JSON.stringify({ format: 'factory-script/1', answers }),
  });
  const repo = `${it.path}/repo`;
  put(repo, { 'scripts/verify.sh': `git -C '${repo}' branch mine 2>/dev/null || true\n` });
  repository(repo);
  const begin = [
    ...['order', 'run', '--repo', 'repo', '--work-order', 'order.json', '--branch', 'mine', '--run-id', 'o'],
    ...['--agent', 'scripted', '--script', 'script.json', '--runsdir', "it's mine", '--no-push'],
  ];
  const type = (words: string | undefined) => {
    expect(words).toBeDefined();
    return spawnSync('sh', ['-c', words ?? ''], {
      cwd: it.path,
      encoding: 'utf8',
      env: cleanEnv({ HOME: it.path }),
    });
  };
  const moved = await it.factory(begin);
  expect(moved.stdout, moved.stderr).toContain('has moved meanwhile');
  const delivered = type(/in the run: (.*) puts them/.exec(moved.stderr)?.[1]?.replace('NAME', 'other'));
  expect(delivered.status, delivered.stderr).toBe(0);
  expect(git(repo, 'log', '--format=%s', 'main..other')).toBe('WO-01: Step 1');

  const again = await it.factory(begin.map((word) => (word === 'mine' ? 'third' : word)));
  expect(again.stderr).toContain('already');
  const resumed = type(/fix: (.*)/.exec(again.stderr)?.[1]);
  expect(resumed.stdout, resumed.stderr).toContain('has moved meanwhile');
});
