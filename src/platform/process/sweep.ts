/** Ends the processes that a node leaves behind: its group, its session, and every process with its marker. */
import { setTimeout as wait } from 'node:timers/promises';
import type { ProcessId } from '../../core/contracts/process.ts';
import { monotonicMs } from '../clock.ts';
import { isCode } from '../files/write.ts';
import {
  allPids,
  carries,
  hasProc,
  isAlive,
  isOfThisBoot,
  lastPid,
  ourselves,
  type ProcessFacts,
  processFacts,
  processId,
} from './table.ts';

/** The processes to end. A process matches when any of these facts fits it or its parent. */
export type Quarry = {
  /** The node's own process: it leads a group and a session, both named by its pid. Older processes are never
   *  ended. */
  readonly leader?: ProcessId;
  /** `NAME=value` in the environment; `NAME=` for any value. */
  readonly marker?: string;
  /** Never ended, like this process and its parents. */
  readonly spare?: readonly number[];
  /** Every process to be found has a pid given out after the leader's, and pids have not started again since. */
  readonly newerPidsOnly?: boolean;
  /** Called after each scan, before anything is ended: false when the processes may belong to a new owner of the
   *  run, which took over while this process was stopped. */
  readonly mayEnd?: () => boolean;
};

/** Kills until no matching process is alive, and waits until the killed ones are gone. Returns how many processes
 *  were found one by one (members of the leader's group that a single signal reached are not counted). A round
 *  checks every process that appeared since the round before; the last round finds none. So a process that was
 *  started during a scan is found too. On a machine that starts programs all the time there is always a new
 *  process; there, ten rounds that match none are enough. */
export async function endAll(quarry: Quarry): Promise<number> {
  const { leader } = quarry;
  if (leader !== undefined) killGroup(leader, 'SIGKILL');
  if (!hasProc) {
    if (leader !== undefined) await groupGone(leader, patienceMs);
    return 0;
  }
  let seen = quarry.newerPidsOnly === true ? leader?.pid : undefined;
  let ended = 0;
  let undecided: readonly number[] = [];
  let spared: ReadonlySet<number> | undefined;
  for (let round = 0, nothing = 0; round < 500 && nothing < 10; round++) {
    const newest = lastPid();
    if (newest !== undefined && newest === seen && undecided.length === 0) return ended;
    spared ??= new Set([...ourselves().pids, ...(quarry.spare ?? [])]);
    const from = seen;
    const pids = allPids().filter(
      (pid) =>
        from === undefined || newest === undefined || isNewer(pid, from, newest) || undecided.includes(pid),
    );
    const found = look(pids, quarry, spared);
    if (quarry.mayEnd?.() === false) return ended;
    for (const one of found.ours) if (killOne(one)) ended++;
    await allGone(found.ours);
    // A process shows its environment within moments after an exec; one that was started with an empty environment
    // never will.
    undecided = round < 20 ? found.undecided : [];
    if (undecided.length > 0) await wait(1);
    nothing = found.ours.length + undecided.length === 0 ? nothing + 1 : 0;
    seen = newest;
  }
  return ended;
}

/** How long to wait for killed processes: only one that hangs in the kernel takes longer. */
const patienceMs = 5000;

/** Whether `pid` was given out after `from`, when `newest` is the last one given out. */
const isNewer = (pid: number, from: number, newest: number): boolean =>
  newest >= from ? pid > from : pid > from || pid <= newest;

type Found = { readonly ours: readonly ProcessId[]; readonly undecided: readonly number[] };

function look(pids: readonly number[], quarry: Quarry, spared: ReadonlySet<number>): Found {
  const { leader, marker } = quarry;
  // Once the leader is gone, a process with its pid is a different one, and so are the group and session of that
  // name.
  const named = leader !== undefined && isTheirs(leader) ? leader.pid : undefined;
  const ours = new Map<number, ProcessId>();
  const others: ProcessFacts[] = [];
  const undecided: number[] = [];
  for (const pid of pids) {
    if (spared.has(pid)) continue;
    const facts = processFacts(pid);
    if (facts === undefined || !facts.alive || facts.kernel) continue;
    if (leader !== undefined && Number(facts.startTime) < Number(leader.startTime)) continue;
    // A process of its group is also in its session.
    const related = named !== undefined && facts.session === named;
    const marked = related || (marker !== undefined && carries(pid, marker));
    if (marked === true) ours.set(pid, facts);
    else {
      others.push(facts);
      if (marked === 'unknown' && mayDescend(facts, leader, spared)) undecided.push(pid);
    }
  }
  // Children of matching processes, including those with another environment.
  for (let more = ours.size > 0; more; ) {
    more = false;
    for (const facts of others) {
      if (ours.has(facts.pid) || !ours.has(facts.parent)) continue;
      ours.set(facts.pid, facts);
      more = true;
    }
  }
  return {
    ours: [...ours.values()].map(({ pid, startTime }) => ({ pid, startTime })),
    undecided: undecided.filter((pid) => !ours.has(pid)),
  };
}

/** Whether a process can descend from the leader: its parent is no older than the leader, or a process that adopts
 *  orphans (the first process, or a parent of this one). */
function mayDescend(
  facts: ProcessFacts,
  leader: ProcessId | undefined,
  spared: ReadonlySet<number>,
): boolean {
  if (leader === undefined || facts.parent <= 1 || spared.has(facts.parent)) return true;
  const parent = processFacts(facts.parent);
  return parent === undefined || Number(parent.startTime) >= Number(leader.startTime);
}

/** True unless the leader's pid now belongs to another process. */
function isTheirs(leader: ProcessId): boolean {
  const now = processId(leader.pid);
  return now === undefined || now.startTime === leader.startTime;
}

/** Sends SIGINT to this exact process, not to its group: it stops in order. `denied`: it belongs to another user. */
export function interrupt(id: ProcessId): 'sent' | 'gone' | 'denied' {
  if (!isAlive(id)) return 'gone';
  try {
    process.kill(id.pid, 'SIGINT');
    return 'sent';
  } catch (error) {
    return isCode(error, 'EPERM') ? 'denied' : 'gone';
  }
}

/** Signals the whole group that `leader` leads or led; false when it is empty. */
export function killGroup(leader: ProcessId, signal: 'SIGTERM' | 'SIGKILL'): boolean {
  return isTheirs(leader) && send(-leader.pid, signal);
}

/** Sends SIGTERM to every process of the leader's group except the leader, whose end would end the others
 *  immediately. */
export function askOthers(leader: ProcessId): void {
  if (!isTheirs(leader)) return;
  for (const pid of allPids()) {
    const facts = processFacts(pid);
    if (facts?.group === leader.pid && facts.alive && pid !== leader.pid) send(pid, 'SIGTERM');
  }
}

function killOne(id: ProcessId): boolean {
  return isAlive(id) && send(id.pid, 'SIGKILL');
}

function send(target: number, signal: 'SIGTERM' | 'SIGKILL' | 0): boolean {
  try {
    return process.kill(target, signal);
  } catch {
    // The group is empty, or its program changed its user and may not be signalled.
    return false;
  }
}

/** Settles when no process of the leader's group is alive, or after `mostMs`. */
export async function groupGone(leader: ProcessId, mostMs: number): Promise<void> {
  await until(() => !groupLives(leader), mostMs);
}

function groupLives(leader: ProcessId): boolean {
  // Signal 0 is cheap and usually enough; it also counts zombies, which may never be collected.
  if (!send(-leader.pid, 0) || !isTheirs(leader)) return false;
  if (!hasProc) return true;
  return allPids().some((pid) => {
    const facts = processFacts(pid);
    return facts?.alive === true && facts.group === leader.pid;
  });
}

const allGone = (ids: readonly ProcessId[]): Promise<void> => until(() => !ids.some(isAlive), patienceMs);

async function until(done: () => boolean, mostMs: number): Promise<void> {
  const start = monotonicMs();
  for (let pause = 1; !done() && monotonicMs() - start < mostMs; pause = Math.min(pause * 2, 20))
    await wait(pause);
}

/** Ends every process that carries `marker` (`NAME=value`, or `NAME=` for any value) in its environment, and their
 *  children, except this process, its parents and those of `spare`. Returns how many there were: 0 where the system
 *  does not show environments. */
export async function sweep(
  marker: string,
  spare: readonly number[] = [],
  mayEnd: () => boolean = () => true,
): Promise<number> {
  return endAll({ marker, spare, mayEnd });
}

/** Kills all matching processes that a few scans find, without waiting for their end; for a process that is about
 *  to exit. The next resume finds any others. */
export function killNow(quarry: Quarry): void {
  const { leader } = quarry;
  if (leader !== undefined) killGroup(leader, 'SIGKILL');
  if (!hasProc) return;
  const spared = ourselves().pids;
  for (let round = 0; round < 5; round++)
    if (look(allPids(), quarry, spared).ours.filter(killOne).length === 0 && round > 0) return;
}

/** Ends the group that `id` leads or led by SIGKILL, and waits until it is gone; false when it was empty. A later
 *  process with the same pid is left alone, and so is one that cannot be distinguished from it: recorded identities
 *  name the boot, and a run directory may come from another machine. */
export async function endGroup(id: ProcessId): Promise<boolean> {
  if (!Number.isInteger(id.pid) || id.pid <= 1 || !isOfThisBoot(id) || ourselves().groups.has(id.pid))
    return false;
  if (hasProc && id.boot === undefined) return false;
  if (!groupLives(id)) return false;
  killGroup(id, 'SIGKILL');
  await groupGone(id, patienceMs);
  return true;
}
