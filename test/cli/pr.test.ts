/** `factory pr`: one pull request for the branch of a run, with the evidence, on a server of our own. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { root } from '../support/cli.ts';
import {
  type FakeGitHub,
  type FakeReaction,
  type FakeRepository,
  fakeToken,
  startGitHub,
} from '../support/github-server.ts';
import { house } from '../support/house.ts';
import { files } from '../verify/ground.ts';

const git = (folder: string, ...args: string[]) =>
  execFileSync('git', ['-C', folder, '-c', 'user.name=a', '-c', 'user.email=e', ...args], {
    encoding: 'utf8',
  }).trim();

let github: FakeGitHub;
let repo: FakeRepository;
let it: Awaited<ReturnType<typeof house>>;
beforeEach(async () => {
  github = await startGitHub();
  repo = github.repository('my-org/app');
  it = await house(files, (path) => ({
    ...{ FACTORY_SANDBOX: 'none', FACTORY_KEYS: join(path, 'keys') },
    ...{ GITHUB_API_URL: github.url, GITHUB_TOKEN: fakeToken },
  }));
  const [source, origin] = [join(it.path, 'work'), join(it.path, 'origin.git')];
  mkdirSync(origin);
  git(origin, 'init', '-q', '--bare');
  git(source, 'init', '-q', '-b', 'main');
  git(source, 'add', '.');
  git(source, 'commit', '-qm', 'first');
  git(source, 'remote', 'add', 'origin', origin);
});
afterEach(async () => {
  await github[Symbol.asyncDispose]();
  await it[Symbol.asyncDispose]();
});

/** Builds two commits on the repository. */
async function built(id = 'RUN1'): Promise<void> {
  const ended = await it.run(join(root, 'pipelines/build.dot'), {
    ...{ runId: id, workdir: 'work', agent: 'scripted', script: 'build.json', var: ['plan=plan.json'] },
  });
  if (ended.code !== 0) throw new Error(ended.err + ended.out);
}
const asked = (flags: Record<string, string | boolean> = {}, run = 'RUN1') =>
  it.called(['pr', run], { repo: 'my-org/app', ...flags });
const pushed = () => git(join(it.path, 'origin.git'), 'for-each-ref', '--format=%(refname)');
const creates = () =>
  github.requests.filter(({ method, path }) => method === 'POST' && path.endsWith('/pulls'));

test('a run becomes one pull request, whose text is updated and never doubled', async () => {
  await built();
  const first = await asked();
  expect([first.code, first.err]).toEqual([0, '']);
  expect(first.out).toBe(
    'opened: pull request my-org/app#1000, factory/RUN1 into main\nhttps://github.com/my-org/app/pull/1000\n',
  );
  expect(pushed()).toBe('refs/heads/factory/RUN1');
  const [pull] = repo.pulls;
  if (pull === undefined) throw new Error('none');
  expect(pull).toMatchObject({ head: 'my-org:factory/RUN1', base: 'main', draft: false });
  expect(pull.body.split('\n').filter((line) => line.startsWith('###'))).toEqual([
    '### Work orders',
    '### Commands',
    '### Cost',
    '### Not checked',
  ]);
  expect(pull.body).toContain('`WO-02: One file`');
  expect(pull.body).toContain('`grep -q 1 g.txt`: exit code 0');
  expect(pull.body).toContain('- `no scenario judged the product: the run has no holdout`');
  const written = pull.body;
  pull.body = `Please look at the colours.\n\n${written.replace('exit code 0', 'exit code 7')}`;
  pull.title = 'A better title';
  const second = await asked({ json: true });
  expect(JSON.parse(second.out)).toMatchObject({
    ...{ number: 1000, created: false, branch: 'factory/RUN1', repo: 'my-org/app' },
    head: git(join(it.path, 'work'), 'rev-parse', 'factory/RUN1'),
  });
  expect([repo.pulls.length, pull.title, pull.body]).toEqual([
    1,
    'A better title',
    `Please look at the colours.\n\n${written}`,
  ]);
}, 60_000);

test('a draft for another branch, in another repository, closes the issue that the run is for', async () => {
  await built('gh-my-org-app-7');
  const folder = join(it.path, '.factory/runs/github/issues');
  mkdirSync(folder, { recursive: true });
  const record = {
    schema_version: 1,
    run_id: 'gh-my-org-app-7',
    repo: 'my-org/app',
    number: 7,
    comment: null,
  };
  writeFileSync(join(folder, 'gh-my-org-app-7.json'), JSON.stringify(record));
  git(join(it.path, 'work'), 'remote', 'set-url', 'origin', 'git@github.com:ada/fork.git');
  git(join(it.path, 'work'), 'remote', 'set-url', '--push', 'origin', 'git@github.com:ada/fork.git');
  git(join(it.path, 'work'), 'config', `url.${join(it.path, 'origin.git')}.pushInsteadOf`, 'unused:');
  git(join(it.path, 'work'), 'config', 'core.sshCommand', `sh ${join(it.path, 'ssh')}`);
  writeFileSync(join(it.path, 'ssh'), `exec git-receive-pack ${join(it.path, 'origin.git')}\n`);
  const { code, err } = await asked({ draft: true, base: 'develop', branch: 'work/x' }, 'gh-my-org-app-7');
  expect([code, err]).toEqual([0, '']);
  expect(repo.pulls).toMatchObject([{ head: 'ada:work/x', base: 'develop', draft: true }]);
  expect(repo.pulls[0]?.body).toContain('Closes #7.');
}, 60_000);

test.for<readonly [string, FakeReaction, number, string]>([
  ['no access', { status: 404, body: '{"message":"Not Found"}' }, 2, 'check the name'],
  ['an expired token', { status: 401, body: '{}' }, 2, 'GITHUB_TOKEN'],
  ['a limit', { status: 429, headers: { 'retry-after': '90' } }, 75, 'run the same command again at'],
])('with %s nothing is pushed', { timeout: 60_000 }, async ([, reaction, code, fix]) => {
  await built();
  github.react(() => true, reaction);
  const ended = await asked();
  expect([ended.code, ended.err]).toEqual([code, expect.stringContaining(fix)]);
  expect([pushed(), repo.pulls]).toEqual(['', []]);
});

test('a pull request whose answer is lost, or that another process has opened meanwhile, is not doubled', async () => {
  await built();
  const create = ({ method, path }: { method: string; path: string }) =>
    method === 'POST' && path.endsWith('/pulls');
  github.react(create, { status: 502, carriedOut: true });
  expect(await asked()).toMatchObject({ code: 0, out: expect.stringContaining('updated: ') });
  expect([repo.pulls.length, creates().length]).toEqual([1, 1]);
  repo.pulls.length = 0;
  github.onRequest = (request) => {
    if (!create(request)) return;
    github.onRequest = undefined;
    const texts = { title: 't', body: '', base: 'main', draft: false, state: 'open' as const, merged: false };
    repo.pulls.push({ number: 1, head: 'my-org:factory/RUN1', ...texts });
  };
  expect(await asked()).toMatchObject({
    code: 0,
    out: expect.stringContaining('updated: pull request my-org/app#1,'),
  });
  expect(repo.pulls[0]?.body).toContain('### Not checked');
});

test('what GitHub refuses after the push says that the branch is pushed', async () => {
  await built();
  github.react(({ method }) => method === 'POST', {
    status: 422,
    body: '{"message":"Validation Failed","errors":[{"message":"No commits between main and factory/RUN1"}]}',
  });
  const { code, err } = await asked();
  expect([code, err]).toEqual([1, expect.stringContaining('No commits between')]);
  expect(err).toContain('; the branch factory/RUN1 is pushed');
}, 60_000);

test('a branch that has later commits, too, is not pushed again; its text is updated', async () => {
  await built();
  await asked();
  const [pull] = repo.pulls;
  if (pull === undefined) throw new Error('none');
  const [origin, work] = [join(it.path, 'origin.git'), join(it.path, 'work')];
  // As a round of `factory follow` does.
  const round = git(work, 'commit-tree', 'factory/RUN1^{tree}', '-p', 'factory/RUN1', '-m', 'a round');
  git(work, 'branch', '-f', 'factory/RUN1', round);
  git(work, 'push', '-q', origin, 'factory/RUN1');
  Object.assign(pull, { body: 'My words.', sha: () => round });
  const { code, out } = await asked({ json: true });
  expect([code, JSON.parse(out)]).toEqual([
    0,
    expect.objectContaining({ created: false, branch: 'factory/RUN1', head: round }),
  ]);
  expect(pull.body).toMatch(/^My words\..*### Work orders/s);
  expect(git(origin, 'rev-parse', 'factory/RUN1')).toBe(round);
}, 60_000);

test('another base gets another pull request, and the present base is reported', async () => {
  await built();
  await asked();
  expect((await asked({ base: 'develop' })).out).toContain(
    'opened: pull request my-org/app#1001, factory/RUN1 into develop',
  );
  repo.pulls.shift();
  expect((await asked()).out).toContain('updated: pull request my-org/app#1001, factory/RUN1 into develop');
}, 60_000);

test('after a merge none is opened again, and commits of others on the branch are named', async () => {
  await built();
  await asked();
  const origin = join(it.path, 'origin.git');
  const head = git(origin, 'rev-parse', 'factory/RUN1');
  const [pull] = repo.pulls;
  if (pull === undefined) throw new Error('none');
  Object.assign(pull, { state: 'closed', merged: true, sha: () => head });
  git(origin, 'update-ref', '-d', 'refs/heads/factory/RUN1');
  for (const flags of [{}, { branch: 'other' }]) {
    const again = await asked(flags);
    const isSame = flags.branch === undefined;
    expect([again.code, again.err]).toEqual(
      isSame
        ? [1, expect.stringContaining('my-org/app#1000 of the branch factory/RUN1 was merged')]
        : [0, ''],
    );
  }
  expect(pushed()).toBe('refs/heads/other');

  const tree = git(origin, 'rev-parse', 'other^{tree}');
  git(
    origin,
    'update-ref',
    'refs/heads/other',
    git(origin, 'commit-tree', tree, '-p', 'other', '-m', 'theirs'),
  );
  expect(await asked({ branch: 'other' })).toMatchObject({
    code: 1,
    err: expect.stringMatching(/the branch other of the remote has commits of others\n.*--branch NAME/),
  });
}, 60_000);

test('a run whose records were changed, a remote elsewhere and a run without commits get none', async () => {
  await built();
  expect(await asked({ repo: '' })).toMatchObject({ code: 2 });
  const { code, err } = await it.called(['pr', 'RUN1']);
  expect([code, err]).toEqual([
    2,
    expect.stringMatching(/the remote origin names no repository of .*\n.*--repo OWNER\/REPO/),
  ]);
  expect((await it.run('fails.dot', { runId: 'failed', workdir: 'work' })).code).toBe(1);
  expect(await asked({}, 'failed')).toMatchObject({
    code: 2,
    err: expect.stringContaining('only a run that succeeded'),
  });
  const orders = join(it.path, '.factory/runs/RUN1/journal.jsonl');
  writeFileSync(orders, readFileSync(orders, 'utf8').replace('"success"', '"partial_success"'));
  expect(await asked()).toMatchObject({
    code: 1,
    err: expect.stringContaining('do not hold: nothing was pushed'),
  });
  expect([pushed(), repo.pulls]).toEqual(['', []]);
}, 60_000);
