/** What this machine can enforce, tried once per process. */
import { execFile } from 'node:child_process';
import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { isNoRoom, saysNoRoom } from '../why-not.ts';
import { crowdFolder } from './crowd.ts';
import { filterPlace, filterWords } from './keyless.ts';

export type Ladder = {
  /** What starts bubblewrap, and whether it can take the network away; or why it does not work. `noRoom`: that cannot be
   *  told, since the machine had no process, file or memory left to try it. */
  readonly bwrap:
    | { readonly argv: readonly [string, ...string[]]; readonly network: boolean }
    | { readonly missing: string; readonly noRoom?: true };
  /** What starts a program without network, and whether it has a loopback then. */
  readonly unshare: { readonly argv: readonly string[]; readonly loopback: boolean } | undefined;
  readonly prlimit: string | undefined;
  /** Limits on processes do not hold for root, but by a control group, made in this folder. */
  readonly root: boolean;
  readonly crowds: string | undefined;
  /** The hard limits that we have ourselves: no stage can be given more. */
  readonly hard: { readonly memory: number; readonly processes: number; readonly fileSize: number };
};

type Environment = Readonly<Record<string, string | undefined>>;

const usualPath = '/usr/local/bin:/usr/bin:/bin';
const known = new Map<string, Promise<Ladder>>();

/** The ladder of this machine, as the programs on PATH make it. */
export function ladderOf(env: Environment): Promise<Ladder> {
  const path = env['PATH'] ?? usualPath;
  const found = known.get(path) ?? probe(path);
  known.set(path, found);
  return found;
}

const lowest = new Map<string, Promise<Ladder>>();

/** The rungs that need nothing but the system itself, for runs that want no more. */
export function lowestRung(env: Environment): Promise<Ladder> {
  const path = env['PATH'] ?? usualPath;
  const found = lowest.get(path) ?? probeLowest(path);
  lowest.set(path, found);
  return found;
}

async function probeLowest(path: string): Promise<Ladder> {
  return {
    bwrap: { missing: 'nothing of this run asks for it' },
    unshare: undefined,
    prlimit: process.platform === 'linux' ? find('prlimit', path) : undefined,
    root: process.getuid?.() === 0,
    crowds: crowds(),
    hard: hardLimits(),
  };
}

const nesting = new Map<string, Promise<boolean>>();

/** Whether a program can make a sandbox of its own inside one of ours; tried once per process. */
export function nests(ladder: Ladder, env: Environment): Promise<boolean> {
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
  process.platform === 'linux' && process.getuid?.() === 0 ? crowdFolder() : undefined;

async function probe(path: string): Promise<Ladder> {
  const root = process.getuid?.() === 0;
  const hard = hardLimits();
  if (process.platform !== 'linux') {
    const missing = 'bubblewrap is a program for Linux';
    return { bwrap: { missing }, unshare: undefined, prlimit: undefined, root, crowds: undefined, hard };
  }
  const [bwrap, prlimit] = await Promise.all([probeBwrap(path), find('prlimit', path)]);
  // With bubblewrap nothing lower is ever used.
  const unshare = 'argv' in bwrap && bwrap.network ? undefined : await probeUnshare(path, root);
  return { bwrap, unshare, prlimit, root, crowds: crowds(), hard };
}

/** To root files with modes like 0444 are no obstacle, and its programs count on that. What is shown read-only stays so,
 *  and no file is opened by its handle with it: that is another capability. */
export const rights: readonly string[] = [
  ...['--cap-drop', 'ALL'],
  ...(process.getuid?.() === 0 ? ['--cap-add', 'CAP_DAC_OVERRIDE'] : []),
];

/** What every confined stage is started with; tried as it will be used. `/proc` is new, so that no foreign process is
 *  seen. No new session: each stage is started in one of its own already, and so has no terminal. */
export const namespaces: readonly string[] = [
  '--die-with-parent',
  '--unshare-pid',
  '--unshare-ipc',
  '--unshare-uts',
  '--unshare-cgroup-try',
  ...rights,
];

async function probeBwrap(path: string): Promise<Ladder['bwrap']> {
  const program = await find('bwrap', path);
  if (program === undefined)
    return { missing: 'bwrap is not installed (Debian: apt-get install bubblewrap)' };
  const there = ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--', 'true'];
  let why = '';
  // A system without filters does without.
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

async function probeUnshare(path: string, root: boolean): Promise<Ladder['unshare']> {
  const program = await find('unshare', path);
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
      const said = stderr.trim().split('\n')[0] ?? '';
      resolve({
        ok: error === null,
        why: said.replace(/^bwrap: /, '') || (error?.message ?? ''),
        // Killed: its time was over, or the memory.
        noRoom:
          error !== null &&
          (error.killed === true ||
            error.signal === 'SIGKILL' ||
            isNoRoom(String(error.code)) ||
            saysNoRoom(said)),
      });
    });
  });
}

function find(name: string, path: string): string | undefined {
  for (const folder of path.split(delimiter).filter(isAbsolute)) {
    const candidate = join(folder, name);
    try {
      accessSync(candidate, constants.X_OK);
      // A folder may be entered with the same right.
      if (statSync(candidate).isFile()) return candidate;
    } catch {
      // Nothing that we may start: the next folder.
    }
  }
  return undefined;
}

function hardLimits(): Ladder['hard'] {
  let text = '';
  try {
    text = readFileSync('/proc/self/limits', 'latin1');
  } catch {
    // A system without /proc tells nothing; its limits hold all the same.
  }
  const of = (name: string): number => {
    const found = new RegExp(`^Max ${name} +\\S+ +(\\d+)`, 'm').exec(text)?.[1];
    return found === undefined ? Number.POSITIVE_INFINITY : Number(found);
  };
  return { memory: of('address space'), processes: of('processes'), fileSize: of('file size') };
}
