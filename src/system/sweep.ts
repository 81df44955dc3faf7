/** Ends what a stage leaves behind: its group, its session, and whatever carries its marker. */

import { setTimeout as wait } from 'node:timers/promises';
import { monotonicMs } from './clock.ts';
import type { ProcessFacts } from './proc.ts';
import {
  allPids,
  carries,
  factsOf,
  hasProc,
  isAlive,
  isOfThisBoot,
  lastPid,
  ourselves,
  processId,
} from './proc.ts';
import type { ProcessId } from './spawn.ts';

/** What is hunted. A process is one of it when any of the given facts fits it or its parent. */
export type Quarry = {
  /** The stage's own process: it leads a group and a session, both named by its pid. Nothing older is touched. */
  readonly leader?: ProcessId;
  /** `NAME=value` in the environment; `NAME=` for any value. */
  readonly marker?: string;
  /** Left alone, as we and our parents are. */
  readonly spare?: readonly number[];
  /** Every process to be found has a pid given out after the leader's, and pids have not started over since. */
  readonly newerPidsOnly?: boolean;
  /** Asked after each look, before anything of it is ended: false when what was found may belong to who took the run over
   *  while we slept. */
  readonly mayEnd?: () => boolean;
};

/** Kills until nothing of the quarry lives, and waits until what was killed is gone. Answers how many processes were
 *  found one by one (members of the leader's group that a single signal reached are not counted).
 *
 *  A round looks at every process that appeared since the round before; the last round finds that none did. So a
 *  process is found although it was started while we looked. On a machine that starts programs without pause no round
 *  is the last; there, ten that find nothing are enough. */
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
    // A process that is becoming another program shows its environment within moments; one that was started with an
    // empty environment never will.
    undecided = round < 20 ? found.undecided : [];
    if (undecided.length > 0) await wait(1);
    nothing = found.ours.length + undecided.length === 0 ? nothing + 1 : 0;
    seen = newest;
  }
  return ended;
}

/** How long we wait for killed processes to be gone: only one that hangs in the kernel takes longer. */
const patienceMs = 5000;

/** Whether `pid` was given out after `from`, when `newest` is the last one given out. */
const isNewer = (pid: number, from: number, newest: number): boolean =>
  newest >= from ? pid > from : pid > from || pid <= newest;

type Found = { readonly ours: readonly ProcessId[]; readonly undecided: readonly number[] };

function look(pids: readonly number[], quarry: Quarry, spared: ReadonlySet<number>): Found {
  const { leader, marker } = quarry;
  // Once our leader is gone, a process with its pid is a stranger, and so are the group and session of that name.
  const named = leader !== undefined && isTheirs(leader) ? leader.pid : undefined;
  const ours = new Map<number, ProcessId>();
  const others: ProcessFacts[] = [];
  const undecided: number[] = [];
  for (const pid of pids) {
    if (spared.has(pid)) continue;
    const facts = factsOf(pid);
    if (facts === undefined || !facts.alive || facts.kernel) continue;
    if (leader !== undefined && Number(facts.startTime) < Number(leader.startTime)) continue;
    // A process of its group is in its session.
    const related = named !== undefined && facts.session === named;
    const marked = related || (marker !== undefined && carries(pid, marker));
    if (marked === true) ours.set(pid, facts);
    else {
      others.push(facts);
      if (marked === 'unknown' && mayDescend(facts, leader, spared)) undecided.push(pid);
    }
  }
  // Children of what was found, also those that were given another environment.
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

/** Whether a process can descend from the leader at all: its parent is no older than the leader, or one of those that
 *  orphans fall to (the first process, or a parent of ours). */
function mayDescend(
  facts: ProcessFacts,
  leader: ProcessId | undefined,
  spared: ReadonlySet<number>,
): boolean {
  if (leader === undefined || facts.parent <= 1 || spared.has(facts.parent)) return true;
  const parent = factsOf(facts.parent);
  return parent === undefined || Number(parent.startTime) >= Number(leader.startTime);
}

/** True unless the leader's pid now belongs to another process. */
function isTheirs(leader: ProcessId): boolean {
  const now = processId(leader.pid);
  return now === undefined || now.startTime === leader.startTime;
}

/** Signals the whole group that `leader` leads or led; false when there is nobody in it. */
export function killGroup(leader: ProcessId, signal: 'SIGTERM' | 'SIGKILL'): boolean {
  return isTheirs(leader) && send(-leader.pid, signal);
}

/** Asks everybody in the leader's group to end, but not the leader, whose end would be theirs at once. */
export function askOthers(leader: ProcessId): void {
  if (!isTheirs(leader)) return;
  for (const pid of allPids()) {
    const facts = factsOf(pid);
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
    // Nobody there, or (a program that changed its user) nobody that we may end.
    return false;
  }
}

/** Settles when nobody of the leader's group is alive, or after `mostMs`. */
export async function groupGone(leader: ProcessId, mostMs: number): Promise<void> {
  await until(() => !groupLives(leader), mostMs);
}

function groupLives(leader: ProcessId): boolean {
  // Signal 0 is cheap and mostly enough; it also counts zombies, which nobody may ever collect.
  if (!send(-leader.pid, 0) || !isTheirs(leader)) return false;
  if (!hasProc) return true;
  return allPids().some((pid) => {
    const facts = factsOf(pid);
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
 *  children, except ourselves, our parents and those of `spare`. Returns how many there were: 0 where the system does not
 *  show environments. */
export async function sweep(
  marker: string,
  spare: readonly number[] = [],
  mayEnd: () => boolean = () => true,
): Promise<number> {
  return endAll({ marker, spare, mayEnd });
}

/** Kills what can be found of the quarry at once, without waiting for its end; for a process that is about to end
 *  itself. What hides from a few looks is found by the next resume. */
export function killNow(quarry: Quarry): void {
  const { leader } = quarry;
  if (leader !== undefined) killGroup(leader, 'SIGKILL');
  if (!hasProc) return;
  const spared = ourselves().pids;
  for (let round = 0; round < 5; round++)
    if (look(allPids(), quarry, spared).ours.filter(killOne).length === 0 && round > 0) return;
}

/** Ends the group that `id` leads or led, by SIGKILL, and waits until it is gone; false when it was empty.
 *  A later process that got the same pid is left alone, and so is one that cannot be distinguished from it: our own notes
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
