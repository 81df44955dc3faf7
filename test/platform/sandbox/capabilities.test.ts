import { execFile } from 'node:child_process';
import { access, mkdir, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import type { Confinement } from '../../../src/core/contracts/sandbox.ts';
import { realSpawn } from '../../../src/platform/process/spawn.ts';
import {
  countsByNamespace,
  type SandboxCapabilities,
  sandboxCapabilities,
} from '../../../src/platform/sandbox/capabilities.ts';
import { limited } from '../../../src/platform/sandbox/limits.ts';
import { confining } from '../../../src/platform/sandbox/spawn.ts';
import { onDisk } from '../../support/temporary.ts';
import { temp } from '../temp.ts';

onDisk();

/** A PATH with these programs and no others. */
async function pathWith(dir: string, names: readonly string[]): Promise<string> {
  await mkdir(join(dir, 'bin'));
  for (const name of names)
    for (const folder of ['/bin', '/usr/bin', '/sbin', '/usr/sbin']) {
      const there = await access(join(folder, name)).then(
        () => true,
        () => false,
      );
      if (!there) continue;
      await symlink(join(folder, name), join(dir, 'bin', name));
      break;
    }
  return join(dir, 'bin');
}

test('a machine without any program has the lowest rung, and says why', async () => {
  await using it = await temp();
  // A folder that is called so is none.
  for (const name of ['bwrap', 'prlimit', 'unshare']) await mkdir(it.at(name));
  const ladder = await sandboxCapabilities({ PATH: it.dir });
  expect(ladder).toMatchObject({
    bwrap: { missing: expect.stringContaining('not installed') },
    unshare: undefined,
    prlimit: undefined,
  });
});

test('a bubblewrap that cannot make a sandbox counts as none, with its own words', async () => {
  await using it = await temp();
  await writeFile(
    it.at('bwrap'),
    '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2\nexit 1\n',
    {
      mode: 0o755,
    },
  );
  expect((await sandboxCapabilities({ PATH: it.dir })).bwrap).toEqual({
    missing: 'bwrap does not work here: No permissions to create new namespace',
  });
});

test('a machine without room for another process says nothing about bubblewrap', async () => {
  await using it = await temp();
  const says = 'bwrap: Creating new namespace failed: Resource temporarily unavailable';
  await writeFile(it.at('bwrap'), `#!/bin/sh\necho '${says}' >&2\nexit 1\n`, { mode: 0o755 });
  expect((await sandboxCapabilities({ PATH: it.dir })).bwrap).toEqual({
    missing: 'bwrap could not be tried: Creating new namespace failed: Resource temporarily unavailable',
    noRoom: true,
  });
});

test('a bubblewrap that was killed, as for memory or at its time limit, tells nothing of what the machine can', async () => {
  await using it = await temp();
  await writeFile(it.at('bwrap'), '#!/bin/sh\nkill -KILL $$\n', { mode: 0o755 });
  expect((await sandboxCapabilities({ PATH: it.dir })).bwrap).toMatchObject({ noRoom: true });
});

test('without bubblewrap the network is taken away by unshare, where that works', async () => {
  await using it = await temp();
  const path = await pathWith(it.dir, ['sh', 'unshare', 'ip', 'true', 'prlimit']);
  const ladder = await sandboxCapabilities({ PATH: path });
  if (ladder.unshare === undefined) return;
  let heard = 0;
  const server = createServer((socket) => {
    heard++;
    socket.end('outside');
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const call = async (network: boolean) =>
    confining(realSpawn, ladder).run({
      argv: [
        process.execPath,
        '-e',
        `require('node:net').connect(${port}, '127.0.0.1').on('error', () => process.exit(9))`,
      ],
      cwd: it.dir,
      env: { PATH: path },
      stdoutFile: it.at('out'),
      stderrFile: it.at('err'),
      confinement: { ...bare(it.dir), rung: 'unshare', network },
    });
  expect(await call(false)).toEqual({ kind: 'exited', code: 9 });
  expect(heard).toBe(0);
  expect(await call(true)).toEqual({ kind: 'exited', code: 0 });
  expect(heard).toBe(1);
  server.close();
});

const bare = (scratch: string): Confinement => ({
  rung: 'group',
  network: true,
  limits: {},
  binds: [],
  masks: [],
  inside: [],
  home: undefined,
  scratch,
  covers: [],
  pinned: [],
});

const none = Number.POSITIVE_INFINITY;
const at: Pick<SandboxCapabilities, 'prlimit' | 'hard' | 'countsApart'> = {
  prlimit: '/usr/bin/prlimit',
  countsApart: true,
  hard: { memory: none, processes: 100, fileSize: none },
};

test.for([
  [['sh', '-c', 'true'], {}, ['sh', '-c', 'true']],
  [['sh', '-c', 'true'], { fileSize: 1025 }, ['sh', '-c', 'ulimit -f 3;true']],
  [
    ['sh', '-c', 'true', 'x'],
    { memory: 2048, processes: 5000 },
    ['sh', '-c', 'ulimit -v 2;ulimit -p 100 2>/dev/null || ulimit -u 100 2>/dev/null || :;true', 'x'],
  ],
  [
    ['node', 'x'],
    { fileSize: 10, memory: 20 },
    ['/usr/bin/prlimit', '--fsize=10', '--as=20', '--', 'node', 'x'],
  ],
  [['node', 'x'], {}, ['node', 'x']],
] as const)('%j within %j is %j: no limit exceeds the current one', ([argv, limits, within]) =>
  expect(limited([...argv] as [string, ...string[]], limits, at)).toEqual(within),
);

test.for([
  [true, 20],
  [false, 80],
] as const)('where a process limit counts apart (%s) it is %i', ([countsApart, most]) => {
  const limits = { processes: 20, processesOfUser: 80 };
  const argv = limited(['node', 'x'], limits, { ...at, countsApart });
  expect(argv).toEqual(['/usr/bin/prlimit', `--nproc=${most}`, '--', 'node', 'x']);
});

test.for([
  ['5.13.0-52-generic', false],
  ['5.14.0', true],
  ['4.18.0-553.el8', false],
  ['6.1.0-13-amd64', true],
  ['', false],
] as const)('Linux %s counts processes by namespace: %s', ([version, counts]) => {
  expect(countsByNamespace(version)).toBe(counts);
});

test('where fewer processes are allowed than a stage may have, that holds and nothing is said of it', async () => {
  const untold = {
    prlimit: undefined,
    countsApart: true,
    hard: { memory: none, processes: none, fileSize: none },
  };
  const [, , text = ''] = limited(['sh', '-c', 'echo $?'], { processes: 8192 }, untold);
  const refusing = 'ulimit() { echo "ulimit: cannot modify limit: Operation not permitted" >&2; return 1; }';
  const ran = await promisify(execFile)('sh', ['-c', `${refusing}\n${text}`]);
  expect(ran).toMatchObject({ stdout: '0\n', stderr: '' });
});
