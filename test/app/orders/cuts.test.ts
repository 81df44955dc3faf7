/** `factory order run`, interrupted anywhere: the repository is unchanged or the branch has landed, and a resume ends as the
 *  uninterrupted run. */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { isStopped, processId } from '../../../src/platform/process/table.ts';
import { emptySha, git, put, repository } from '../../builder/support.ts';
import { home } from '../../support/cli.ts';

const order = JSON.stringify({
  id: 'WO-01',
  title: 'One',
  intent: 'One file.',
  preconditions: [],
  postconditions: [{ kind: 'file_exists', path: 'd/f.txt' }],
  allowed_files: ['d/f.txt'],
  forbidden: [],
  acceptance_commands: ['grep -q good d/f.txt'],
  context_files: ['d/f.txt'],
  notes: null,
});
const answer = (content: string) => ({
  json: { summary: 's', writes: [{ path: 'd/f.txt', base_sha256: emptySha, content }] },
});

/** A repository with a remote, an order, and answers to it. */
async function place(...contents: string[]) {
  const propose = contents.map(answer);
  const script = JSON.stringify({ format: 'factory-script/1', answers: { propose } });
  const it = await home({ 'wo.json': order, 'script.json': script });
  const repo = join(it.path, 'repo');
  put(repo, { 'keep.txt': 'k\n', 'scripts/verify.sh': 'exit 0\n', '.gitignore': '*.log\n' });
  repository(repo);
  put(repo, { 'x.log': 'ignored\n' });
  git(it.path, 'init', '-q', '--bare', 'remote.git');
  git(repo, 'remote', 'add', 'origin', join(it.path, 'remote.git'));
  const flags = [
    '--agent',
    'scripted',
    '--script',
    'script.json',
    '--artifacts-dir',
    'art',
    '--branch',
    'mine',
  ];
  return Object.assign(it, {
    repo,
    command: ['order', 'run', '--repo', 'repo', '--work-order', 'wo.json', ...flags],
    landed: () => {
      expect(git(repo, 'status', '--porcelain')).toBe('');
      expect(git(repo, 'branch', '--show-current')).toBe('mine');
      expect(git(repo, 'log', '--format=%s', 'main..')).toBe('WO-01: One');
      expect(git(join(it.path, 'remote.git'), 'rev-parse', 'mine')).toBe(git(repo, 'rev-parse', 'HEAD'));
      expect(readFileSync(join(repo, 'd/f.txt'), 'utf8')).toBe('good\n');
      expect(readFileSync(join(repo, 'x.log'), 'utf8')).toBe('ignored\n');
      const left = readdirSync(join(repo, '.git'), { recursive: true }).map(String);
      expect(left.filter((name) => /\.lock$|landing\.json$|tmp_/.test(name))).toEqual([]);
      const [run = ''] = readdirSync(join(it.path, 'art/factory')).sort().slice(-1);
      const record = JSON.parse(readFileSync(join(it.path, 'art/factory', run, 'run.json'), 'utf8'));
      expect(record).toMatchObject({ verdict: 'PASS', git_workflow: { push_result: { ok: true } } });
    },
  });
}

/** All that is in a repository, git's own files and modes included, but our lock. */
function everything(repo: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(repo, { recursive: true }).map(String)) {
    if (/^\.git\/factory(?:\/|$)/.test(name)) continue;
    const at = join(repo, name);
    const is = lstatSync(at);
    const content = is.isSymbolicLink() ? readlinkSync(at) : is.isFile() ? readFileSync(at, 'latin1') : '';
    found[name] = `${is.mode.toString(8)} ${content}`;
  }
  return found;
}

test('a signal at any node leaves the repository unchanged byte for byte, and the run can be resumed to its end', async () => {
  await using it = await place('bad\n', 'good\n');
  const was = everything(it.repo);
  let next = it.command;
  const cuts = [
    ['node started node=start', 'SIGKILL', true],
    ['node started node=propose', 'SIGTERM', false],
    ['node started node=verify', 'SIGINT', false],
    ['node started node=rollback', 'SIGKILL', true],
    ['node started node=commit', 'SIGTERM', true],
    ['node started node=proof', 'SIGKILL', false],
  ] as const;
  // A busy process may have begun the next node before a signal reaches it: then that node is cut no more.
  let left: readonly (typeof cuts)[number][] = cuts;
  while (left[0] !== undefined) {
    let cut: (typeof cuts)[number] | undefined;
    const ran = await it.factory(next, {
      group: left[0][2],
      watch: (line, process) => {
        const hit = cut === undefined ? left.findIndex(([at]) => line.includes(at)) : -1;
        cut ??= left[hit];
        if (hit === -1 || cut === undefined) return;
        left = left.slice(hit + 1);
        process.kill(cut[1]);
      },
    });
    const [at, signal] = cut ?? [`none of ${left.map(([one]) => one)}`, ''];
    expect(cut, `${at}\n${ran.stderr}`).toBeDefined();
    if (signal === 'SIGKILL') expect(ran.signal).toBe(signal);
    else expect(ran.code, ran.stderr).toBe(130);
    expect(everything(it.repo), `${at} ${signal}`).toEqual(was);
    const [id = ''] = readdirSync(join(it.path, '.factory/runs'));
    next = ['resume', id];
  }
  const ran = await it.factory(next);
  expect(ran.code, ran.stderr).toBe(0);
  it.landed();
}, 180_000);

/** To wait until a process is stopped. */
const patient = { timeout: 30_000, interval: 20 };

type When = 'before' | 'after' | 'amid' | 'stopped' | 'asked' | 'lost' | 'half' | 'full';

/** A `git` that kills the engine at a call with certain words, once for each: before it, after it, or in the middle; or
 *  stops it, or asks it to stop; or is killed itself, or finds no space on the disk. */
function killer(path: string, ...kills: [When, string][]): Record<string, string> {
  const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  const amid = `printf x > "$(${real} rev-parse --git-path index.lock)"; mkdir d; printf go > d/f.txt`;
  const full = `echo 'fatal: unable to write file d/f.txt' >&2; exit 128`;
  const act = {
    before: ':',
    after: `${real} "$@"`,
    amid,
    stopped: `kill -STOP $PPID; exec ${real} "$@"`,
    asked: `kill -INT $PPID; exec sleep 1000`,
    lost: `${amid}; kill -9 $$`,
    half: `${amid}; ${full}`,
    full,
  };
  const rows = kills.map(
    ([when, words], n) => `case "$*" in *"${words}"*)
  if mkdir '${path}/killed-${n}' 2>/dev/null; then ${act[when]}; kill -9 $PPID; exit 1; fi;;
esac`,
  );
  put(path, { 'bin/git': `#!/bin/sh\n${rows.join('\n')}\nexec ${real} "$@"\n` });
  chmodSync(join(path, 'bin/git'), 0o755);
  return { PATH: `${join(path, 'bin')}:${process.env['PATH']}` };
}

test.for<[string, 'again' | 'resume', ...[When, string][]]>([
  [
    'when the branch is made, and again when it is pushed',
    'again',
    ['after', 'update-ref -m factory order run'],
    ['before', 'push -u'],
  ],
  ['while the files are switched', 'resume', ['amid', 'switch --quiet']],
])('killed %s, it lands whole when it is resumed', async ([, how, ...kills]) => {
  await using it = await place('good\n');
  const env = killer(it.path, ...kills);
  let next = it.command;
  let run = '';
  for (const _ of kills) {
    const ran = await it.factory(next, { env });
    expect(ran.signal, ran.stderr).toBe('SIGKILL');
    expect(existsSync(join(it.repo, '.git/factory/landing.json'))).toBe(true);
    run = readdirSync(join(it.path, '.factory/runs'))[0] ?? '';
    next = how === 'again' ? it.command : ['resume', run];
  }
  const on = await it.factory(next, { env });
  expect(on.code, on.stderr).toBe(0);
  expect(readdirSync(join(it.path, '.factory/runs'))).toEqual([run]);
  it.landed();
});

test('Ctrl-C while a batch is pushed is reported as such, and the same command pushes', async () => {
  await using it = await place('good\n');
  put(it.path, { 'orders/WO-01.json': order });
  const others = it.command.slice(2).filter((word) => !/work-order|wo\.json/.test(word));
  const command = ['order', 'run-all', '--workdir', 'orders', ...others];
  const env = killer(it.path, ['asked', 'push -u']);
  const ran = await it.factory(command, { env });
  expect(ran.code, ran.stderr).toBe(130);
  expect(ran.stdout).not.toContain('PASS');
  const [run = ''] = readdirSync(join(it.path, 'art/factory'));
  expect(await it.json(`art/factory/${run}/run.json`)).toMatchObject({
    verdict: null,
    status: 'interrupted',
  });
  const on = await it.factory(command, { env });
  expect(on.code, on.stderr).toBe(0);
  expect(readdirSync(join(it.path, '.factory/runs'))).toEqual([run]);
  it.landed();
});

test('killed amid the files of the current branch, it lands whole before the next order begins', async () => {
  await using it = await place('good\n');
  git(it.repo, 'switch', '-q', '-c', 'mine');
  const env = killer(it.path, ['amid', 'merge --ff-only']);
  expect((await it.factory(it.command, { env })).signal).toBe('SIGKILL');
  expect(git(it.repo, 'status', '--porcelain')).not.toBe('');
  put(it.path, { 'other.json': order.replace('One file.', 'Another.').replace('"WO-01"', '"WO-02"') });
  const other = it.command.map((word) => (word === 'wo.json' ? 'other.json' : word));
  const ran = await it.factory([...other, '--max-attempts', '1'], { env });
  expect(ran.code, ran.stderr).toBe(1);
  expect(git(it.repo, 'log', '--format=%s', 'main..')).toBe('WO-01: One');
  expect(git(it.repo, 'status', '--porcelain')).toBe('');
});

test('a full disk amid the files leaves the landing to the next run, which completes it', async () => {
  await using it = await place('good\n');
  const env = killer(it.path, ['half', 'switch --quiet'], ['full', 'reset --quiet --hard']);
  const ran = await it.factory(it.command, { env });
  expect(ran.code, ran.stderr).toBe(1);
  expect(ran.stdout).toContain('unable to write file');
  expect(git(it.repo, 'status', '--porcelain')).not.toBe('');
  const still = await it.factory(it.command, { env });
  expect([still.code, still.stderr]).toEqual([1, expect.stringContaining('cannot be completed')]);
  const on = await it.factory(it.command, { env });
  expect(on.code, on.stderr).toBe(0);
  it.landed();
});

test('an unreadable record of a landing is reported, with what to do', async () => {
  await using it = await place('good\n');
  const note = join(it.repo, '.git/factory/landing.json');
  put(it.repo, { '.git/factory/landing.json': '' });
  const env = { FACTORY_SANDBOX: 'none' };
  const ran = await it.factory(it.command, { env });
  expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining(`${note} is not JSON`)]);
  expect(ran.stderr).toContain('remove that file, then run the same command again');
});

test('a full disk when a node commits suspends the run, which can be resumed', async () => {
  await using it = await place('good\n');
  const env = { ...killer(it.path, ['full', 'commit-tree']), FACTORY_SANDBOX: 'none' };
  const ran = await it.factory(it.command, { env });
  const said = ran.stdout + ran.stderr;
  expect([ran.code, said]).toEqual([75, expect.stringContaining('no space is left on the disk')]);
  const [run = ''] = readdirSync(join(it.path, '.factory/runs'));
  const on = await it.factory(['resume', run], { env });
  expect(on.code, on.stderr).toBe(0);
  it.landed();
});

test.skipIf(process.platform !== 'linux')(
  'a run that is stopped as it moves the branch can be taken over, and changes nothing when it continues',
  async () => {
    await using it = await place('good\n');
    const env = killer(it.path, ['stopped', 'update-ref -m factory order run']);
    let owner: { readonly pid: number; kill(signal: NodeJS.Signals): void } | undefined;
    const watch = (_line: string, child: typeof owner) => {
      owner = child;
    };
    const asleep = it.factory(it.command, { env, watch });
    await vi.waitFor(() => {
      const id = owner === undefined ? undefined : processId(owner.pid);
      expect(id !== undefined && isStopped(id)).toBe(true);
    }, patient);
    const [run = ''] = readdirSync(join(it.path, '.factory/runs'));
    const refused = await it.factory(['resume', run], { env });
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('--take-over')]);
    const taken = await it.factory(['resume', run, '--take-over'], { env });
    expect(taken.code, taken.stderr).toBe(0);
    it.landed();
    const was = [everything(it.repo), everything(join(it.path, 'art'))];
    owner?.kill('SIGCONT');
    const woken = await asleep;
    expect([woken.code, woken.stderr]).toEqual([1, expect.stringContaining('error[run-taken]')]);
    expect([everything(it.repo), everything(join(it.path, 'art'))]).toEqual(was);
    it.landed();
  },
);
