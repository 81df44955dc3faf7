/** The holds of a runs directory: which accounts take no calls until when, and which call goes first then. A hold that cannot be read or
 *  written is reported once and blocks nothing. */
import { existsSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import * as z from 'zod';
import type { AgentAccount } from '../core/contracts/agent.ts';
import type { Clock } from '../core/contracts/clock.ts';
import type { Log } from '../core/contracts/watcher.ts';
import { jsonIn } from '../core/json.ts';
import { type Hold, type HoldTrial, holdSchema, holdTrialSchema } from '../core/records/hold.ts';
import { layout } from '../core/records/layout.ts';
import { sha256 } from '../core/sha256.ts';
import { linkOnce } from '../platform/files/link.ts';
import { namesIn, readPlain } from '../platform/files/read.ts';
import { removeFile, systemWords, writeJson } from '../platform/files/write.ts';
import { ownerOf } from '../run/lock.ts';
import { fleetLayout } from './layout.ts';

/** The account of an agent, as all runs of the runs directory know it. */
export const holdId = (agent: string, { endpoint, model, holder }: AgentAccount): string =>
  sha256(JSON.stringify([agent, endpoint, model, holder])).slice(0, 16);

/** What a run sees and changes of the holds. */
export interface Holds {
  /** Undefined where the account is on no hold. */
  read(id: string): Hold | undefined;
  /** A run has met the limit: makes the hold, or moves it. The later reset counts, unless the call was made in spite of the hold with
   *  the reset `under`. */
  set(
    hold: Pick<Hold, 'id' | 'agent' | 'endpoint' | 'model' | 'reason'> & {
      readonly untilMs: number;
      readonly under: number | undefined;
    },
  ): Promise<void>;
  /** The account takes calls again. A hold that was moved beyond `untilMs` stays. */
  remove(id: string, untilMs: number): void;
  /** Asks to make the call that goes first at the hold's reset; `other` is the number of one that is under way. */
  claim(hold: Hold): Promise<{ readonly trial: string } | { readonly other: number }>;
  /** The call has ended. */
  release(trial: string): void;
}

export type HoldsAt = {
  readonly runsDir: string;
  /** The run, and the epoch of its owner. */
  readonly runDir: string;
  readonly epoch: number;
  readonly clock: Clock;
  readonly log: Log;
};

/** The latest reset that is believed: a year from now. */
const mostMs = 365 * 86_400_000;
const mostBytes = 65_536;

/** Upper bound of the difference between the clocks of two machines. */
const skewMs = 60_000;

export function openHolds(at: HoldsAt): Holds {
  const { runsDir, runDir, epoch, clock, log } = at;
  const { holds } = fleetLayout(runsDir);
  const reported = new Set<string>();
  const report = (message: string, path: string, why: string): void => {
    if (!reported.has(path)) log('warn', message, { path, why });
    reported.add(path);
  };
  const read = (id: string): Hold | undefined => {
    const path = holds.hold(id);
    const found = readHold(path);
    if (found === undefined) return undefined;
    // One that was made in the future, by a wrong clock, would last for as long.
    if ('until' in found) return Date.parse(found.since) - clock.now().getTime() > skewMs ? undefined : found;
    report('this hold of an account cannot be read and is ignored; remove the file', path, found.why);
    return undefined;
  };
  const tries = async <T>(path: string, otherwise: T, work: () => Promise<T> | T): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      report(
        'a hold of an account cannot be written: other runs do not know of it',
        path,
        systemWords(error),
      );
      return otherwise;
    }
  };
  const number = { of: (trial: string) => Number(basename(trial).split('.').at(-2)) };
  return {
    read,
    async set({ untilMs, under, ...facts }) {
      const now = clock.now();
      const until = new Date(Math.min(untilMs, now.getTime() + mostMs)).toISOString();
      const before = read(facts.id);
      const known = before === undefined ? Number.NEGATIVE_INFINITY : Date.parse(before.until);
      if (known !== under && known >= Date.parse(until)) return;
      const since = before?.since ?? now.toISOString();
      const hold: Hold = { schema_version: 1, ...facts, until, since, by: basename(runDir) };
      const path = holds.hold(facts.id);
      await tries(path, undefined, () => writeJson(path, hold, { mode: 0o600 }));
    },
    remove(id, untilMs) {
      const hold = read(id);
      if (hold === undefined || Date.parse(hold.until) > untilMs) return;
      try {
        removeHold(runsDir, id);
      } catch (error) {
        const path = holds.hold(id);
        report('a hold of an account cannot be removed: remove the file', path, systemWords(error));
      }
    },
    async claim({ id, until }) {
      const made = trialsOf(runsDir, id, Date.parse(until));
      const last = made.at(-1);
      if (last !== undefined && (await isUnderWay(runsDir, last, clock))) return { other: number.of(last) };
      const next = last === undefined ? 1 : number.of(last) + 1;
      const trial = holds.trial(id, Date.parse(until), next);
      const facts: HoldTrial = {
        ...{ schema_version: 1, run: relative(runsDir, runDir), epoch },
        at: clock.now().toISOString(),
      };
      // Where nothing can be written, each run goes by itself.
      const isOurs = await tries(trial, true, () => linkOnce(trial, `${JSON.stringify(facts)}\n`));
      return isOurs ? { trial } : { other: next };
    },
    release(trial) {
      try {
        removeFile(trial);
      } catch (error) {
        report('a file of a hold cannot be removed: remove it', trial, systemWords(error));
      }
    },
  };
}

/** The hold in that file, why there is none that counts, or undefined where there is no file. */
function readHold(path: string): Hold | { readonly why: string } | undefined {
  try {
    const text = readPlain(path, mostBytes);
    if (text.kind === 'missing') return undefined;
    if (text.kind === 'none') return { why: text.why };
    const hold = z.string().transform(jsonIn).pipe(holdSchema()).safeParse(text.text);
    if (!hold.success) return { why: 'is no hold as factory writes it' };
    return `${hold.data.id}.json` === basename(path) ? hold.data : { why: 'is the hold of another account' };
  } catch (error) {
    return { why: systemWords(error) };
  }
}

/** The trials of a hold at that reset, in their order. One that was left by a killed engine is followed by the next. */
function trialsOf(runsDir: string, id: string, untilMs: number): readonly string[] {
  const { root, trial } = fleetLayout(runsDir).holds;
  const begin = `${id}.${untilMs}.`;
  return namesIn(root)
    .flatMap((name) => {
      const number = name.startsWith(begin)
        ? /^(\d{1,9})\.try$/.exec(name.slice(begin.length))?.[1]
        : undefined;
      return number === undefined ? [] : [Number(number)];
    })
    .sort((a, b) => a - b)
    .map((number) => trial(id, untilMs, number));
}

/** Whether the process that makes this call still owns its run: it has died, or its host is silent, as the run's lock says. */
async function isUnderWay(runsDir: string, trial: string, clock: Clock): Promise<boolean> {
  try {
    const text = readPlain(trial, mostBytes);
    if (text.kind !== 'text') return false;
    const read = z.string().transform(jsonIn).pipe(holdTrialSchema()).safeParse(text.text);
    if (!read.success) return false;
    const owner = await ownerOf(join(runsDir, read.data.run), clock);
    return owner?.epoch === read.data.epoch;
  } catch {
    return false;
  }
}

/** Removes a hold, with its trials; answers whether there was one. */
export function removeHold(runsDir: string, id: string): boolean {
  const { root, hold } = fleetLayout(runsDir).holds;
  const names = namesIn(root).filter((name) => name.startsWith(`${id}.`));
  // The trials go last: until then the others wait for the call that has just succeeded.
  for (const name of [`${id}.json`, ...names.filter((name) => name.endsWith('.try'))])
    removeFile(join(root, name));
  return names.includes(basename(hold(id)));
}

/** All holds of a runs directory, by the reset; one whose reset has come ends with the next call that succeeds. */
export function holdsOf(runsDir: string): readonly Hold[] {
  const { root } = fleetLayout(runsDir).holds;
  return namesIn(root)
    .flatMap((name) => {
      const hold = name.endsWith('.json') && !name.startsWith('.') ? readHold(join(root, name)) : undefined;
      return hold !== undefined && 'until' in hold ? [hold] : [];
    })
    .sort((a, b) => Date.parse(a.until) - Date.parse(b.until));
}

/** The runs directory whose holds count for a run: that of the outermost run in whose directory it lies, since a nested run uses the same
 *  accounts; else its own. */
export function holdsFolderOf(runDir: string): string {
  const own = dirname(runDir);
  let outermost = own;
  for (let at = dirname(own); dirname(at) !== at; at = dirname(at))
    if (existsSync(layout(at).journal)) outermost = dirname(at);
  return outermost;
}
