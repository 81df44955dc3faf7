/** The programs of a process group, for messages about what it was doing. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { allPids, factsOf, hasProc } from './proc.ts';

/** `cwd` is missing where the system does not report it. */
export type Program = { readonly args: readonly string[]; readonly cwd?: string };

/** The living members of a group, on Linux also those of its session and their descendants; undefined where the system does not
 *  report them. In a sandbox the descendants are all, since its first process adopts the others. */
export function programsOf(group: number): readonly Program[] | undefined {
  if (!hasProc) return fromPs(group);
  const all = new Map(allPids().map((pid) => [pid, factsOf(pid)]));
  const belongs = (pid: number): boolean => {
    for (
      let at = all.get(pid), steps = 0;
      at !== undefined && steps < 1000;
      at = all.get(at.parent), steps += 1
    )
      if (at.group === group || at.session === group) return true;
    return false;
  };
  return [...all.keys()].flatMap((pid) => {
    if (all.get(pid)?.alive !== true || !belongs(pid)) return [];
    try {
      const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
      return [{ args, cwd: readlinkSync(`/proc/${pid}/cwd`) }];
    } catch {
      // It has exited meanwhile.
      return [];
    }
  });
}

/** Full command lines from `ps`, which cuts lines at the terminal's width, and on macOS also without a terminal. */
export function fromPs(group: number): readonly Program[] | undefined {
  try {
    const said = execFileSync('ps', ['-A', '-ww', '-o', 'pgid=,pid=,args='], { encoding: 'utf8' });
    const members = said
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter(([first]) => first === String(group));
    const folders = foldersOf(members.map(([, pid = '']) => pid));
    return members.map(([, pid = '', ...args]) => {
      const cwd = folders.get(pid);
      return cwd === undefined ? { args } : { args, cwd };
    });
  } catch {
    return undefined;
  }
}

/** Working directories by pid, as far as `lsof` (part of macOS) reports them. */
function foldersOf(pids: readonly string[]): ReadonlyMap<string, string> {
  const folders = new Map<string, string>();
  if (pids.length === 0) return folders;
  let pid = '';
  for (const line of openFolders(pids).split('\n')) {
    if (line.startsWith('p')) pid = line.slice(1);
    if (line.startsWith('n/')) folders.set(pid, line.slice(1));
  }
  return folders;
}

/** It fails where one of the processes has exited meanwhile, and still reports the others. */
const openFolders = (pids: readonly string[]): string =>
  spawnSync('lsof', ['-a', '-d', 'cwd', '-p', pids.join(','), '-Fn'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).stdout ?? '';
