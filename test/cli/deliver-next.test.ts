/** The commands that a delivery prints can be typed. */
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folder, git } from '../builder/support.ts';
import { run } from './delivered-run.ts';

type Run = Awaited<ReturnType<typeof run>>;

/** What the shell prints for the command behind `before`. */
function typed({ said, source }: Run, before: string): string {
  const command = said().split(before)[1]?.split('\n')[0] ?? '';
  const ran = spawnSync('sh', ['-c', command], { cwd: join(source, '..'), encoding: 'utf8' });
  return ran.status === 0 ? ran.stdout : `${command}: ${ran.stderr}`;
}

test('a delivery to a directory whose name begins with a dash', async () => {
  using it = folder();
  const r = await run(it.path, { files: { 'scripts/verify.sh': 'cat f1.txt\n' } });
  for (const said of ['1 commit', 'delivered already']) {
    expect(await r.asked({ to: '-' }), r.said()).toBe(0);
    expect(r.said()).toContain(said.slice(1));
    expect(typed(r, 'next: ')).toMatch(/^1\n$|WO-02/);
  }
});

test('a run from a first commit is delivered whole also where the source is gone', async () => {
  using it = folder();
  const r = await run(it.path);
  rmSync(r.source, { recursive: true });
  expect(await r.asked({ to: 'out' })).toBe(0);
  expect(r.said()).not.toContain('not included');
  expect(git(join(it.path, 'out'), 'rev-parse', '--is-shallow-repository')).toBe('false');
  expect(git(join(it.path, 'out'), 'log', '--format=%s').split('\n')).toHaveLength(3);
});

test('an interrupted push can be repeated by the printed command', async () => {
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
