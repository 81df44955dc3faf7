/** Reports about a program that could not be started. */
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SandboxLevel } from '../../../src/core/contracts/sandbox.ts';
import { realSpawn } from '../../../src/platform/process/spawn.ts';
import type { SandboxCapabilities } from '../../../src/platform/sandbox/capabilities.ts';
import { inCgroup } from '../../../src/platform/sandbox/cgroup.ts';
import { confining } from '../../../src/platform/sandbox/spawn.ts';
import { onDisk } from '../../support/temporary.ts';
import { temp } from '../temp.ts';
import { type Machine, machine, noBwrap } from './machine.ts';

onDisk();

let it: Machine;
beforeAll(async () => {
  it = await machine();
});
afterAll(() => it[Symbol.asyncDispose]());

const rungs: readonly SandboxLevel[] = noBwrap === undefined ? ['bwrap', 'group'] : ['group'];
const saying = (words: string) => `echo '${words}' >&2; exit 1`;

test.for(
  rungs.flatMap((rung) =>
    ['bwrap: execvp', 'prlimit: failed to execute', 'unshare: failed to execute'].map((who) => [rung, who]),
  ) as [SandboxLevel, string][],
)('on %s a stage whose own "%s" finds no program has been started itself', async ([rung, who]) => {
  const { exit } = await it.stage(saying(`${who} no-such: No such file or directory`), { rung });
  expect(exit).toEqual({ kind: 'exited', code: 1 });
});

test('a sandbox that a stage makes for itself is not ours', async () => {
  const { exit } = await it.stage(saying('bwrap: No permissions to create new namespace'), { rung: 'group' });
  expect(exit).toEqual({ kind: 'exited', code: 1 });
});

test.for([
  ['of this machine', 'exec "$@"'],
  ['like dash', 'echo "sh: 1: exec: $1: not found" >&2; exit 127'],
  ['like bash', 'echo "sh: line 1: exec: $1: not found" >&2; exit 127'],
  ['like that of busybox', 'echo "sh: exec: line 0: $1: not found" >&2; exit 127'],
])('a program that a shell %s should have become is reported as missing', async ([, text]) => {
  const ladder: SandboxCapabilities = {
    bwrap: { missing: 'none' },
    unshare: { argv: ['sh', '-c', text ?? '', 'sh'], loopback: true },
    prlimit: undefined,
    root: false,
    crowds: undefined,
    countsApart: true,
    hard: { memory: 1e15, processes: 1e6, fileSize: 1e15 },
  };
  await using at = await temp();
  const exit = await confining(realSpawn, ladder).run({
    argv: ['no-such-program'],
    cwd: at.dir,
    env: { PATH: process.env['PATH'] ?? '' },
    stdoutFile: at.at('out'),
    stderrFile: at.at('err'),
    confinement: {
      rung: 'unshare',
      network: false,
      limits: {},
      binds: [],
      masks: [],
      inside: [],
      home: undefined,
      scratch: at.at('scratch'),
      covers: [],
      pinned: [],
    },
  });
  expect(exit).toMatchObject({ kind: 'not_found', program: 'no-such-program' });
});

test.for([
  ['a shell text', ['sh', '-c', 'echo ran']],
  ['a program', ['echo', 'ran']],
] as [string, [string, ...string[]]][])(
  'a control group is joined whatever its name is made of: %s',
  async ([, argv]) => {
    await using at = await temp();
    // As the system's own names are, and more.
    const crowd = at.at("app-a\\x2db 'c'.slice");
    const members = join(crowd, 'cgroup.procs');
    await mkdir(crowd);
    await writeFile(members, '');
    await realSpawn.run({
      argv: inCgroup(crowd, argv),
      cwd: at.dir,
      env: { PATH: process.env['PATH'] ?? '' },
      stdoutFile: at.at('out'),
      stderrFile: at.at('err'),
    });
    expect(readFileSync(at.at('err'), 'utf8')).toBe('');
    expect(readFileSync(at.at('out'), 'utf8')).toBe('ran\n');
    expect(readFileSync(members, 'utf8')).toBe('0\n');
  },
);
