/** The commands that `factory order run` proposes, and its resume. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { git, put, repository } from '../../builder/support.ts';
import { cleanEnv, home, root } from '../../support/in-process.ts';
import { damageText } from '../../support/run-texts.ts';
import { answer, order } from './support.ts';

const answers = { propose: [answer('f1.txt', '1\n')] };

/** A repository, and an order for it with the answers that carry it out. */
async function ordered() {
  const it = await home({
    'order.json': JSON.stringify(order(1)),
    'script.json': JSON.stringify({ format: 'factory-script/1', answers }),
  });
  const repo = `${it.path}/repo`;
  put(repo, { 'scripts/verify.sh': 'exit 0\n' });
  repository(repo);
  return { ...it, repo };
}

/** Starts the run of that order on another branch. */
const begin = [
  ...['order', 'run', '--repo', 'repo', '--work-order', 'order.json'],
  ...['--branch', 'mine', '--run-id', 'o'],
];

test('a branch that has moved, and a run that is there already', async () => {
  await using it = await home({
    'order.json': JSON.stringify(order(1)),
    'script.json': JSON.stringify({ format: 'factory-script/1', answers }),
  });
  const repo = `${it.path}/repo`;
  put(repo, { 'scripts/verify.sh': `git -C '${repo}' branch mine 2>/dev/null || true\n` });
  repository(repo);
  const begin = [
    ...['order', 'run', '--repo', 'repo', '--work-order', 'order.json', '--branch', 'mine', '--run-id', 'o'],
    ...['--agent', 'scripted', '--script', 'script.json', '--runsdir', "it's $$ mine", '--no-push'],
  ];
  const type = (words: string | undefined) => {
    expect(words).toBeDefined();
    return spawnSync('sh', ['-c', words ?? ''], {
      cwd: it.path,
      encoding: 'utf8',
      env: cleanEnv({ HOME: it.path, PATH: `${join(root, 'dist/bin')}:${process.env['PATH']}` }),
    });
  };
  const moved = await it.factory(begin);
  expect(moved.stdout, moved.stderr).toContain('has moved to');
  // No commit of it has got anywhere.
  expect(await it.json('artifacts/factory/o/run.json')).toMatchObject({
    ...{ verdict: 'PASS', reason: expect.stringContaining('has moved to') },
    git_workflow: { commit_hashes_created: [], push_attempted: false },
  });
  const delivered = type(/in the run: (.*) puts them/.exec(moved.stderr)?.[1]?.replace('NAME', 'other'));
  expect(delivered.status, delivered.stderr).toBe(0);
  expect(git(repo, 'log', '--format=%s', 'main..other')).toBe('WO-01: Step 1');

  const again = await it.factory(begin.map((word) => (word === 'mine' ? 'third' : word)));
  expect(again.stderr).toContain('already');
  const resumed = type(/resume it: (.*?);/.exec(again.stderr)?.[1]);
  expect(resumed.stdout, resumed.stderr).toContain('has moved to');
});

test('a resume of a landed run reports it as landed, also where its branch has newer commits', async () => {
  await using it = await ordered();
  const { repo } = it;
  const ran = await it.factory([...begin, '--agent', 'scripted', '--script', 'script.json', '--no-push']);
  expect(ran.code, ran.stderr).toBe(0);
  git(repo, 'commit', '-q', '--allow-empty', '-m', 'more');
  const head = git(repo, 'rev-parse', 'HEAD');
  const resume = ['resume', 'o'];
  const again = await it.factory(resume);
  expect(again.stderr).toContain('WARNING: "mine" has the commits already, and newer ones');
  expect(again.code, again.stdout).toBe(0);
  expect(git(repo, 'rev-parse', 'mine')).toBe(head);
  const { git_workflow } = (await it.json('artifacts/factory/o/run.json')) as {
    git_workflow: { commit_hashes_created: string[] };
  };
  expect(git_workflow.commit_hashes_created).toEqual([git(repo, 'rev-parse', 'mine~')]);

  const fixed = await it.factory([...resume, '--agent', 'fake']);
  expect([fixed.code, fixed.stderr]).toEqual([2, expect.stringContaining('cannot change --agent')]);
  const none = await it.factory(['order', 'run', '--repo', 'repo', '--work-order', 'no.json']);
  expect(none.stderr).toMatch(/no\.json cannot be read: there is no such file\n/);
  const models = await it.factory([...begin, '--model', 'a', '--llm-model', 'b']);
  expect(models.stderr).toContain('--llm-model b and --model a name two models');
});

test.for(['order', 'plan'])('a run whose stored request is unreadable is refused (%s)', async (what) => {
  await using it = await ordered();
  put(it.path, { 'spec.md': 'S' });
  const answered = ['--agent', 'scripted', '--script', 'script.json'];
  await it.factory(
    what === 'order'
      ? [...begin, ...answered, '--no-push']
      : ['plan', 'spec.md', '--run-id', 'o', ...answered],
  );
  const name = what === 'order' ? 'order-run.json' : 'plan-request.json';
  damageText(join(it.path, '.factory/runs/o'), name);
  const told = await it.factory(['resume', 'o']);
  expect(told.stderr).toContain(`contents no longer has ${name}`);
  expect(told.stderr).toContain('put back a copy of that file');
  expect(told.code).toBe(1);
});
