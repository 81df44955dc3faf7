/** A network that several sandboxes share, and nothing else does: a network namespace with a loopback, which they enter. */
import { execFile, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { Environment } from '../../core/contracts/process.ts';
import { programOn, type SandboxCapabilities, sandboxRights, usualPath } from './capabilities.ts';

export type Loopback = {
  /** The start of an argv whose program is in the network; bubblewrap follows. */
  readonly entering: readonly [string, ...string[]];
  /** What the kernel has counted in it. */
  attempts(): Promise<NetworkAttempts>;
  /** Afterwards no program can enter it; it ends with the last program in it. */
  close(): void;
};

/** Attempts to reach an address outside, and connections that no server accepted. */
export type NetworkAttempts = { readonly outside: number; readonly refused: number };

type Missing = { readonly missing: string };

/** Makes a network, or says why it cannot. */
export async function openLoopback(
  { bwrap }: SandboxCapabilities,
  env: Environment,
): Promise<Loopback | Missing> {
  const path = env['PATH'] ?? usualPath;
  const nsenter = programOn('nsenter', path);
  if (nsenter === undefined)
    return { missing: 'nsenter is not installed (Debian: apt-get install util-linux)' };
  if ('missing' in bwrap) return bwrap;
  if (!bwrap.network) return { missing: 'bubblewrap cannot make a network here' };
  const [program, ...own] = bwrap.argv;
  // Root enters it without a user namespace where it may; others need one, in which they have the right to.
  const isApart = process.getuid?.() !== 0 || own.includes('--unshare-user');
  const kinds = isApart ? ['user', 'net'] : ['net'];
  const files = await namespacesOf(program, kinds, path);
  if ('missing' in files) return files;
  // Programs of this user find the open files of this process by these paths.
  const places = files.map((file, n) => `--${kinds[n]}=/proc/${process.pid}/fd/${file}`);
  const entering = [nsenter, ...(isApart ? ['--preserve-credentials'] : []), ...places] as const;
  return {
    entering: entering as readonly [string, ...string[]],
    attempts: async () =>
      countedIn(await printedBy([...entering, 'cat', '/proc/net/snmp', '/proc/net/snmp6'], path)),
    close: () => {
      for (const file of files) closeSync(file);
    },
  };
}

/** Whether a program that is started by bubblewrap can enter it. */
export async function canEnter(
  { entering }: Loopback,
  { bwrap }: SandboxCapabilities,
  env: Environment,
): Promise<boolean> {
  if ('missing' in bwrap) return false;
  const path = env['PATH'] ?? usualPath;
  const [program, ...own] = bwrap.argv;
  const apart = own.includes('--unshare-user') ? ['--unshare-user'] : [];
  const inside = ['--die-with-parent', '--unshare-pid', ...apart, ...sandboxRights, '--ro-bind', '/', '/'];
  const printed = await printedBy([...entering, program, ...inside, '--', 'sh', '-c', 'echo in'], path);
  return printed === 'in\n';
}

/** Descriptors of the namespaces of a program that has ended. */
async function namespacesOf(
  bwrap: string,
  kinds: readonly string[],
  path: string,
): Promise<readonly number[] | Missing> {
  const apart = kinds.includes('user') ? ['--unshare-user'] : [];
  const around = ['--die-with-parent', ...apart, '--unshare-net', ...sandboxRights];
  const holds = ['--dev-bind', '/', '/', '--', 'sh', '-c', 'echo "$$"; read -r end'];
  const holder = spawn(bwrap, [...around, ...holds], { env: { PATH: path }, detached: true });
  let [pid, why] = ['', ''];
  holder.stderr.on('data', (bytes: Buffer) => {
    why += String(bytes);
  });
  holder.stdin.on('error', () => {});
  const ended = new Promise<void>((done) => {
    holder.once('close', () => done());
    holder.once('error', (error) => {
      why ||= error.message;
      done();
    });
  });
  const ready = new Promise<void>((done) => {
    holder.stdout.on('data', (bytes: Buffer) => {
      pid += String(bytes);
      if (pid.endsWith('\n')) done();
    });
  });
  await Promise.race([ready, ended]);
  const files: number[] = [];
  try {
    for (const kind of kinds) files.push(openSync(`/proc/${pid.trim()}/ns/${kind}`, 'r'));
  } catch (error) {
    for (const file of files) closeSync(file);
    return { missing: why.trim().replace(/^bwrap: /, '') || String(error) };
  } finally {
    holder.stdin.end();
    await ended;
  }
  return files;
}

function printedBy([program = '', ...args]: readonly string[], path: string): Promise<string> {
  return new Promise((resolve) => {
    execFile(program, args, { timeout: 10_000, env: { PATH: path } }, (_, stdout) => resolve(stdout));
  });
}

/** Reads the kernel's tables: a line of names and one of numbers for each protocol; for version 6 of IP a line for each number. */
export function countedIn(tables: string): NetworkAttempts {
  const lines = tables.split('\n').map((line) => line.split(/\s+/));
  const count = (protocol: string, name: string): number => {
    const [names = [], numbers = []] = lines.filter(([first]) => first === `${protocol}:`);
    return Number(numbers[names.indexOf(name)] ?? 0);
  };
  const six = Number(lines.find(([first]) => first === 'Ip6OutNoRoutes')?.[1] ?? 0);
  return {
    // A name server on loopback is one of the machine's.
    outside: count('Ip', 'OutNoRoutes') + six + count('Udp', 'NoPorts'),
    refused: count('Tcp', 'AttemptFails'),
  };
}
