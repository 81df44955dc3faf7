import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { describe, expect, test, vi } from 'vitest';
import type { Exit, OpenInput, ProcessId, SpawnRequest } from '../../../src/core/contracts/process.ts';
import { realSpawn } from '../../../src/platform/process/spawn.ts';
import { endGroup, killNow, sweep } from '../../../src/platform/process/sweep.ts';
import { isAlive, processId } from '../../../src/platform/process/table.ts';
import { asHeldByModes } from '../../workspace/folders.ts';
import { type Temp, temp } from '../temp.ts';

const PATH = process.env['PATH'] ?? '';

/** A stage in a directory of its own: `sh -c script`, with a marker that no other test has. */
async function stage() {
  const it = await temp();
  const mark = randomUUID();
  const request = (argv: readonly [string, ...string[]], more: Partial<SpawnRequest> = {}): SpawnRequest => ({
    argv,
    cwd: it.dir,
    env: { PATH, MARK: mark },
    stdoutFile: it.at('out'),
    stderrFile: it.at('err'),
    marker: `MARK=${mark}`,
    ...more,
  });
  return {
    ...it,
    mark,
    run: (argv: readonly [string, ...string[]], more?: Partial<SpawnRequest>): Promise<Exit> =>
      realSpawn.run(request(argv, more)),
    sh: (script: string, more?: Partial<SpawnRequest>): Promise<Exit> =>
      realSpawn.run(request(['sh', '-c', script], more)),
    out: () => readFileSync(it.at('out'), 'utf8'),
    err: () => readFileSync(it.at('err'), 'utf8'),
    pid: (name: string) => Number(readFileSync(it.at(name), 'utf8')),
    [Symbol.asyncDispose]: it[Symbol.asyncDispose],
  };
}

/** The process that wrote its pid into a file is no more. */
const isGone = (pid: number) => {
  expect(pid).toBeGreaterThan(1);
  const id = processId(pid);
  return id === undefined || !isAlive(id);
};

/** Fires once the stage has written the file `ready`. */
function whenReady(it: Temp): AbortSignal {
  const controller = new AbortController();
  vi.waitFor(() => expect(existsSync(it.at('ready'))).toBe(true), { timeout: 20_000, interval: 2 }).then(
    () => controller.abort(),
    () => controller.abort(),
  );
  return controller.signal;
}

/** Leaves the stage's session and group by two forks, writes its pid, and stays. */
const runaway = (redirect = '>/dev/null 2>&1') =>
  `(setsid sh -c 'echo $$ > pid.part; mv pid.part pid; exec sleep 1000' ${redirect} &); while ! [ -s pid ]; do :; done`;

test.for([
  { name: 'its exit code', script: 'exit 3', exit: { kind: 'exited', code: 3 } },
  {
    name: 'the signal that ended it',
    script: 'kill -USR1 $$',
    exit: { kind: 'signalled', signal: 'SIGUSR1' },
  },
])('a program that ends by itself is answered with $name', async ({ script, exit }) => {
  await using it = await stage();
  expect(await it.sh(script)).toEqual(exit);
});

test('a program that ends by itself has its two streams in two files, and what lay there before is gone', async () => {
  await using it = await stage();
  writeFileSync(it.at('out'), 'something much longer from an earlier attempt');
  await it.sh('echo one; echo two >&2');
  expect([it.out(), it.err()]).toEqual(['one\n', 'two\n']);
});

test('a program that ends by itself gets the environment and the working directory it was given, and nothing else', async () => {
  await using it = await stage();
  await it.run(['env']);
  expect(it.out().trim().split('\n').sort()).toEqual([`MARK=${it.mark}`, `PATH=${PATH}`]);
  await it.run(['pwd', '-P']);
  expect(it.out()).toBe(`${it.dir}\n`);
});

test('a program that ends by itself that is the shell is the first program of that name on the PATH, by its own name', async () => {
  await using it = await stage();
  for (const [folder, mode] of [
    ['plain', 0o644],
    ['mine', 0o755],
  ] as const) {
    mkdirSync(it.at(folder));
    writeFileSync(it.at(folder, 'sh'), `#!/bin/sh\necho ${folder}\n`, { mode });
  }
  const path = (...first: string[]) => ({ PATH: [...first.map((name) => it.at(name)), PATH].join(':') });
  await it.sh('echo "$0"', { env: path('plain') });
  expect(it.out()).toBe('sh\n');
  await it.sh('echo "$0"', { env: path('plain', 'mine') });
  expect(it.out()).toBe('mine\n');
  await it.sh('echo "$0"');
  expect(it.out()).toBe('sh\n');
  // A relative folder means one below the stage's own.
  await it.sh('echo "$0"', { env: { PATH: `mine:${PATH}` } });
  expect(it.out()).toBe('mine\n');
  expect(await it.sh('true', { env: { PATH: it.at('plain') } })).toMatchObject({ kind: 'not_found' });
});

test('a program that ends by itself writes 5 MB on both streams at once, masked or not, and every byte arrives', async () => {
  await using it = await stage();
  const both = 'head -c 5000000 /dev/zero | tr "\\0" x & head -c 5000000 /dev/zero | tr "\\0" y >&2; wait';
  for (const mask of [[], ['supersecret']]) {
    expect(await it.sh(both, { mask })).toEqual({ kind: 'exited', code: 0 });
    expect(it.out()).toBe('x'.repeat(5_000_000));
    expect(it.err()).toBe('y'.repeat(5_000_000));
  }
});

test('a program that ends by itself may have a timeout longer than a timer can be', async () => {
  await using it = await stage();
  expect(await it.sh('sleep 0.1', { timeoutMs: 2 ** 32 })).toEqual({ kind: 'exited', code: 0 });
});

test('a program that ends by itself is reported with its identity before the answer', async () => {
  await using it = await stage();
  const told: ProcessId[] = [];
  await it.sh('echo $$', {
    started: async (id) => {
      await Promise.resolve();
      told.push(id);
    },
  });
  expect(told).toEqual([
    { pid: Number(it.out()), startTime: expect.stringMatching(/./), boot: expect.any(String) },
  ]);
});

describe('standard input', () => {
  test('is what was given, then its end', async () => {
    await using it = await stage();
    await it.sh('cat', { stdin: 'a prompt\nof two lines, ünd more' });
    expect(it.out()).toBe('a prompt\nof two lines, ünd more');
  });

  test('can be opened by its name', async () => {
    await using it = await stage();
    expect(await it.sh('cat /dev/stdin', { stdin: 'a prompt' })).toEqual({ kind: 'exited', code: 0 });
    expect(it.out()).toBe('a prompt');
  });

  test('is empty when nothing is given', async () => {
    await using it = await stage();
    expect(await it.sh('cat; readlink /proc/self/fd/0')).toEqual({ kind: 'exited', code: 0 });
    expect(it.out()).toBe('/dev/null\n');
  });

  test('of 1 MB may be ignored, and no file of it stays', async () => {
    await using it = await stage();
    expect(await it.sh('exec 0<&-; exit 0', { stdin: 'x'.repeat(1_000_000) })).toEqual({
      kind: 'exited',
      code: 0,
    });
    expect(readdirSync(it.dir).sort()).toEqual(['err', 'out']);
  });

  test('stays open for a talk: what the program prints decides what it reads next', async () => {
    await using it = await stage();
    let input: OpenInput | undefined;
    let heard = '';
    const ended = await it.sh('read a; echo "got $a"; read b; echo "and $b"; cat; echo end', {
      talk(opened) {
        input = opened;
        opened.write('one\n');
      },
      onStdout(bytes) {
        heard += bytes.toString();
        if (heard === 'got one\n') input?.write('two\n');
        if (heard.endsWith('and two\n')) input?.end();
      },
    });
    expect(ended).toEqual({ kind: 'exited', code: 0 });
    expect(heard).toBe('got one\nand two\nend\n');
  });

  test('that a program closes, or leaves unread when it ends, is no failure of a talk', async () => {
    await using it = await stage();
    let input: OpenInput | undefined;
    const ended = await it.sh('exec 0<&-; echo closed; exit 3', {
      talk: (opened) => {
        input = opened;
      },
      onStdout: () => input?.write('x'.repeat(1_000_000)),
    });
    expect(ended).toEqual({ kind: 'exited', code: 3 });
    input?.write('late');
    input?.end();
  });
});

describe('masked output', () => {
  const mask = ['hunter2-hunter2'];

  test('shows no value that was written in two pieces', async () => {
    await using it = await stage();
    await it.sh('printf "a hunter2-"; printf "hunter2 b"; printf "hunter2-hunter2" >&2', { mask });
    expect([it.out(), it.err()]).toEqual(['a *** b', '***']);
  });

  test('can be written by opening /dev/stdout and /dev/stderr, and nothing of it is lost', async () => {
    await using it = await stage();
    expect(
      await it.sh('echo one >&2; echo two > /dev/stderr; echo three | tee /dev/stderr', { mask }),
    ).toMatchObject({ code: 0 });
    expect([it.out(), it.err()]).toEqual(['three\n', 'one\ntwo\nthree\n']);
  });

  test('leaves no pipe behind', async () => {
    await using it = await stage();
    mkdirSync(it.at('tmp'));
    vi.stubEnv('TMPDIR', it.at('tmp'));
    try {
      // More than are made at a time.
      for (let n = 0; n < 10; n++) await it.sh('echo x', { mask });
      expect(await it.run(['no-such-program'], { mask })).toMatchObject({ kind: 'not_found' });
      expect(readdirSync(it.at('tmp'))).toEqual([]);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test('goes through Node’s own pipes where no real ones can be made', async () => {
    await using it = await stage();
    vi.stubEnv('TMPDIR', it.at('no-such-folder'));
    try {
      // The spare ones are used up on the way.
      for (let n = 0; n < 10; n++) {
        expect(await it.sh('echo hunter2-hunter2; echo err >&2', { mask })).toEqual({
          kind: 'exited',
          code: 0,
        });
        expect([it.out(), it.err()]).toEqual(['***\n', 'err\n']);
      }
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test('that cannot be written ends the program and rejects', async () => {
    await using it = await stage();
    await expect(
      it.sh('echo $$ > pid; while :; do echo more; done', { mask, stdoutFile: '/dev/full' }),
    ).rejects.toThrow(/ENOSPC/);
    expect(isGone(it.pid('pid'))).toBe(true);
  });
});

describe('children left behind', () => {
  test.for([{ mask: [] }, { mask: ['supersecret'] }])(
    'in the background with the output open do not keep a stage open, and are ended ($mask)',
    async ({ mask }) => {
      await using it = await stage();
      expect(await it.sh('echo before; sleep 1000 & echo $! > pid', { mask })).toEqual({
        kind: 'exited',
        code: 0,
      });
      expect(it.out()).toBe('before\n');
      expect(isGone(it.pid('pid'))).toBe(true);
    },
  );

  test.for([
    { name: 'ended by itself', tail: '', more: {}, kind: 'exited' },
    { name: 'failed', tail: '; exit 3', more: {}, kind: 'exited' },
    { name: 'held the output', tail: '', more: { mask: ['supersecret'] }, kind: 'exited', redirect: '' },
  ])(
    'are found though they left group and session by two forks, when the stage $name',
    async ({ tail, more, kind, redirect }) => {
      await using it = await stage();
      expect(await it.sh(runaway(redirect) + tail, more)).toMatchObject({ kind });
      expect(isGone(it.pid('pid'))).toBe(true);
    },
  );

  test.for([{ why: 'timed_out' }, { why: 'cancelled' }])(
    'are found in the same way when the stage is $why',
    async ({ why }) => {
      await using it = await stage();
      const script = `trap 'touch ended; exit 0' TERM; ${runaway()}; touch ready; while :; do sleep 0.01; done`;
      const controller = new AbortController();
      const exit = await it.sh(
        script,
        why === 'timed_out'
          ? { timeoutMs: 1000 }
          : {
              signal: whenReady(it),
            },
      );
      controller.abort();
      expect(exit.kind).toBe(why);
      expect(isGone(it.pid('pid'))).toBe(true);
      expect(existsSync(it.at('ended'))).toBe(true);
    },
  );

  test('are found however late they start: one that the stage starts as its last act', async () => {
    await using it = await stage();
    for (let n = 0; n < 20; n++) {
      await it.sh(`setsid sh -c 'setsid sh -c "echo \\$\\$ >> pids; exec sleep 1000" &' >/dev/null 2>&1 &`);
    }
    // Most are ended before they can write.
    const written = existsSync(it.at('pids')) ? readFileSync(it.at('pids'), 'utf8').split('\n') : [];
    expect(written.filter((pid) => pid !== '' && !isGone(Number(pid)))).toEqual([]);
    expect(await sweep(`MARK=${it.mark}`)).toBe(0);
  });
});

describe('a program that is stopped', () => {
  test('for its time is answered with the limit', async () => {
    await using it = await stage();
    expect(await it.run(['sleep', '1000'], { timeoutMs: 30 })).toEqual({ kind: 'timed_out', afterMs: 30 });
  });

  test('gets SIGTERM and may finish in an orderly way', async () => {
    await using it = await stage();
    const script = `trap 'echo bye; exit 0' TERM; echo ready > ready; while :; do sleep 0.01; done`;
    expect(await it.sh(script, { signal: whenReady(it) })).toEqual({ kind: 'cancelled' });
    expect(it.out()).toBe('bye\n');
  });

  test('and ignores SIGTERM is killed when the grace is over', async () => {
    await using it = await stage();
    const script = `trap '' TERM; echo $$ > pid; echo ready > ready; while :; do sleep 0.01; done`;
    expect(await it.sh(script, { signal: whenReady(it), graceMs: 20 })).toEqual({ kind: 'cancelled' });
    expect(isGone(it.pid('pid'))).toBe(true);
  });

  test('leaves its children their part of the grace, though it dies at once itself', async () => {
    await using it = await stage();
    const child = `trap 'sleep 0.1; echo done > tidy; exit 0' TERM; echo ready > ready; while :; do sleep 0.01; done`;
    expect(
      await it.sh(`sh -c "$CHILD" & wait`, { env: { PATH, CHILD: child }, signal: whenReady(it) }),
    ).toEqual({ kind: 'cancelled' });
    expect(readFileSync(it.at('tidy'), 'utf8')).toBe('done\n');
  });

  test('before it started never starts', async () => {
    await using it = await stage();
    expect(await it.sh('touch ran', { signal: AbortSignal.abort() })).toEqual({ kind: 'cancelled' });
    expect(readdirSync(it.dir).sort()).toEqual(['err', 'out']);
  });

  // As Ctrl-C does to one that has not left our group yet: the system reports its end before the signal.
  test('a program that the same signal has ended as us is cancelled', async () => {
    await using it = await stage();
    const controller = new AbortController();
    process.once('SIGCHLD', () => setImmediate(() => controller.abort('SIGINT')));
    expect(await it.sh('kill -INT $$', { signal: controller.signal })).toEqual({ kind: 'cancelled' });
    expect(await it.sh('kill -INT $$')).toEqual({ kind: 'signalled', signal: 'SIGINT' });
  });

  test('because the caller’s listener failed rejects with that failure', async () => {
    await using it = await stage();
    const started = () => Promise.reject(new Error('no room for stage.json'));
    await expect(it.sh('echo $$ > part; mv part pid; exec sleep 1000', { started })).rejects.toThrow(
      'no room for stage.json',
    );
    expect(!existsSync(it.at('pid')) || isGone(it.pid('pid'))).toBe(true);
  });
});

describe('a program that cannot be started', () => {
  test.for<{ name: string; argv: [string, ...string[]]; more?: Partial<SpawnRequest>; why: RegExp }>([
    {
      name: 'is nowhere on PATH',
      argv: ['no-such-program'],
      why: /no-such-program" is not installed.*PATH=/,
    },
    { name: 'is no file', argv: ['./nope'], why: /there is no file .*nope/ },
    { name: 'is not executable', argv: ['./plain'], why: /plain is not executable/ },
    { name: 'is a directory', argv: ['./folder'], why: /folder is a directory/ },
    {
      name: 'names an interpreter that is missing',
      argv: ['./script'],
      why: /script exists, but its first line names the interpreter "\/no\/such\/interpreter\\r", which does not/,
    },
    { name: 'has no name', argv: [''], why: /name is empty/ },
    { name: 'has a NUL in an argument', argv: ['echo', 'a\0b'], why: /argument 1 contains a NUL/ },
    {
      name: 'has too long an argument',
      argv: ['echo', 'x'.repeat(3_000_000)],
      why: /argument list too long: 3\d+ bytes/,
    },
    {
      name: 'has a NUL in its environment',
      argv: ['env'],
      more: { env: { KEY: 'my-secret\0' } },
      why: /^the environment variable "KEY" contains a NUL byte$/,
    },
    {
      name: 'has no working directory',
      argv: ['true'],
      more: { cwd: '/no/such/folder' },
      why: /working directory \/no\/such\/folder does not exist/,
    },
    {
      name: 'has a file for a working directory',
      argv: ['true'],
      more: { cwd: '/etc/passwd' },
      why: /\/etc\/passwd is not a directory/,
    },
  ])('since it $name is answered with that reason', async ({ argv, more, why }) => {
    await using it = await stage();
    writeFileSync(it.at('plain'), 'x');
    mkdirSync(it.at('folder'));
    writeFileSync(it.at('script'), '#!/no/such/interpreter\r\n', { mode: 0o755 });
    expect(await it.run(argv, more)).toEqual({
      kind: 'not_found',
      program: argv[0],
      why: expect.stringMatching(why),
    });
    expect([it.out(), it.err()]).toEqual(['', '']);
  });
});

test('a program that is nowhere is no program that may not be executed, where a directory of PATH is closed', async () => {
  await using it = await stage();
  mkdirSync(it.at('closed'), { mode: 0 });
  writeFileSync(it.at('plain'), 'x', { mode: 0o644 });
  const [closed, open] = [it.at('closed'), it.dir];
  const why = (program: string, PATH: string) =>
    asHeldByModes(it.dir, async () => {
      const ended = await it.run([program], { env: { PATH } });
      return ended.kind === 'not_found' ? ended.why : ended.kind;
    });
  const hint = 'may not be searched by this user';
  expect(await why('nope', `${closed}:${open}`)).toBe(
    `"nope" is not installed: no directory of PATH has it (PATH=${closed}:${open}; ${closed} ${hint})`,
  );
  expect(await why('plain', `${closed}:${open}`)).toBe(`${it.at('plain')} is not executable (chmod +x)`);
});

describe('output files', () => {
  test('never lead elsewhere by a link that a stage has put there', async () => {
    await using it = await stage();
    writeFileSync(it.at('precious'), 'precious');
    symlinkSync(it.at('precious'), it.at('out'));
    await it.sh('echo x');
    expect([readFileSync(it.at('precious'), 'utf8'), it.out()]).toEqual(['precious', 'x\n']);
  });

  test('are recreated where a node has put a pipe without a reader, or a folder', async () => {
    await using it = await stage();
    await it.run(['mkfifo', it.at('trap')]);
    mkdirSync(it.at('dir', 'in it'), { recursive: true });
    const files = { stdoutFile: it.at('trap'), stderrFile: it.at('dir') };
    expect(await it.sh('echo x', files)).toEqual({ kind: 'exited', code: 0 });
    for (const file of Object.values(files)) expect(statSync(file).isFile()).toBe(true);
  });

  test('that cannot be made reject, and nothing is started', async () => {
    await using it = await stage();
    await expect(it.sh('touch ran', { stdoutFile: it.at('no', 'out') })).rejects.toThrow(/ENOENT/);
    expect(existsSync(it.at('ran'))).toBe(false);
  });

  test('leave no descriptor open', async () => {
    await using it = await stage();
    const stages = async () => {
      // As many masked ones as use up what pipes are made at a time.
      for (let n = 0; n < 7; n++) await it.sh('echo x', { stdin: 'y', mask: ['supersecret'] });
      expect(await it.run(['no-such-program'], { mask: ['supersecret'], stdin: 'y' })).toMatchObject({
        kind: 'not_found',
      });
      for (let n = 0; n < 8; n++) await it.sh('echo x', { stdin: 'y' });
      return readdirSync('/proc/self/fd').length;
    };
    const before = await stages();
    expect((await stages()) - before).toBeLessThan(5);
  });
});

describe('identities', () => {
  test('a process is alive until it ends, also as a zombie', async () => {
    // `cat` takes the shell's place and never waits for the child that the shell had started.
    const parent = spawn('sh', ['-c', 'sleep 1000 & echo $!; exec cat'], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    try {
      const [line] = await once(parent.stdout, 'data');
      const child = Number(String(line));
      const id = processId(child);
      if (id === undefined) throw new Error('the child does exist');
      expect(isAlive(id)).toBe(true);
      const echo = once(parent.stdout, 'data');
      parent.stdin.write('cat is here\n');
      await echo;
      process.kill(child, 'SIGKILL');
      await vi.waitFor(() => expect(isAlive(id)).toBe(false), { interval: 2 });
      expect(readFileSync(`/proc/${child}/stat`, 'latin1')).toMatch(/\) Z /);
      expect(isAlive(processId(parent.pid ?? 0) ?? { pid: 0, startTime: '' })).toBe(true);
    } finally {
      await end(parent);
    }
  });

  test('another process with the same pid, or one of another boot, is not the one', () => {
    const self = processId(process.pid);
    if (self === undefined) throw new Error('we do exist');
    expect(isAlive(self)).toBe(true);
    expect(isAlive({ ...self, startTime: `${Number(self.startTime) + 1}` })).toBe(false);
    expect(isAlive({ ...self, boot: 'another' })).toBe(false);
    expect(isAlive({ pid: self.pid, startTime: self.startTime })).toBe(true);
  });

  test.for([0, -1, 1.5, Number.NaN, 2 ** 30])('there is no process %d', (pid) => {
    expect(processId(pid)).toBeUndefined();
    expect(isAlive({ pid, startTime: '1' })).toBe(false);
  });
});

test('a sweep ends every process that carries the marker and says how many, and leaves others', async () => {
  await using it = await temp();
  const mark = randomUUID();
  const env = { PATH, OTHER: 'x', MARK: mark, LAST: 'y' };
  const ours = [1, 2].map(() => spawn('sleep', ['1000'], { env, stdio: 'ignore', detached: true }));
  const others = ['', 'x'].map((end) =>
    spawn('sleep', ['1000'], {
      env: { PATH, MARK: `${mark}${end}`.slice(end === '' ? 1 : 0) },
      stdio: 'ignore',
    }),
  );
  try {
    const ends = ours.map((child) => once(child, 'exit'));
    expect(await sweep(`MARK=${mark}`)).toBe(2);
    expect((await Promise.all(ends)).map(([, signal]) => signal)).toEqual(['SIGKILL', 'SIGKILL']);
    expect(others.map((child) => child.exitCode ?? child.signalCode)).toEqual([null, null]);
  } finally {
    await Promise.all([...ours, ...others].map(end));
  }
  expect(existsSync(it.dir)).toBe(true);
});

test('a last kill without waiting reaches every process, however many have gone their own way', async () => {
  await using it = await stage();
  const env = { PATH, MARK: it.mark };
  const many = Array.from({ length: 12 }, () =>
    spawn('sleep', ['1000'], { env, detached: true, stdio: 'ignore' }),
  );
  const ends = Promise.all(many.map((child) => once(child, 'exit')));
  await Promise.all(many.map((child) => once(child, 'spawn')));
  killNow({ marker: `MARK=${it.mark}` });
  expect((await ends).map(([, signal]) => signal)).toEqual(many.map(() => 'SIGKILL'));
});

test('a sweep spares itself and its parents, though they carry the marker', async () => {
  await using it = await stage();
  const source = `import { sweep } from ${JSON.stringify(join(import.meta.dirname, '../../../src/platform/process/sweep.ts'))};
      console.log(await sweep('MARK=' + process.env.MARK));`;
  await build({
    stdin: { contents: source, resolveDir: it.dir },
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile: it.at('sweeper.mjs'),
    logLevel: 'error',
  });
  expect(await it.sh(`sleep 1000 & "${process.execPath}" sweeper.mjs; echo still here`)).toEqual({
    kind: 'exited',
    code: 0,
  });
  expect(it.out()).toBe('1\nstill here\n');
});

test('a group is ended, also when only its members are left', async () => {
  const leader = spawn('sh', ['-c', 'sleep 1000 >/dev/null & echo $!'], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const id = processId(leader.pid ?? 0);
  const [[line]] = await Promise.all([once(leader.stdout, 'data'), once(leader, 'exit')]);
  if (id === undefined) throw new Error('the leader did exist');
  expect(isGone(Number(String(line)))).toBe(false);
  expect(await endGroup(id)).toBe(true);
  expect(isGone(Number(String(line)))).toBe(true);
  expect(await endGroup(id)).toBe(false);
});

test('a group is left alone when its pid has meanwhile gone to another process, or it is our own', async () => {
  const other = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
  try {
    const id = processId(other.pid ?? 0);
    if (id === undefined) throw new Error('it does exist');
    expect(await endGroup({ ...id, startTime: '1' })).toBe(false);
    expect(await endGroup({ ...id, boot: 'another' })).toBe(false);
    // The boot is unknown; without /proc none is recorded.
    const { boot, ...unnamed } = id;
    if (boot !== undefined) expect(await endGroup(unnamed)).toBe(false);
    expect(isAlive(id)).toBe(true);
    expect(await endGroup(processId(process.pid) ?? id)).toBe(false);
  } finally {
    await end(other);
  }
});

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

describe('a program with a listener', () => {
  test('output is heard as it arrives, masked, and kept whole', async () => {
    await using it = await stage();
    const heard: Buffer[] = [];
    const first = vi.fn();
    const ended = it.sh(
      'echo out; while ! [ -e go ]; do sleep 0.01; done; printf pass; printf word; echo err >&2',
      {
        mask: ['password'],
        onStdout: (bytes) => {
          heard.push(bytes);
          first();
        },
      },
    );
    await vi.waitFor(() => expect(first).toHaveBeenCalled(), { timeout: 20_000, interval: 2 });
    writeFileSync(it.at('go'), '');
    expect(await ended).toEqual({ kind: 'exited', code: 0 });
    expect(Buffer.concat(heard).toString()).toBe('out\n***');
    expect(it.out()).toBe('out\n***');
    expect(it.err()).toBe('err\n');
  });

  test('a listener that throws disturbs nothing', async () => {
    await using it = await stage();
    const ended = it.sh('echo out; echo err >&2', {
      onStderr: () => {
        throw new Error('no view');
      },
    });
    expect(await ended).toEqual({ kind: 'exited', code: 0 });
    expect(it.out() + it.err()).toBe('out\nerr\n');
  });

  test('of more than the limit head and tail are kept, on the disk and in memory', async () => {
    await using it = await stage();
    const before = process.memoryUsage.rss();
    const ended = await it.sh('head -c 64000000 /dev/zero; echo; echo the end', { mostBytes: 100_000 });
    expect(ended).toEqual({ kind: 'exited', code: 0 });
    expect(statSync(it.at('out')).size).toBeLessThan(100_200);
    expect(it.out().replace(/\0+/g, '0')).toBe(
      '0\n[… 63900009 bytes left out: more than 100000 bytes were written …]\n0\nthe end\n',
    );
    expect(process.memoryUsage.rss() - before).toBeLessThan(48_000_000);
  });
});
