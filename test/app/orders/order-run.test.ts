/** `factory order run` and `run-all` as they are typed, on real repositories. */
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { realClock } from '../../../src/platform/clock.ts';
import { acquireLock } from '../../../src/run/lock.ts';
import { bareEnv, git, put, repository } from '../../builder/support.ts';
import { cleanEnv, home, root } from '../../support/in-process.ts';
import { startModelServer } from '../../support/model-server.ts';
import { holdersOf, textsOfStore } from '../../support/run-texts.ts';
import { call } from '../../support/verb.ts';
import { answer, order } from './support.ts';

const script = (...propose: object[]): string =>
  JSON.stringify({ format: 'factory-script/1', answers: { propose } });

/** Of `place`. */
const flags = ['--repo', 'repo', '--agent', 'scripted', '--script', 'script.json', '--artifacts-dir', 'art'];

/** A repository at `repo`, orders in `wos`, prepared answers in `script.json`. */
async function place(orders: readonly object[], ...propose: object[]) {
  const files = Object.fromEntries(orders.map((one, n) => [`wos/WO-0${n + 1}.json`, JSON.stringify(one)]));
  const it = await home({ ...files, 'script.json': script(...propose) });
  const repo = join(it.path, 'repo');
  put(repo, { 'scripts/verify.sh': 'exit 0\n', '.gitignore': '*.log\n' });
  repository(repo);
  return Object.assign(it, {
    repo,
    order: (verb: string, ...args: string[]) => it.factory(['order', verb, ...flags, ...args]),
    newest: (file: string) => {
      const runs = readdirSync(join(it.path, 'art/factory')).sort();
      return JSON.parse(readFileSync(join(it.path, 'art/factory', runs.at(-1) ?? '', file), 'utf8'));
    },
  });
}

test('a batch lands on one branch order by order, stops at a failure, and is resumed there', async () => {
  await using it = await place([order(1), order(2)], answer('f1.txt', '1\n'));
  const first = await it.order('run-all', '--workdir', 'wos', '--no-push', '--max-attempts', '1');
  expect(first.code, first.stderr).toBe(1);
  expect(first.stdout).toContain('Found 2 work order(s)');
  expect(first.stdout).toContain('[2/2] WO-02.json: Step 2');
  const branch = git(it.repo, 'branch', '--show-current');
  expect(branch).toMatch(/^factory\/adhoc\/[0-9A-Z]{26}$/);
  expect(git(it.repo, 'log', '--format=%s', 'main..')).toBe('WO-01: Step 1');

  // Settings for merges do not apply.
  git(it.repo, 'config', 'merge.verifySignatures', 'true');
  git(it.repo, 'config', `branch.${branch}.mergeOptions`, '--squash');
  writeFileSync(join(it.path, 'script.json'), script(answer('f2.txt', '2\n')));
  const second = await it.order('run-all', '--workdir', 'wos', '--no-push');
  expect(second.code, second.stderr).toBe(0);
  expect(second.stdout).toContain('already committed');
  expect(git(it.repo, 'log', '--format=%s', 'main..')).toBe('WO-02: Step 2\nWO-01: Step 1');
  expect(it.newest('run.json').git_workflow).toMatchObject({ working_branch: branch, branch_mode: 'auto' });
  expect(git(it.repo, 'for-each-ref', '--format=%(refname:short)', 'refs/heads')).toBe(`${branch}\nmain`);

  const third = await it.order('run-all', '--workdir', 'wos', '--no-push');
  expect(third.stdout).toContain('Nothing to do');
  expect(third.code).toBe(0);
  expect(git(it.repo, 'status', '--porcelain')).toBe('');
});

// The real ones may be installed.
const absent = { ATTRACTOR_CODEX_PATH: 'no-such-codex', FACTORY_CLAUDE_PATH: 'no-such-claude' };
test('an agent that is not installed is not retried', async () => {
  await using it = await place([order(1)]);
  const flags = ['--repo', 'repo', '--work-order', 'wos/WO-01.json', '--no-push', '--artifacts-dir', 'art'];
  const ran = await it.factory(['order', 'run', ...flags, '--agent', 'codex,claude', '--json'], {
    env: absent,
  });
  expect(ran.code, ran.stderr).toBe(1);
  const told = it.newest('run_summary.json');
  expect(told).toMatchObject({ verdict: 'FAIL', total_attempts: 1 });
  expect(ran.stdout).toContain('npm install -g @openai/codex');
  // Once it is installed, the same run asks it.
  expect(JSON.parse(ran.stdout)).toMatchObject({ resumable: true });
  expect(ran.stderr).toMatch(/\nto resume: factory resume \w+\n$/);
});

test('without an agent the refusal says how to choose one, and names no script that nobody gave', async () => {
  await using it = await place([order(1)]);
  const flags = ['--repo', 'repo', '--work-order', 'wos/WO-01.json', '--no-push', '--artifacts-dir', 'art'];
  const ran = await it.factory(['order', 'run', ...flags]);
  expect(ran.code).toBe(2);
  expect(ran.stderr).toContain('error[agent-none]');
  expect(ran.stderr).not.toContain('agent script was made for');
});

const one = ['order', 'run', '--repo', 'repo', '--work-order', 'wos/WO-01.json', '--no-push'];
test.for<[string, readonly string[], object, Readonly<Record<string, string>>]>([
  ['plan', ['plan', 'spec.md'], { provider: 'acme' }, { OPENAI_MODEL: 'not-acmes' }],
  ['plan, by its flag', ['plan', 'spec.md', '--provider', 'acme'], {}, {}],
  ['order run', one, { provider: 'acme' }, { OPENAI_MODEL: 'not-acmes' }],
  ['order run, by its flag', [...one, '--provider', 'acme'], {}, {}],
])('%s asks the provider for its first model', async ([, argv, more, env]) => {
  await using it = await place([order(1)]);
  await using server = await startModelServer(() => ({ text: 'no JSON' }), ['chat']);
  const acme = { base_url: server.url, models: ['large', 'small'], api: 'chat' };
  put(it.path, {
    'spec.md': '# Something\n',
    '.config/factory/factory.json': JSON.stringify({ ...more, providers: { acme } }),
  });
  const attempts = ['--max-attempts', '1', '--artifacts-dir', 'art'];
  const ran = await it.factory([...argv, ...attempts], { env });
  expect(
    server.requests.map(({ body }) => body?.['model']),
    ran.stderr,
  ).toContain('large');
  expect(new Set(server.requests.map(({ body }) => body?.['model'])).size).toBe(1);
});

test('a provider whose models are unknown is asked for none', async () => {
  await using it = await place([order(1)]);
  for (const argv of [one, ['plan', 'spec.md']]) {
    put(it.path, { 'spec.md': '# Something\n' });
    const ran = await it.factory([...argv, '--provider', 'ollama', '--artifacts-dir', 'art']);
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('no model of the provider "ollama"')]);
  }
});

const refusal = (status: number, code: string | null, message: string) => ({
  status,
  body: { error: { message, code } },
});
test.for([
  [75, 'ERROR', refusal(401, 'invalid_api_key', 'Incorrect API key'), 'set OPENAI_API_KEY'],
  [3, 'FAIL', refusal(404, 'model_not_found', 'no such model'), 'check the name'],
] as const)(
  'a model that would refuse again (exit %i) is asked once, and its run can be resumed',
  async ([code, verdict, reaction, mend]) => {
    const proposal = { text: JSON.stringify(answer('f1.txt', '1\n').json) };
    await using server = await startModelServer((_, index) => (index === 0 ? reaction : proposal));
    await using it = await place([order(1)]);
    const env = { OPENAI_API_KEY: 'sk-test-0123456789', OPENAI_BASE_URL: server.url };
    const flags = ['--repo', 'repo', '--work-order', 'wos/WO-01.json', '--no-push', '--artifacts-dir', 'art'];
    const ran = await it.factory(['order', 'run', ...flags, '--run-id', 'r1', '--branch', 'w'], { env });
    expect([ran.code, server.requests.length], ran.stderr).toEqual([code, 1]);
    for (const part of [reaction.body.error.message, mend]) expect(ran.stdout).toContain(part);
    expect(ran.stderr).toContain('factory resume r1');
    expect(it.newest('run_summary.json').verdict).toBe(verdict);
    const again = await it.factory(['resume', 'r1', '--json'], { env });
    expect(again.code, again.stderr).toBe(0);
    expect(JSON.parse(again.stdout)).toMatchObject({ verdict: 'PASS', attempts: 1, resumable: false });
    expect(server.requests).toHaveLength(2);
    expect(git(it.repo, 'show', 'w:f1.txt')).toBe('1');
  },
);

test('the current branch moves with its files, also where a tag has its name; long output is recorded by head and tail', async () => {
  await using it = await place([order(1, { acceptance_commands: ['seq 2000'] })], answer('f1.txt', '1\n'));
  git(it.repo, 'switch', '-q', '-c', 'mine');
  git(it.repo, 'tag', 'mine', 'main');
  const ran = await it.order('run', '--work-order', 'wos/WO-01.json', '--no-push', '--branch', 'mine');
  expect(ran.code, ran.stderr).toBe(0);
  expect(git(it.repo, 'log', '--format=%s', 'main..heads/mine')).toBe('WO-01: Step 1');
  expect(git(it.repo, 'status', '--porcelain')).toBe('');
  expect(readFileSync(join(it.repo, 'f1.txt'), 'utf8')).toBe('1\n');
  const [told] = it.newest('attempt_1/acceptance_result.json');
  expect(told.stdout_trunc).toMatch(/^1\n2\n[\s\S]*\n\.\.\.\[truncated\]\n[\s\S]*\n2000\n$/);
  // 2,000 characters and the mark, however it is divided.
  expect(told.stdout_trunc).toHaveLength(2015);
  expect(readFileSync(told.stdout_path, 'utf8')).toMatch(/^1\n[\s\S]*\n1000\n[\s\S]*\n2000\n$/);
});

test('a file that a filter of the user would have converted is a warning, and not pushed', async () => {
  await using it = await place([order(1)], answer('f1.txt', '1\n'));
  put(it.repo, { '.gitattributes': '*.txt filter=turn\n*.sh filter=none\n' });
  git(it.repo, 'add', '.');
  git(it.repo, 'commit', '-q', '-m', 'attributes');
  git(it.repo, 'config', 'filter.turn.clean', 'rev');
  git(it.path, 'init', '-q', '--bare', 'remote.git');
  git(it.repo, 'remote', 'add', 'origin', '../remote.git');
  const ran = await it.order('run', '--work-order', 'wos/WO-01.json', '--branch', 'mine');
  expect(ran.code, ran.stderr).toBe(0);
  const told = ran.stderr.split('\n').filter((line) => line.startsWith('WARNING'));
  expect(told).toEqual([
    expect.stringMatching(/no filter of your git was run: .* as they were written: f1\.txt \(turn\)$/),
    'WARNING: not pushed (a filter of your git would have converted f1.txt (turn)); by hand: git -C repo push -u origin mine',
  ]);
  expect(git(join(it.path, 'remote.git'), 'branch')).toBe('');
  expect(it.newest('run.json').git_workflow.push_result).toMatchObject({ ok: false, remote: 'origin' });
});

test('a merge in progress is not abandoned by the switch', async () => {
  await using it = await place([order(1)], answer('f1.txt', '1\n'));
  git(it.repo, 'switch', '-q', '-c', 'other');
  git(it.repo, 'commit', '-q', '--allow-empty', '-m', 'other');
  git(it.repo, 'switch', '-q', 'main');
  git(it.repo, 'commit', '-q', '--allow-empty', '-m', 'main');
  git(it.repo, 'merge', '-q', '--no-commit', '--no-ff', 'other');
  const ran = await it.order('run', '--work-order', 'wos/WO-01.json', '--no-push', '--branch', 'mine');
  expect(ran.code, ran.stderr).toBe(0);
  expect(ran.stderr).toContain('cannot switch branch while merging');
  expect(git(it.repo, 'log', '--format=%s', 'main..mine')).toBe('WO-01: Step 1');
  expect(git(it.repo, 'rev-parse', 'MERGE_HEAD')).toBe(git(it.repo, 'rev-parse', 'other'));
});

test('the temperature is sent where one is given; the report names it, and the commit of the program', async () => {
  await using it = await place([order(1)]);
  await using server = await startModelServer(() => answer('f1.txt', '1\n'));
  const env = { OPENAI_API_KEY: 'sk-testing', OPENAI_BASE_URL: server.url };
  const run = (...more: string[]) => {
    const flags = ['--repo', 'repo', '--work-order', 'wos/WO-01.json', '--artifacts-dir', 'art', '--no-push'];
    return it.factory(['order', 'run', ...flags, ...more], { env });
  };
  const ran = await run('--llm-temperature', '0.25', '--branch', 'one');
  expect(ran.code, ran.stderr).toBe(0);
  expect(server.requests[0]?.body?.['temperature']).toBe(0.25);
  const record = it.newest('run.json');
  expect(record.config.llm_temperature).toBe(0.25);
  const own = existsSync(join(root, '.git')) ? git(root, 'rev-parse', 'HEAD').slice(0, 12) : null;
  expect(record.version.git_commit).toBe(own);
  expect((await run('--llm-temperature', '3', '--branch', 'three')).code).toBe(2);
  expect((await run('--max-attempts', '99999999999999999999', '--branch', 'many')).code).toBe(2);
});

test('acceptance commands get the secrets that --env-pass names, and no others; none of them is recorded', async () => {
  const needs = 'bash -c "test -z \\"$GITHUB_PAT\\" && echo \\"$DATABASE_URL\\" | grep unseen.pass"';
  await using it = await place([order(1, { acceptance_commands: [needs] })], answer('f1.txt', '1\n'));
  const env = { DATABASE_URL: 'postgres://app:unseen-pass@db/app', GITHUB_PAT: 'unseen-pat-1' };
  const flags = ['--repo', 'repo', '--work-order', 'wos/WO-01.json', '--artifacts-dir', 'art', '--no-push'];
  const run = (...more: string[]) =>
    it.factory(['order', 'run', ...flags, '--script', 'script.json', '--max-attempts', '1', ...more], {
      env,
    });
  const without = await run('--branch', 'one');
  expect(without.code, without.stderr).toBe(1);
  expect(without.stdout + without.stderr).toContain('DATABASE_URL');
  const ran = await run('--branch', 'two', '--env-pass', 'DATABASE_URL');
  expect(ran.code, ran.stderr).toBe(0);
  const names = readdirSync(it.path, { recursive: true, encoding: 'utf8' });
  const files = names.filter(
    (name) =>
      statSync(join(it.path, name), { throwIfNoEntry: false })?.isFile() === true && !/wos|script/.test(name),
  );
  const stored = names
    .filter((name) => basename(name) === 'contents')
    .map((name) => dirname(join(it.path, name)));
  expect(stored.length).toBeGreaterThan(1);
  const texts = files.map((name) => ({ name, bytes: readFileSync(join(it.path, name)) }));
  expect(holdersOf([...texts, ...stored.flatMap(textsOfStore)], 'app:unseen-pass')).toEqual([]);
});

test('an interrupted order can be resumed, and the repository is unchanged until it succeeds', async () => {
  const waits = order(1, {
    acceptance_commands: ['bash -c "echo x > tracked.txt; test -f ../go || sleep 20"'],
  });
  await using it = await place([waits], answer('f1.txt', '1\n'));
  let cut = false;
  const flags = [
    'order',
    'run',
    '--repo',
    'repo',
    '--work-order',
    'wos/WO-01.json',
    '--artifacts-dir',
    'art',
  ];
  const ran = await it.factory(
    [...flags, '--script', 'script.json', '--agent', 'scripted', '--branch', 'w'],
    {
      watch: (line, process) => {
        if (cut || !line.includes('node=accept')) return;
        cut = true;
        process.kill('SIGTERM');
      },
    },
  );
  expect(ran.code, ran.stderr).toBe(130);
  expect(git(it.repo, 'branch', '--format=%(refname:short)')).toBe('main');
  expect(it.newest('run.json')).toMatchObject({ verdict: null, status: 'interrupted' });
  expect(it.newest('run_summary.json')).toMatchObject({ verdict: 'ERROR', attempts: [] });
  const again = ran.stderr.trim().split('\n').at(-1) ?? '';
  const id = /: factory resume (\S+)$/.exec(again)?.[1] ?? '';

  writeFileSync(join(it.path, '.factory/runs', id, 'go'), '');
  const resumed = await it.factory(['resume', id]);
  expect(resumed.code, resumed.stderr).toBe(0);
  expect(git(it.repo, 'branch', '--show-current')).toBe('w');
  expect(existsSync(join(it.repo, 'tracked.txt'))).toBe(false);
  const summary = it.newest('run_summary.json');
  expect(summary).toMatchObject({ verdict: 'PASS', total_attempts: 1 });
  expect(summary.attempts[0].repo_drift).toEqual(['tracked.txt']);
  expect(it.newest('run.json')).toMatchObject({
    verdict: 'PASS',
    // The repository has no remote.
    git_workflow: { working_branch: 'w', push_result: { ok: false, remote: null } },
  });
});

test('a batch that was interrupted in an order proposes the command for the whole batch', async () => {
  const waits = order(1, { acceptance_commands: ['bash -c "test -f ../go || sleep 1"'] });
  await using it = await place([waits, order(2)], answer('f1.txt', '1\n'), answer('f2.txt', '2\n'));
  const flags = ['--repo', 'repo', '--workdir', 'wos', '--artifacts-dir', 'art', '--branch', 'w'];
  // The branch must not be there for the first order, and is for all others.
  flags.push('--create-branch', '--agent', 'scripted', '--script', 'script.json');
  const words = ['order', 'run-all', ...flags];
  let cut = false;
  const ran = await it.factory(words, {
    watch: (line, process) => {
      if (cut || !line.includes('node=accept')) return;
      cut = true;
      process.kill('SIGTERM');
    },
  });
  expect(ran.code, ran.stderr).toBe(130);
  expect(ran.stdout).toContain('Stopped at WO-01.json (exit code 130)');
  const last = ran.stderr.trim().split('\n').at(-1) ?? '';
  expect(last).toMatch(/^to resume: factory order /);
  expect(last.slice(last.indexOf(' order ') + 1)).toBe(words.join(' '));
  const again = await it.factory(words);
  expect(again.code, again.stderr).toBe(0);
  expect(git(it.repo, 'log', '--format=%s', 'main..w')).toBe('WO-02: Step 2\nWO-01: Step 1');
});

test('what is forbidden by a path is a scope violation that names the entry', async () => {
  const one = order(1, { forbidden: ['Do not touch `f1.txt`'] });
  await using it = await place([one], answer('f1.txt', '1\n'));
  const ran = await it.order('run', '--work-order', 'wos/WO-01.json', '--max-attempts', '1');
  expect(ran.code, ran.stderr).toBe(1);
  const [attempt] = it.newest('run_summary.json').attempts;
  expect(attempt).toMatchObject({ write_ok: false, touched_files: ['f1.txt'] });
  expect(attempt.failure_brief).toMatchObject({
    stage: 'write_scope_violation',
    primary_error_excerpt: expect.stringContaining('Do not touch `f1.txt`'),
  });
  // An answer that is not a proposal exits with 1: 4 is for a model that gave no answer.
  writeFileSync(join(it.path, 'script.json'), script({ text: 'Sorry.' }));
  const none = await it.order('run', '--work-order', 'wos/WO-01.json', '--max-attempts', '1');
  expect([none.code, none.stdout]).toEqual([1, expect.stringContaining('llm_output_invalid')]);
});

test('the report names an unmet precondition, and a command that could not be run', async () => {
  const early = order(1, { preconditions: [{ kind: 'file_exists', path: 'gone.txt' }] });
  const broken = order(2, { acceptance_commands: ['true', 'echo "x'] });
  await using it = await place([early, broken], answer('f2.txt', '2\n'));
  const brief = async (n: number) => {
    const ran = await it.order('run', '--work-order', `wos/WO-0${n}.json`);
    expect(ran.code, ran.stderr).toBe(1);
    return it.newest('run_summary.json').attempts[0].failure_brief;
  };
  expect(await brief(1)).toMatchObject({
    stage: 'preflight',
    command: null,
    exit_code: null,
    primary_error_excerpt: expect.stringMatching(/^PLANNER-CONTRACT BUG: gone\.txt must exist/),
  });
  expect(await brief(2)).toMatchObject({ stage: 'acceptance_failed', command: 'echo "x', exit_code: null });
});

test('a repository that another run holds is refused, with its owner', async () => {
  await using it = await place([order(1)], answer('f1.txt', '1\n'));
  mkdirSync(join(it.repo, '.git/factory'));
  const held = await acquireLock(join(it.repo, '.git/factory'), { clock: realClock });
  if (held.kind !== 'acquired') throw new Error(held.why);
  const ran = await it.order('run', '--work-order', 'wos/WO-01.json');
  await held.lock.release();
  expect(ran.code).toBe(1);
  expect(ran.stderr).toContain(`held by process ${process.pid}`);
  expect(existsSync(join(it.path, 'art'))).toBe(false);
});

test('an order may not write a file whose changes git ignores; other orders may run', async () => {
  await using it = await place([order(1), order(2)], answer('f2.txt', '2\n'));
  put(it.repo, { 'f1.txt': '0\n', 'same.txt': '' });
  git(it.repo, 'add', '-A');
  git(it.repo, 'commit', '-q', '-m', 'two more');
  git(it.repo, 'update-index', '--skip-worktree', 'f1.txt', 'same.txt');
  put(it.repo, { 'f1.txt': 'secret\n' });
  const first = await it.order('run', '--work-order', 'wos/WO-01.json', '--no-push');
  expect(first.code).toBe(1);
  expect(first.stderr).toContain('git is set to ignore changes to f1.txt');
  const second = await it.order('run', '--work-order', 'wos/WO-02.json', '--no-push', '--branch', 'work');
  expect(second.code, second.stderr).toBe(0);
  expect(git(it.repo, 'diff', '--name-only', 'main', 'work')).toBe('f2.txt');
  expect(readFileSync(join(it.repo, 'f1.txt'), 'utf8')).toBe('secret\n');
});

const refusals: readonly [what: string, flags: string[], words: string][] = [
  ['no repository', ['--repo', 'nowhere'], 'does not exist'],
  ['a folder of a repository', ['--repo', 'repo/scripts'], 'not its top'],
  ['a protected branch', ['--branch', 'main'], 'protected'],
  ['a branch to reuse that is not there', ['--branch', 'x', '--reuse-branch'], 'no branch'],
  ['a branch to create that is there', ['--branch', 'there', '--create-branch'], 'exists already'],
  ['a branch that is another name', ['--branch', 'alias'], 'a symbolic ref to refs/heads/main'],
  ['a branch whose folder is a branch', ['--branch', 'there/x'], 'exists, so git cannot have'],
  ['flags that exclude each other', ['--branch', 'x', '--reuse-branch', '--create-branch'], 'exclude'],
  ['a flag without its branch', ['--create-branch'], 'need --branch'],
  ['no attempts', ['--max-attempts', '0'], 'at least 1'],
  ['an export into the repository', ['--out', 'repo/out'], 'is in the repository'],
  ['artifacts in the repository', ['--artifacts-dir', 'repo/art'], 'does not ignore'],
  ['a commit that is not there', ['--commit-hash', 'nope'], 'no commit'],
  ['a file for a repository', ['--repo', 'script.json'], 'script.json does not exist'],
  ['an order that is not there', ['--work-order', 'wos/none.json'], 'cannot be read'],
  ['a plan', ['--work-order', 'wos/plan.json'], 'plan.json is a plan'],
  ['a file that is too large', ['--work-order', 'wos/large.json'], 'larger than 10 MiB'],
];
test(`refused before anything is made: ${refusals.map(([what]) => what).join('; ')}`, async () => {
  await using it = await place([order(1)]);
  git(it.repo, 'branch', 'there');
  put(it.path, {
    'wos/plan.json': '{"work_orders": []}',
    'wos/large.json': '',
  });
  truncateSync(join(it.path, 'wos/large.json'), 10_485_761);
  git(it.repo, 'symbolic-ref', 'refs/heads/alias', 'refs/heads/main');
  const verb = ['order', 'run', '--repo', 'repo', '--work-order', 'wos/WO-01.json', '--artifacts-dir', 'art'];
  for (const [what, flags, words] of refusals) {
    const told = await call([...verb, ...flags], {}, { cwd: it.path, env: bareEnv(it.path) });
    expect(told.code, `${what}: ${told.err}`).toBe(1);
    expect(told.err, what).toContain(words);
    expect(await it.list('.'), what).toEqual(['repo', 'script.json', 'wos']);
    expect(git(it.repo, 'branch', '--format=%(refname:short)'), what).toBe('alias\nmain\nthere');
  }
});

test('flags limit what a work order may cost and reach', async () => {
  const usage = { model: 'm', input_tokens: 90_000, output_tokens: 2_000, cost_usd: 0.1 };
  await using it = await place([order(1)], { ...answer('f1.txt', '1\n'), usage });
  git(it.repo, 'remote', 'add', 'origin', '../nowhere.git');
  const args = ['--work-order', 'wos/WO-01.json', '--run-id', 'R1'];
  const ran = await it.order(
    'run',
    ...args,
    '--max-cost-usd',
    '5',
    '--max-tokens',
    '90000',
    '--sandbox',
    'none',
  );
  expect(ran.code, ran.stderr).toBe(1);
  expect(ran.stdout).toContain('max_tokens: the run has spent 92000 tokens');
  expect(await it.json('.factory/runs/R1/manifest.json')).toMatchObject({
    caps: { max_cost_usd: 5, max_tokens: 90_000 },
    sandbox: { asked: 'none', by: '--sandbox' },
  });

  // A resume can change limits, and nothing else.
  const withVariable = await it.factory(['resume', 'R1', '--var', 'attempts=9']);
  expect(withVariable.stderr).toContain('a resume of a work order cannot change --var');
  const other = await it.factory(['resume', 'R1', '--accept-changes']);
  expect(other.stderr).toContain('a resume of a work order cannot change --accept-changes');
  const more = await it.factory(['resume', 'R1', '--max-tokens', '400000']);
  expect(more.code, more.stderr).toBe(0);
  // The repository is named by its path.
  expect(more.stderr).toMatch(/by hand: git -C \/\S+\/repo push -u origin factory\//);
});

test('a work order is resumed with its pipeline, also by a version with another one', async () => {
  const usage = { model: 'm', input_tokens: 90_000, output_tokens: 2_000, cost_usd: 0.1 };
  await using it = await place([order(1)], { ...answer('f1.txt', '1\n'), usage });
  const other = join(it.path, 'other');
  for (const part of ['dist', 'package.json', 'pipelines', 'prompts'])
    cpSync(join(root, part), join(other, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(other, 'node_modules'));
  const args =
    '--repo repo --work-order wos/WO-01.json --agent scripted --script script.json --artifacts-dir art';
  const bounds = '--run-id R1 --branch w --no-push --max-tokens 90000';
  const ran = await execa(
    process.execPath,
    [join(other, 'dist/cli.js'), 'order', 'run', ...`${args} ${bounds}`.split(' ')],
    { cwd: it.path, env: cleanEnv({ HOME: it.path }), extendEnv: false, reject: false },
  );
  expect(ran.exitCode, ran.stderr).toBe(1);
  appendFileSync(join(other, 'pipelines/build.dot'), '// In other words.\n');
  const more = await it.factory(['resume', 'R1', '--max-tokens', '400000']);
  expect(more.code, more.stderr).toBe(0);
  expect(git(it.repo, 'show', 'w:f1.txt')).toBe('1');
});

test('a run id in use changes neither old artifacts nor a directory of that name', async () => {
  await using it = await place([order(1)]);
  const kept = { 'art/factory/r1/run_summary.json': '{}', 'out/r2/mine.txt': 'mine' };
  put(it.path, kept);
  const run = (id: string) =>
    it.order('run', '--work-order', 'wos/WO-01.json', '--run-id', id, '--out', 'out', '--agent', 'nope');
  for (const [id, says] of [
    ['r1', 'art/factory/r1/run_summary.json exists already'],
    ['r2', 'out/r2 exists already'],
  ] as const) {
    const ended = await run(id);
    expect(ended.stderr).toContain(says);
    expect(ended.code).toBe(1);
  }
  for (const [path, text] of Object.entries(kept)) expect(await it.read(path)).toBe(text);
  // What the engine refuses leaves nothing behind either.
  const refused = await run('r3');
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('nope')]);
  expect(await it.list('art/factory')).toEqual(['r1']);
});

test('a pipe among work orders is refused without waiting for it', async () => {
  await using it = await place([order(1)]);
  execFileSync('mkfifo', [join(it.path, 'wos/WO-00.json')]);
  const ran = await it.order('run-all', '--workdir', 'wos', '--no-push');
  expect(ran.code).toBe(1);
  expect(`${ran.stdout}${ran.stderr}`).toContain(
    `the work order ${join(it.path, 'wos/WO-00.json')} is not a file`,
  );
});
