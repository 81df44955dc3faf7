import { createSocket } from 'node:dgram';
import { chmodSync, existsSync, readdirSync, readlinkSync, statSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SandboxLevel } from '../../../src/core/contracts/sandbox.ts';
import type { ConfinementRequest } from '../../../src/core/policy/confinement.ts';
import { removeTree } from '../../../src/platform/files/remove.ts';
import { onDisk } from '../../support/temporary.ts';
import { ladder, type Machine, machine, noBwrap, secret } from './machine.ts';

onDisk();

let it: Machine;
beforeAll(async () => {
  it = await machine();
});
afterAll(() => it[Symbol.asyncDispose]());

/** As a tool is started: a shell text. As an agent is: a program with what it declares. */
const asTool = (text: string, rung: SandboxLevel = 'bwrap') => it.stage(text, { rung });
const asAgent = (text: string, wanted: Partial<ConfinementRequest> = {}) =>
  it.stage(['bash', '-c', text], {
    wanted: { ...wanted, program: { network: true, home: [], file: undefined } },
  });

/** What is outside, whatever a stage tried. */
async function outside(): Promise<string> {
  const names = [...namesBelow(it.path)].sort();
  const texts = await Promise.all(
    names.map((name) => readFile(join(it.path, name), 'utf8').catch(() => 'a folder')),
  );
  return names.map((name, n) => `${name}: ${texts[n]}`).join('\n');
}

/** Without what is a stage's own, and not through the links that it has made. */
function* namesBelow(top: string, folder = ''): Generator<string> {
  for (const entry of readdirSync(join(top, folder), { withFileTypes: true })) {
    if (['workspace', 'me', '.scratch'].includes(entry.name)) continue;
    const name = join(folder, entry.name);
    yield name;
    if (entry.isDirectory()) yield* namesBelow(top, name);
  }
}

test.skipIf(noBwrap !== undefined)(
  'a confined stage that has ended keeps no descriptor of ours',
  async () => {
    const filters = () =>
      readdirSync('/proc/self/fd')
        .map((fd) => linkOf(`/proc/self/fd/${fd}`))
        .filter((to) => /\/\.stdin\.\w+\.tmp/.test(to)).length;
    await asTool('true');
    const before = filters();
    await Promise.all([asTool('true'), asTool('exit 1')]);
    expect(filters()).toBe(before);
  },
);

const linkOf = (path: string): string => {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
};

const reads: readonly (readonly [string, string])[] = [
  ['the checkpoint, by ..', 'cat ../checkpoint.json'],
  ['the checkpoint, by its path', 'cat "$AT/home/project/.factory/runs/R1/checkpoint.json"'],
  ["another node's folder", 'cat ../other/*'],
  ['the snapshots', 'cat ../contents/*; cat "$OLDPWD"/../contents/*'],
  ['the history of commits', 'cat ../history.git/HEAD'],
  ['another run', 'cat ../../R2/manifest.json'],
  ['the workdir', 'cat "$AT/home/project/source.txt" ../../../../source.txt'],
  ['files of the home', 'cat ~/.ssh/id ~/.npmrc; ls -A ~ | xargs -I{} cat ~/{}'],
  ['a folder that nobody named', 'cat "$AT/elsewhere/notes.txt"'],
  ['a link to it', 'ln -sf "$AT/elsewhere/notes.txt" l && cat l'],
  ['a hard link to it', 'ln "$AT/elsewhere/notes.txt" h && cat h'],
  [
    "the engine's environment",
    'tr "\\0" "\\n" < /proc/$ENGINE/environ; cat /proc/[0-9]*/environ | tr "\\0" "\\n"',
  ],
  ["the engine's folder through /proc", 'cat /proc/$ENGINE/cwd/source.txt; cat /proc/*/cwd/source.txt'],
  [
    "the engine's root through /proc",
    'cat "/proc/$ENGINE/root$AT/elsewhere/notes.txt"; cat "/proc/1/root$AT/elsewhere/notes.txt"',
  ],
  ['everything, by a search', 'grep -rsl TOP-SECRET "$AT" ~ . .. | xargs -r cat'],
];

/** Said in the list of tests where they are skipped. */
const skipped = noBwrap === undefined ? '' : ` (skipped: ${noBwrap})`;

describe.skipIf(noBwrap !== undefined)(`a confined stage cannot read${skipped}`, () => {
  test.for(reads)('%s, neither as a tool nor as an agent', async ([, text]) => {
    for (const { said } of await Promise.all([asTool(text), asAgent(text)]))
      expect(said).not.toContain(secret);
  });

  test('what in /etc not everybody may read', async () => {
    const { said } = await asTool('find /etc -type f ! -perm -o=r -exec cat {} + 2>/dev/null');
    expect(said).toBe('');
  });

  test('what an unconfined one reads without further ado', async () => {
    const said = await Promise.all(reads.map(([, text]) => asTool(text, 'group')));
    const leaked = said.filter((one) => one.said.includes(secret));
    // The engine's root as seen from process 1 differs from machine to machine; all else is there for the taking.
    expect(leaked.length).toBeGreaterThanOrEqual(reads.length - 1);
  });

  test.runIf(process.arch === 'x64' && existsSync('/usr/bin/perl'))(
    "the kernel's key rings, nor leave anything there for another",
    async () => {
      const calls = ['248, $user, $x, $x, 1, -4', '250, 0, -3, 0', '0x400000fa, 0, -4, 0'];
      const each = calls.map((call) => `$! = 0; print syscall(${call}), " $!\\n";`).join(' ');
      const { said } = await asTool(
        `perl -e 'my ($user, $x) = ("user", "x"); ${each}'; ls -l /proc/self/fd | grep -v " [0-2] "`,
      );
      expect(said.split('\n').slice(0, 3)).toEqual(Array(3).fill('-1 Function not implemented'));
      expect(said).not.toContain('.stdin.');
    },
  );

  test.runIf(process.getuid?.() === 0)("the system's passwords, though it is root", async () => {
    expect((await asTool('cat /etc/shadow')).said).not.toContain('root:');
  });
});

const writes: readonly (readonly [string, string])[] = [
  ['next to its workspace', 'echo x > ../x && test -s ../x'],
  ['to the checkpoint', 'echo x > ../checkpoint.json'],
  ['to /etc', 'echo x > /etc/factory-escape'],
  ['to /usr', 'echo x > /usr/local/bin/factory-escape'],
  ['to the root folder', 'echo x > /factory-escape'],
  ['through a link', 'ln -sf /etc w && echo x > w/factory-escape'],
  ['by a hard link to a system file', 'ln /etc/passwd p && echo x >> p'],
  ['after mounting', 'mkdir -p m && mount -t tmpfs none m'],
  ['after binding', 'mkdir -p b && mount --bind /etc b && echo x > b/factory-escape'],
  ['after making the system writable', 'mount -o remount,rw /etc && echo x > /etc/factory-escape'],
  ['after taking a cover away', 'umount /proc || umount -l /tmp'],
  ['to the kernel', 'echo 1 > /proc/sys/kernel/sysrq'],
  ["to the kernel, which would start a program of the stage's", ': >> /proc/sys/kernel/core_pattern'],
  ['to a disk', 'ls /dev/sd* /dev/vd* /dev/nvme* /dev/mem'],
  ['a new device', 'mknod d b 8 0'],
  [
    'in a new user namespace',
    'unshare -Urm sh -c "mount -o remount,rw,bind /usr && echo x > /usr/factory-escape"',
  ],
  ['to the cgroups', 'mkdir /sys/fs/cgroup/factory-escape'],
];

describe.skipIf(noBwrap !== undefined)('a confined stage cannot write', () => {
  for (const [what, text] of writes) {
    test(`${what}, as a tool and as an agent`, async () => {
      const before = await outside();
      for (const ran of await Promise.all([asTool(text), asAgent(text)]))
        expect(ran.exit, ran.said).not.toEqual({ kind: 'exited', code: 0 });
      expect(await outside()).toBe(before);
      for (const place of ['/etc', '/usr', '/usr/local/bin', ''])
        expect(existsSync(`${place}/factory-escape`)).toBe(false);
    });
  }

  test('to other places than its own, though it may delete and lock all that it sees', async () => {
    const before = await outside();
    const lock = 'chmod -R 000 ~ . /tmp /etc /usr/share/doc 2>/dev/null';
    const wipe = 'rm -rf ~ "$AT" . /tmp/* /etc/passwd 2>/dev/null';
    for (const text of [`${wipe}; ${lock}`, `${lock}; ${wipe}`]) {
      await asTool(`mkdir -p ~/.ssh ../me/mine; echo x > ../me/mine/x; ${text}; ls -A ..`);
      // As the engine does where a stage has closed them.
      chmodSync(it.places.workspace, 0o755);
      await removeTree(it.places.scratch);
      expect(await outside()).toBe(before);
    }
    expect(existsSync('/etc/passwd')).toBe(true);
    expect(existsSync(it.places.workspace)).toBe(true);
    const after = await asTool('echo fine > again && cat again');
    expect(after.said).toContain('fine');
  });
});

describe.skipIf(noBwrap !== undefined)('the modes of files are to a confined stage', () => {
  const root = process.getuid?.() === 0;
  test(`${root ? 'no obstacle, as root' : 'what they are to anybody'}: it writes over what it made read-only`, async () => {
    const text =
      'exec 2>&-; umask 077; mkdir -p d; echo one > d/f; chmod 0444 d/f; chmod 0555 d; echo two > d/f; echo n > d/n; cat d/f';
    for (const { said } of await Promise.all([asTool(text), asAgent(text.replaceAll(/\bd\b(?=[/;])/g, 'e'))]))
      expect(said.endsWith(root ? 'two\n' : 'one\n')).toBe(true);
  });

  test.runIf(root)('of no use against what is shown read-only, whatever its owner', async () => {
    const deeds = [
      'chmod u+w /etc/passwd',
      'chown 0 /usr/bin/env',
      'rm -f /etc/hostname',
      'echo x >> /usr/bin/env',
      'echo 1 > /proc/sys/kernel/sysrq',
      'echo h > /proc/sysrq-trigger',
      'head -c 1 /proc/kcore',
      'head -c 1 /dev/kmsg',
      'echo x > /sys/kernel/mm/transparent_hugepage/enabled',
      'setpriv --reuid 1 true',
      'chroot / true',
      'echo 0 > /proc/1/oom_score_adj && echo -1000 > /proc/1/oom_score_adj',
    ];
    const text = deeds.map((deed, n) => `(${deed}) > /dev/null 2>&1 && echo "did ${n}"`).join('; ');
    for (const { said } of await Promise.all([asTool(`${text}; echo tried`), asAgent(`${text}; echo tried`)]))
      expect(said).toBe('tried\n');
    const { said } = await asTool('grep -E "Cap(Eff|Prm|Amb)" /proc/self/status');
    expect(
      [...new Set(said.match(/[0-9a-f]{16}/g))].every((set) => [0n, 2n].includes(BigInt(`0x${set}`))),
    ).toBe(true);
  });

  test.runIf(root)('of no use to open a file by its handle, past all that is hidden', async () => {
    // name_to_handle_at of the root folder, and open_by_handle_at of it: the second must be refused.
    const { said } = await asTool(`python3 - <<'END'
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint), ("type", ctypes.c_int), ("data", ctypes.c_char * 128)]
handle, mount = Handle(128), ctypes.c_int()
named = libc.name_to_handle_at(-100, b".", ctypes.byref(handle), ctypes.byref(mount), 0)
folder = os.open(".", os.O_RDONLY)
print("opened", named, libc.open_by_handle_at(folder, ctypes.byref(handle), 0))
END`);
    if (/python3.*not found/.test(said)) return;
    expect(said.trim()).toMatch(/^opened -?\d -1$/);
  });
});

describe.skipIf(noBwrap !== undefined)('a confined stage cannot reach', () => {
  test.for([
    'kill -9 $ENGINE',
    'kill -9 $PPID',
    'kill -9 -1',
    'kill -STOP $PPID',
    'for p in $(ls /proc); do kill -9 $p; done',
  ])('the engine with %s', async (text) => {
    await asTool(text);
    await asAgent(text);
    expect(it.engine.exitCode).toBe(null);
    expect(it.engine.signalCode).toBe(null);
  });

  test('the engine as a debugger', async () => {
    const { said } = await asTool(
      'python3 -c "import ctypes, os; print(ctypes.CDLL(None).ptrace(16, int(os.environ[\'ENGINE\']), 0, 0))" || echo -1',
    );
    expect(said.trim().split('\n').at(-1)).toBe('-1');
  });

  test.runIf(process.arch === 'x64' && existsSync('/usr/bin/perl'))(
    'the first process of its sandbox as a debugger, which would delay its end',
    async () => {
      const calls = ['101, 16, 1, 0, 0', '101, 0x4206, 0x100000001, 0, 0', '0x40000209, 0x4206, 1, 0, 0'];
      const each = calls.map((call) => `$! = 0; syscall(${call}); print "$!\n";`).join(' ');
      const own = 'my $child = fork(); print syscall(101, 0x4206, $child, 0, 0), "\n" if $child; sleep 60;';
      const { said, exit } = await it.stage(
        `mkfifo printed; perl -e '$| = 1; ${each} ${own}' >printed & head -n 4 printed`,
        { request: { timeoutMs: 20_000 } },
      );
      expect(said.split('\n')).toEqual([...Array(3).fill('Operation not permitted'), '0', '']);
      expect(exit).toEqual({ kind: 'exited', code: 0 });
    },
  );

  test('other processes: it sees its own only', async () => {
    const { said } = await asTool('ls /proc | grep -c "^[0-9]"');
    expect(Number(said.trim())).toBeLessThan(10);
  });

  test('the network when that is off, and its own loopback all the same', async () => {
    let heard = 0;
    const tcp = createServer((socket) => {
      heard++;
      socket.end(secret);
    });
    const abstract = createServer((socket) => {
      heard++;
      socket.end(secret);
    });
    const unix = createServer((socket) => {
      heard++;
      socket.end(secret);
    });
    const udp = createSocket('udp4', () => {
      heard++;
    });
    const name = `factory-test-${process.pid}`;
    await new Promise<void>((done) => tcp.listen(0, '127.0.0.1', done));
    await new Promise<void>((done) => abstract.listen(`\0${name}`, done));
    await new Promise<void>((done) => unix.listen(join(it.path, 'agent.sock'), done));
    await new Promise<void>((done) => udp.bind(0, '127.0.0.1', done));
    const port = (tcp.address() as AddressInfo).port;
    const script = `const net = require('node:net');
      const to = (where) => new Promise((done) => net.connect(where).on('data', (b) => done(String(b))).on('error', (e) => done(e.code)));
      const own = net.createServer((s) => s.end('own loopback')).listen(0, '127.0.0.1', async () => {
        for (const where of [{port: own.address().port, host: '127.0.0.1'}, {port: ${port}, host: '127.0.0.1'}, {path: '\\0${name}'}, {path: process.env.AT + '/agent.sock'}])
          console.log(await to(where));
        require('node:dgram').createSocket('udp4').send('x', ${udp.address().port}, '127.0.0.1', () => process.exit());
      });`;
    const off = await it.stage([process.execPath, '-e', script], { wanted: { network: false } });
    expect(off.said).toContain('own loopback');
    expect(off.said).not.toContain(secret);
    expect(heard).toBe(0);
    // The same with the network on, so that it is the setting which held it.
    const on = await it.stage([process.execPath, '-e', script], { wanted: { network: true } });
    expect(on.said.split(secret).length - 1).toBe(2);
    for (const server of [tcp, abstract, unix]) server.close();
    udp.close();
  });

  test('temporary files of others: /tmp and /var/tmp are one private folder, and neither is a link', async () => {
    const { said } = await asTool('echo mine > /tmp/own; cat /var/tmp/own; cd /var/tmp && pwd -P');
    expect(said).toBe('mine\n/var/tmp\n');
    expect(existsSync('/tmp/own')).toBe(false);
  });

  test('sockets in /run', async () => {
    expect((await asTool('ls -A /run /var/run/ | grep -v :')).said.trim()).toBe('');
  });
});

describe.skipIf(noBwrap !== undefined)('a confined stage leaves nothing', () => {
  test('of what it detached: new sessions, double forks, empty environments', async () => {
    const mark = `mark-${process.pid}`;
    const { exit } = await asTool(
      `for n in 1 2 3; do (env -i setsid sh -c "exec -a ${mark} sleep 60" &) ; setsid -f sleep 61 ${mark} 2>/dev/null; done; exit 0`,
    );
    expect(exit).toEqual({ kind: 'exited', code: 0 });
    const alive: string[] = [];
    for (const pid of (await readdir('/proc')).filter((one) => /^\d+$/.test(one)))
      if ((await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).includes(mark)) alive.push(pid);
    expect(alive).toEqual([]);
  });

  test('and is asked to end before it is killed when its time is up', async () => {
    const { exit, said } = await it.stage('trap "echo asked; exit 7" TERM; while :; do sleep 0.05; done', {
      request: { timeoutMs: 300 },
    });
    expect(exit).toEqual({ kind: 'timed_out', afterMs: 300 });
    expect(said).toContain('asked');
  });
});

describe.skipIf(noBwrap !== undefined)('a confined stage tells its end', () => {
  test('by its exit code, by the signal that ended it, by what could not be started', async () => {
    expect((await asTool('exit 3')).exit).toEqual({ kind: 'exited', code: 3 });
    expect((await asTool('kill -9 $$')).exit).toEqual({ kind: 'signalled', signal: 'SIGKILL' });
    expect((await it.stage(['no-such-program'])).exit).toMatchObject({
      kind: 'not_found',
      program: 'no-such-program',
    });
    const there = join(it.path, 'elsewhere/notes.txt');
    expect((await it.stage([there])).exit).toMatchObject({
      kind: 'not_found',
      why: expect.stringContaining('sandbox_bind'),
    });
    expect((await it.stage(['true'], { request: { cwd: join(it.path, 'nowhere') } })).exit).toMatchObject({
      kind: 'not_found',
      why: expect.stringContaining('working directory'),
    });
  });
});

describe('limits hold on every rung', () => {
  const rungs: readonly SandboxLevel[] = noBwrap === undefined ? ['bwrap', 'group'] : ['group'];
  test.for(rungs)('of file size, also for sparse files, on %s', async (rung) => {
    const limits = { fileSize: 1024 ** 2 };
    const ran = await it.stage('truncate -s 10G big; ls -l big', { rung, wanted: { limits } });
    expect(ran.said).not.toContain('10737418240');
    expect(
      existsSync(join(it.places.workspace, 'big')) ? statSync(join(it.places.workspace, 'big')).size : 0,
    ).toBeLessThanOrEqual(1024 ** 2);
    const direct = await it.stage(['truncate', '-s', '10G', 'big'], { rung, wanted: { limits } });
    expect(direct.exit).not.toEqual({ kind: 'exited', code: 0 });
  });

  test.for(rungs)('of memory, on %s', async (rung) => {
    const wanted = { limits: { memory: 64 * 1024 ** 2 } };
    const ran = await it.stage('head -c 300M /dev/zero | tail > /dev/null && echo too much', {
      rung,
      wanted,
    });
    expect(ran.said).not.toContain('too much');
  });

  test.for(rungs)('of its turn: everything else runs first, on %s', async (rung) => {
    const wanted = { limits: { lastInTurn: true } };
    expect((await it.stage('nice', { rung, wanted })).said).toBe('19\n');
    expect((await it.stage(['nice'], { rung, wanted })).said).toBe('19\n');
  });

  test.runIf(ladder.crowds !== undefined).for(rungs)('of processes, for root too, on %s', async (rung) => {
    const wanted = { limits: { processes: 20 } };
    const bomb = 'n=0; while [ $n -lt 60 ]; do sleep 30 & n=$((n+1)); done; echo all';
    for (const argv of [bomb, ['sh', '-e', '-c', bomb]] as const)
      expect((await it.stage(argv, { rung, wanted })).said).not.toMatch(/^all$/m);
    expect((await readdir(ladder.crowds ?? '')).filter((name) => name.includes(`-${process.pid}-`))).toEqual(
      [],
    );
  });

  test('of processes: a bomb of forks stops, for anybody but root', async () => {
    const wanted = { limits: { processes: 20 } };
    const bomb = 'n=0; while [ $n -lt 60 ]; do sleep 30 & n=$((n+1)); done; echo all';
    const nobody = ['setpriv', '--reuid', '64999', '--clear-groups'] as const;
    const argv =
      process.getuid?.() === 0 ? ([...nobody, 'sh', '-c', bomb] as const) : (['sh', '-c', bomb] as const);
    const ran = await it.stage([...argv], { rung: 'group', wanted });
    expect(ran.said).not.toContain('all');
    expect(ran.said).toMatch(/[Cc]annot fork|temporarily unavailable/);
  });
});
