/** Waits while a run is suspended. */
import { defaultCaps } from '../engine/caps.ts';
import type { Refusal } from '../engine/casting.ts';
import { resultOf } from '../engine/result.ts';
import { parkAbove } from '../engine/shared-budget.ts';
import type { Graph } from '../model/graph.ts';
import { endsByTime } from '../model/park.ts';
import { readRun } from '../store/run-journal.ts';
import { readManifest } from '../store/run-store.ts';
import { alarmBy, type outageClock } from './alarm.ts';
import { checkUnchangedInputs } from './as-begun.ts';
import { announceWaiter } from './be-seen.ts';
import { completeWait } from './ended.ts';
import { storedGraph } from './pipeline.ts';
import { loadRunState } from './stands.ts';
import type { Doors, Finished, RunFlags } from './types.ts';
import { checkRunOwner } from './whose.ts';

/** Milliseconds between two looks at the clock during a wait: the machine may have been asleep. */
const lookMs = 60_000;

/** The result of a run that is suspended and may not resume yet; undefined if it may resume, `slept` if it may after a wait.
 *  Waits if `flags.wait` is set; a signal ends the wait. On the first resume (`begins`), everything that would be refused after
 *  the wait is refused before it. */
export async function stillParked(
  runDir: string,
  begins: { readonly graph: Graph | undefined } | undefined,
  flags: RunFlags,
  doors: Doors,
  patience: ReturnType<typeof outageClock>,
): Promise<Finished | Refusal | 'slept' | undefined> {
  let announced = false;
  const alarm = alarmBy(doors.clock);
  const slept = () => (announced ? 'slept' : undefined);
  for (;;) {
    const loaded = await readRun(runDir);
    if (!loaded.ok) return slept();
    const state = loaded.checkpoint;
    const { parked } = state;
    if (!endsByTime(state.status) || parked?.wake_at == null || flags.now === true) return slept();
    const isOutage = parked.status === 'paused_outage';
    // The time is a guess of ours: who resumes such a run may know more.
    if (isOutage && flags.wait !== true) return slept();
    const left = alarm(parked);
    if (left === 0) return slept();
    const wrongOwner = announced || begins === undefined ? undefined : checkRunOwner(runDir);
    if (wrongOwner !== undefined) return wrongOwner;
    const spent = isOutage && patience(parked, left, flags.maxOutageMs ?? (await maxOutageOf(runDir)));
    if (spent) doors.log('warn', 'the outage lasts longer than max_outage: the run stays suspended');
    if (flags.wait !== true || spent || doors.signal.aborted) {
      const readRun = await readManifest(runDir);
      if (!readRun.ok) return undefined;
      const code = doors.signal.aborted ? 130 : 75;
      const ending = { ok: false, exitNode: null, reason: `${parked.node}: ${parked.reason}`, code };
      const end = { state, ending, interrupted: false, parked };
      const result = await resultOf(readRun.manifest, runDir, end, doors.cwd, doors.called);
      if (code === 75) {
        await completeWait(runDir, parked, result, doors);
        await parkAbove(doors.env, parked);
      }
      return { result, code };
    }
    const stands = announced || begins === undefined ? undefined : await loadRunState(runDir);
    if (stands !== undefined && 'manifest' in stands) {
      const { manifest } = stands;
      const texts = { stored: storedGraph(manifest), graph: begins?.graph, keeps: false };
      const checked = await checkUnchangedInputs(manifest, texts, flags, doors);
      if ('problems' in checked) return checked;
    }
    if (!announced && begins !== undefined) await announceWaiter(runDir, doors);
    if (!announced)
      doors.log('info', `suspended; waiting for the ${isOutage ? 'provider' : 'quota'}`, {
        wake_at: parked.wake_at,
        node: parked.node,
      });
    announced = true;
    await doors.clock.sleep(Math.min(left, lookMs), doors.signal);
  }
}

/** The longest outage that the run waits for, in milliseconds. */
async function maxOutageOf(runDir: string): Promise<number> {
  const read = await readManifest(runDir);
  return (read.ok ? read.manifest.caps.max_outage_ms : undefined) ?? defaultCaps.maxOutageMs;
}
