/** What this machine can enforce, tested once per process. */
import { execFile } from 'node:child_process';
import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { release } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import { isNoRoom, saysNoRoom } from '../process/spawn-error.ts';
import { cgroupFolder } from './cgroup.ts';
import { filterPlace, filterWords } from './seccomp.ts';

export type SandboxCapabilities = {
  /** The command that starts bubblewrap, and whether it can remove the network; or why it does not work. `noRoom`:
   *  not known, because the machine had no process, file or memory left for the test. */
  readonly bwrap:
    | { readonly argv: readonly [string, ...string[]]; readonly network: boolean }
    | { readonly missing: string; readonly noRoom?: true };
  /** The command that starts a program without network, and whether the program has a loopback then. */
  readonly unshare: { readonly argv: readonly string[]; readonly loopback: boolean } | undefined;
  readonly prlimit: string | undefined;
  /** Process limits do not apply to root, except through a control group, created in this folder. */
  readonly root: boolean;
  readonly crowds: string | undefined;
  /** Whether a process limit of bubblewrap's programs counts only them. */
  readonly countsApart: boolean;
  /** The hard limits of this process: no node can get more. */
  readonly hard: { readonly memory: number; readonly processes: number; readonly fileSize: number };
};

type Environment = Readonly<Record<string, string | undefined>>;

/** PATH where the environment has none. */
export const usualPath = '/usr/local/bin:/usr/bin:/bin';
const known = new Map<string, Promise<SandboxCapabilities>>();

/** The rungs that this machine supports, by the programs on PATH. */
export function sandboxCapabilities(env: Environment): Promise<SandboxCapabilities> {
  const path = env['PATH'] ?? usualPath;
  const found = known.get(path) ?? probe(path);
  known.set(path, found);
  return found;
}

const lowest = new Map<string, Promise<SandboxCapabilities>>();

/** The rungs that need only the system itself, for runs that request no more. */
export function lowestSandboxLevel(env: Environment): Promise<SandboxCapabilities> {
  const path = env['PATH'] ?? usualPath;
  const found = lowest.get(path) ?? probeLowest(path);
  lowest.set(path, found);
  return found;
}

async function probeLowest(path: string): Promise<SandboxCapabilities> {
  return {
    bwrap: { missing: 'not requested by this run' },
    unshare: undefined,
    prlimit: process.platform === 'linux' ? programOn('prlimit', path) : undefined,
    root: process.getuid?.() === 0,
    crowds: crowds(),
    countsApart: false,
    hard: hardLimits(),
  };
}

const nesting = new Map<string, Promise<boolean>>();

/** Whether a program can create a nested sandbox; tested once per process. */
export function nests(ladder: SandboxCapabilities, env: Environment): Promise<boolean> {
  const { bwrap } = ladder;
  if ('missing' in bwrap) return Promise.resolve(true);
  const path = env['PATH'] ?? usualPath;
  const [program, ...own] = bwrap.argv;
  const outer = [...own, ...namespaces, '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--'];
  const inner = [
    program,
    '--unshare-user',
    '--unshare-pid',
    '--ro-bind',
    '/',
    '/',
    '--proc',
    '/proc',
    '--',
    'true',
  ];
  const key = bwrap.argv.join(' ');
  const found = nesting.get(key) ?? ran(program, [...outer, ...inner], path).then(({ ok }) => ok);
  nesting.set(key, found);
  return found;
}

const crowds = (): string | undefined =>
  process.platform === 'linux' && process.getuid?.() === 0 ? cgroupFolder() : undefined;

async function probe(path: string): Promise<SandboxCapabilities> {
  const root = process.getuid?.() === 0;
  const hard = hardLimits();
  if (process.platform !== 'linux') {
    const missing = 'bubblewrap is a program for Linux';
    const none = { unshare: undefined, prlimit: undefined, crowds: undefined, countsApart: false };
    return { bwrap: { missing }, ...none, root, hard };
  }
  const [bwrap, prlimit] = await Promise.all([probeBwrap(path), programOn('prlimit', path)]);
  // With bubblewrap no lower rung is used.
  const unshare = 'argv' in bwrap && bwrap.network ? undefined : await probeUnshare(path, root);
  return {
    ...{ bwrap, unshare, prlimit, root, hard },
    ...{ crowds: crowds(), countsApart: countsApart(bwrap, root) },
  };
}

function countsApart(bwrap: SandboxCapabilities['bwrap'], root: boolean): boolean {
  // The kernel does not limit its root; a control group does.
  if (root && isKernelsRoot()) return true;
  if ('missing' in bwrap || !countsByNamespace(release())) return false;
  const [program, ...own] = bwrap.argv;
  // Where bubblewrap has the rights of root anyway, it makes a user namespace only if it is asked to.
  const isPrivileged = root || ((statSync(program, { throwIfNoEntry: false })?.mode ?? 0) & 0o4000) !== 0;
  return !isPrivileged || own.includes('--unshare-user');
}

/** False for the root of a container that has other users. */
function isKernelsRoot(): boolean {
  try {
    return /^\s*0\s+0\s/.test(readFileSync('/proc/self/uid_map', 'latin1'));
  } catch {
    return true;
  }
}

/** Since Linux 5.14 a process limit that is set in a user namespace counts the processes in it. */
export function countsByNamespace(release: string): boolean {
  const [major = 0, minor = 0] = release.split('.').map((part) => Number.parseInt(part, 10));
  return major > 5 || (major === 5 && minor >= 14);
}

/** Root can write files with modes like 0444, and its programs rely on that. Read-only mounts stay read-only, and
 *  opening a file by its handle needs another capability. */
export const sandboxRights: readonly string[] = [
  ...['--cap-drop', 'ALL'],
  ...(process.getuid?.() === 0 ? ['--cap-add', 'CAP_DAC_OVERRIDE'] : []),
];

/** The arguments that every confined node is started with; tested in the same form. `/proc` is new, so that no
 *  other process is visible. No new session: each node is already started in a separate one, without a terminal. */
export const namespaces: readonly string[] = [
  '--die-with-parent',
  '--unshare-pid',
  '--unshare-ipc',
  '--unshare-uts',
  '--unshare-cgroup-try',
  ...sandboxRights,
];

async function probeBwrap(path: string): Promise<SandboxCapabilities['bwrap']> {
  const program = await programOn('bwrap', path);
  if (program === undefined)
    return { missing: 'bwrap is not installed (Debian: apt-get install bubblewrap)' };
  const there = ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--', 'true'];
  let why = '';
  // A system without filters runs without one.
  const filters = filterPlace() === undefined ? [[]] : [filterWords, []];
  const ways = filters.flatMap((filter) => [[...filter], [...filter, '--unshare-user']]);
  for (const own of ways) {
    for (const net of [['--unshare-net'], []]) {
      const tried = await ran(program, [...namespaces, ...own, ...net, ...there], path);
      if (tried.ok) return { argv: [program, ...own], network: net.length > 0 };
      if (tried.noRoom) return { missing: `bwrap could not be tried: ${tried.why}`, noRoom: true };
      if (!own.includes(filterWords[0])) why ||= tried.why;
    }
  }
  return { missing: `bwrap does not work here: ${why}` };
}

async function probeUnshare(path: string, root: boolean): Promise<SandboxCapabilities['unshare']> {
  const program = await programOn('unshare', path);
  if (program === undefined) return undefined;
  const ways = [
    ...(root ? [['-n']] : []),
    ['-U', '--map-current-user', '--keep-caps', '-n'],
    ['-U', '-r', '-n'],
  ];
  for (const way of ways) {
    const up = [program, ...way, '--', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh'];
    if ((await ran(program, [...up.slice(1), 'true'], path)).ok) return { argv: up, loopback: true };
    if ((await ran(program, [...way, '--', 'true'], path)).ok)
      return { argv: [program, ...way, '--'], loopback: false };
  }
  return undefined;
}

function ran(
  program: string,
  args: readonly string[],
  path: string,
): Promise<{ readonly ok: boolean; readonly why: string; readonly noRoom: boolean }> {
  return new Promise((resolve) => {
    const shell = ['sh', '-c', `exec "$@" 3<${filterPlace()}`, 'sh', program, ...args];
    const [file = program, ...words] = args.includes(filterWords[0]) ? shell : [program, ...args];
    execFile(file, words, { timeout: 10_000, env: { PATH: path } }, (error, _, stderr) => {
      const message = stderr.trim().split('\n')[0] ?? '';
      resolve({
        ok: error === null,
        why: message.replace(/^bwrap: /, '') || (error?.message ?? ''),
        // Killed by the timeout, or for lack of memory.
        noRoom:
          error !== null &&
          (error.killed === true ||
            error.signal === 'SIGKILL' ||
            isNoRoom(String(error.code)) ||
            saysNoRoom(message)),
      });
    });
  });
}

/** The program's path, by the folders of PATH. */
export function programOn(name: string, path: string): string | undefined {
  for (const folder of path.split(delimiter).filter(isAbsolute)) {
    const candidate = join(folder, name);
    try {
      accessSync(candidate, constants.X_OK);
      // The same permission bit lets a user enter a folder.
      if (statSync(candidate).isFile()) return candidate;
    } catch {
      // Not executable for this user: the next folder.
    }
  }
  return undefined;
}

function hardLimits(): SandboxCapabilities['hard'] {
  let text = '';
  try {
    text = readFileSync('/proc/self/limits', 'latin1');
  } catch {
    // A system without /proc does not report its limits; they apply all the same.
  }
  const of = (name: string): number => {
    const found = new RegExp(`^Max ${name} +\\S+ +(\\d+)`, 'm').exec(text)?.[1];
    return found === undefined ? Number.POSITIVE_INFINITY : Number(found);
  };
  return { memory: of('address space'), processes: of('processes'), fileSize: of('file size') };
}
