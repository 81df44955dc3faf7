/** What a delivery says can be typed next does what it says. */
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folder, git, put } from '../builder/support.ts';
import { run } from './delivered-run.ts';

type Run = Awaited<ReturnType<typeof run>>;

/** What the shell prints for the command behind `before`. */
function typed({ said, source }: Run, before: string): string {
  const command = said().split(before)[1]?.split('\n')[0] ?? '';
  const ran = spawnSync('sh', ['-c', command], { cwd: join(source, '..'), encoding: 'utf8' });
  return ran.status === 0 ? ran.stdout : `${command}: ${ran.stderr}`;
}

test.for(['tag', 'folder'] as const)('of a branch that has the name of a %s', async (what) => {
  using it = folder();
  const prepare = (source: string): void => {
    if (what === 'tag') git(source, 'tag', 'same');
    else put(source, { 'same/x': 'x\n' });
    put(source, { 'f1.txt': 'in the way\n' });
  };
  const r = await run(it.path, { prepare });
  expect(await r.asked({ branch: 'same' })).toBe(0);
  expect(typed(r, 'next: ')).toContain('WO-02: sub/run.sh');

  git(r.source, 'remote', 'add', 'origin', join(it.path, 'remote.git'));
  expect(await r.asked({ branch: 'same', push: true })).toBe(1);
  git(it.path, 'init', '-q', '--bare', 'remote.git');
  typed(r, 'by hand: ');
  expect(git(join(it.path, 'remote.git'), 'for-each-ref', '--format=%(refname)')).toBe('refs/heads/same');
});

test('of a branch that another working tree has checked out since', async () => {
  using it = folder();
  const r = await run(it.path);
  await r.asked({ branch: 'b' });
  git(r.source, 'worktree', 'add', '-q', '../other', 'b');
  expect(await r.asked({ branch: 'b' })).toBe(0);
  expect(r.said()).toMatch(/git would refuse to switch to it now: .* checked out in .*other\n/);
  expect(typed(r, 'next: ')).toContain('WO-02: sub/run.sh');

  git(r.source, 'worktree', 'remove', '../other');
  git(r.source, 'switch', '-q', 'b');
  expect(await r.asked({ branch: 'b' })).toBe(0);
  expect(r.said()).toMatch(/^delivered already: .*\nnext: git -C \S+ switch b\n$/);
});

test('of a folder whose name begins with a dash', async () => {
  using it = folder();
  const r = await run(it.path, { files: { 'scripts/verify.sh': 'cat f1.txt\n' } });
  for (const said of ['1 commit', 'delivered already']) {
    expect(await r.asked({ to: '-' }), r.said()).toBe(0);
    expect(r.said()).toContain(said.slice(1));
    expect(typed(r, 'next: ')).toMatch(/^1\n$|WO-02/);
  }
});

test('what came before the first commit of a source that is gone is missed by nobody', async () => {
  using it = folder();
  const r = await run(it.path);
  rmSync(r.source, { recursive: true });
  expect(await r.asked({ to: 'out' })).toBe(0);
  expect(r.said()).not.toContain('not included');
  expect(git(join(it.path, 'out'), 'rev-parse', '--is-shallow-repository')).toBe('false');
  expect(git(join(it.path, 'out'), 'log', '--format=%s').split('\n')).toHaveLength(3);
});

test('a push that somebody stops is at its end, and is pushed by what is typed next', async () => {
  using it = folder();
  const r = await run(it.path);
  git(it.path, 'init', '-q', '--bare', 'remote.git');
  git(r.source, 'remote', 'add', 'origin', join(it.path, 'remote.git'));
  // Takes the push, and answers nothing until who pushes is gone.
  const asked = join(it.path, 'asked');
  spawnSync('mkfifo', [asked]);
  git(r.source, 'config', 'remote.origin.receivepack', `echo > ${asked}; cat > /dev/null; :`);
  const stop = new AbortController();
  const ended = r.asked({ branch: 'b', push: true }, 'RUN1', { signal: () => stop.signal });
  await readFile(asked);
  stop.abort();
  expect(await ended).toBe(130);
  expect(r.said()).toContain('delivered, but not pushed: interrupted');
  git(r.source, 'config', '--unset', 'remote.origin.receivepack');
  typed(r, 'by hand: ');
  expect(git(join(it.path, 'remote.git'), 'rev-parse', 'b')).toBe(r.head);
});
