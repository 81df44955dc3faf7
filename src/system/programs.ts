/** Which programs a process group consists of, for whoever wants to know what it was at. */
import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { allPids, factsOf, hasProc } from './proc.ts';

/** `cwd` is missing where the system does not tell it. */
export type Program = { readonly args: readonly string[]; readonly cwd?: string };

/** The living members of a group; undefined where the system tells nothing of them. */
export function programsOf(group: number): readonly Program[] | undefined {
  if (!hasProc) return fromPs(group);
  return allPids().flatMap((pid) => {
    const facts = factsOf(pid);
    if (facts === undefined || !facts.alive || (facts.group !== group && facts.session !== group)) return [];
    try {
      const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
      return [{ args, cwd: readlinkSync(`/proc/${pid}/cwd`) }];
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
}

function fromPs(group: number): readonly Program[] | undefined {
  try {
    const said = execFileSync('ps', ['-A', '-o', 'pgid=,args='], { encoding: 'utf8' });
    return said
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter(([first]) => first === String(group))
      .map(([, ...args]) => ({ args }));
  } catch {
    return undefined;
  }
}
