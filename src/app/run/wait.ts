/** Waits while a run is suspended. */
import { dirname } from 'node:path';
import type { Clock } from '../../core/contracts/clock.ts';
import type { Refusal } from '../../core/diagnostic.ts';
import type { Graph } from '../../core/graph.ts';
import { endsByTime, pausedBy, type SuspendedRun } from '../../core/outcome.ts';
import { hasSpentWindows } from '../../core/quota-windows.ts';
import { limitRecorded, runLimits } from '../../core/settings/limits.ts';
import { canContinue, untilOneCan } from '../../engine/branch-wake.ts';
import { parkAbove } from '../../engine/shared-budget.ts';
import { readQueueSettings } from '../../fleet/settings.ts';
import { acquireLock, locksIn } from '../../run/lock.ts';
import type { LockFile } from '../../run/lock-file.ts';
import type { RunReader } from '../../run/open-run.ts';
import { storedGraph } from '../read-pipeline.ts';
import type { Finished, Host, RunFlags } from '../types.ts';
import { completeResult } from './complete-run.ts';
import { endOf } from './run-end.ts';
import { checkRunOwner } from './run-state.ts';
import { checkUnchangedInputs } from './unchanged-inputs.ts';

/** Milliseconds between two looks at the clock during a wait: the machine may have been asleep. */
const lookMs = 60_000;

/** The result of a run that is suspended and may not resume yet; undefined if it may resume, `slept` if it may after a wait.
 *  Waits if `flags.wait` is set; a signal ends the wait. On the first resume (`begins`), everything that would be refused after
 *  the wait is refused before it. */
export async function stillParked(
  reader: RunReader,
  begins: { readonly graph: Graph | undefined } | undefined,
  flags: RunFlags,
  host: Host,
  patience: ReturnType<typeof outageClock>,
): Promise<Finished | Refusal | 'slept' | undefined> {
  const { dir: runDir } = reader;
  let announced = false;
  const alarm = wakeUpDelay(host.clock);
  const slept = () => (announced ? 'slept' : undefined);
  for (;;) {
    const loaded = reader.history();
    if (!loaded.ok) return slept();
    const state = loaded.checkpoint;
    const { parked } = state;
    if (!endsByTime(state.status) || parked === undefined || flags.now === true) return slept();
    const isByHand = parked.wake_at === null;
    if (isByHand && !hasSpentWindows(parked, await maxOf('max_windows', flags, reader))) return slept();
    if (parked.status === pausedBy('cap') && capsChanged(runDir, parked.since)) return slept();
    // Another branch may be able to continue before.
    if (state.fork !== undefined && canContinue({ runDir, clock: host.clock }, state)) return slept();
    const isOutage = parked.status === pausedBy('outage');
    // The time is a guess of ours: who resumes such a run may know more.
    if (isOutage && flags.wait !== true) return slept();
    const left = isByHand ? Number.POSITIVE_INFINITY : alarm(parked);
    if (left === 0) return slept();
    const wrongOwner = announced || begins === undefined ? undefined : checkRunOwner(runDir);
    if (wrongOwner !== undefined) return wrongOwner;
    const spent = isOutage && patience(parked, left, await maxOf('max_outage', flags, reader));
    if (spent) host.log('warn', 'the outage lasts longer than max_outage: the run stays suspended');
    if (flags.wait !== true || isByHand || spent || host.signal.aborted) {
      const read = await reader.manifest();
      if (!read.ok) return undefined;
      const { manifest } = read;
      const end = await endOf(manifest, loaded, runDir, host);
      if (end === undefined) return undefined;
      if (host.signal.aborted) return { result: { ...end.result, exit_code: 130 }, code: 130 };
      await completeResult(reader, { manifest, state, result: end.result }, false, host);
      await parkAbove(host.env, parked);
      return end;
    }
    const recorded = announced || begins === undefined ? undefined : await reader.stored();
    if (recorded !== undefined && 'manifest' in recorded) {
      const { manifest } = recorded;
      const texts = { stored: storedGraph(manifest), graph: begins?.graph, keeps: false };
      const checked = await checkUnchangedInputs(manifest, texts, flags, host);
      if ('problems' in checked) return checked;
    }
    if (!announced && begins !== undefined) await announceWaiter(runDir, host);
    if (!announced) host.onBegin?.(runDir);
    if (!announced)
      host.log('info', `suspended; ${waitsFor(parked)}`, {
        wake_at: parked.wake_at,
        node: parked.node,
      });
    announced = true;
    if (state.fork === undefined) await host.clock.sleep(Math.min(left, lookMs), host.signal);
    else await untilOneCan({ runDir, clock: host.clock }, () => [state], host.signal);
  }
}

/** Whether caps were raised, or removed, since the run was suspended: it then tries again at once. */
function capsChanged(runDir: string, since: string): boolean {
  const read = readQueueSettings(dirname(runDir));
  if (read.kind === 'unreadable') return false;
  return read.kind === 'none' || read.settings.changed_at > since;
}

function waitsFor({ status, node }: SuspendedRun): string {
  if (status === pausedBy('wait')) return `node ${node} waits`;
  if (status === pausedBy('cap')) return 'waiting for the next day of the cap';
  return `waiting for the ${status === pausedBy('outage') ? 'provider' : 'quota'}`;
}

/** A limit of the run: that of the flags, else the recorded one. */
async function maxOf<K extends 'max_outage' | 'max_windows'>(
  name: K,
  flags: RunFlags,
  reader: RunReader,
): Promise<number> {
  const read = flags[name] === undefined ? await reader.manifest() : undefined;
  const recorded = read?.ok === true ? limitRecorded(read.manifest.caps, name) : undefined;
  return flags[name] ?? recorded ?? runLimits[name].otherwise;
}

/* How long a suspended run still waits. */

/** Upper bound of the difference between the clocks of two machines. */
const skewMs = 60_000;

/** Returns a function for the milliseconds until a suspended run resumes; 0 if it can resume. A clock that is set back between
 *  two calls does not lengthen the wait. A run that was suspended in the future, by a wrong clock, resumes at once. */
function wakeUpDelay(clock: Clock): (parked: SuspendedRun) => number {
  let set: { readonly wakeAt: string; readonly goesOff: number } | undefined;
  return ({ wake_at: wakeAt, since }) => {
    const now = clock.now().getTime();
    if (wakeAt === null || Date.parse(since) - now > skewMs) return 0;
    const byDate = Math.max(0, Date.parse(wakeAt) - now) || 0;
    if (set?.wakeAt !== wakeAt) set = { wakeAt, goesOff: clock.monotonic() + byDate };
    return Math.max(0, Math.min(byDate, set.goesOff - clock.monotonic()));
  };
}

/** Returns a function that tells whether a wait of `leftMs` more would make an outage longer than `mostMs`. An outage begins
 *  with the first suspension for it that this process sees, and ends when a node finishes. */
export function outageClock(clock: Clock): (parked: SuspendedRun, leftMs: number, mostMs: number) => boolean {
  let began: { readonly since: string; readonly at: number } | undefined;
  return ({ since, again = 0 }, leftMs, mostMs) => {
    const now = clock.monotonic();
    if (began === undefined || (again === 0 && began.since !== since)) began = { since, at: now };
    return now - began.at + leftMs > mostMs;
  };
}

/* Marks this process as waiting for a suspended run. */

/** Takes and releases the run's lock, so that other commands show this process as the one that waits. The lock of a killed
 *  engine is left unchanged: the resume takes it over and reports that. */
async function announceWaiter(runDir: string, { clock }: Host): Promise<void> {
  const last = locksIn(runDir).reduce<LockFile | undefined>(
    (latest, lock) => (latest !== undefined && latest.epoch > lock.epoch ? latest : lock),
    undefined,
  );
  if (last?.released == null) return;
  const answer = await acquireLock(runDir, { clock }).catch(() => undefined);
  // An error does not matter here: the resume itself reports it.
  if (answer?.kind === 'acquired') await answer.lock.release().catch(() => {});
}
