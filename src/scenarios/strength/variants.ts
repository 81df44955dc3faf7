/** Judges variants of the product: each in a copy, built if need be, by judges that the unmutated product has passed. */
import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isDisks } from '../../platform/files/disk-error.ts';
import { removeTree } from '../../platform/files/remove.ts';
import type { PhaseHost } from '../launch/product.ts';
import { pooled } from '../pooled.ts';
import { firstFailure, type StrengthMember, type TimedMember, type Verdict } from './judges.ts';
import { withinDisk } from './limits.ts';
import {
  type BaseProduct,
  type BaseRequest,
  limitAfter,
  makeBase,
  type Variant,
  withVariant,
} from './product.ts';
import type { MutantOutcome } from './tally.ts';

export type Variants = {
  readonly base: BaseProduct;
  /** Judges a variant; undefined if the signal fired meanwhile. */
  judge(variant: Variant): Promise<MutantOutcome | undefined>;
  /** Why the unmutated product does not pass, judged once, or as often as at first; undefined if it does, or if the signal fired. */
  check(how: 'once' | 'often'): Promise<VariantTrouble | undefined>;
};

export type VariantTrouble = { readonly why: string; readonly isInfra: boolean };

export type VariantRequest = Omit<BaseRequest, 'mounts' | 'place'> & {
  /** From the most to none. */
  readonly mountChoices: readonly BaseRequest['mounts'][];
  readonly members: readonly StrengthMember[];
  readonly room: string;
  readonly jobs: number;
};

/** How often the unmutated product is judged before the first mutant and after the last one. */
const times = 5;

/** Makes it. Dependencies are mounted where the product passes so. */
export async function openVariants(
  request: VariantRequest,
  host: PhaseHost,
): Promise<Variants | VariantTrouble> {
  let trouble: VariantTrouble = { why: 'it was not judged', isInfra: false };
  for (const mounts of request.mountChoices) {
    const place = await newPlace(request.room);
    const base = await makeBase({ ...request, mounts, place }, host);
    if ('problem' in base) trouble = { why: base.problem, isInfra: base.isInfra };
    else {
      const timed = await firstTimes(base, request, host);
      if ('members' in timed) return variantsOf(base, timed.members, request, host);
      // It passed once with these: another failure is not for want of a copy.
      if (timed.hasPassed) return timed;
      trouble = timed;
    }
    if (host.signal.aborted) break;
    await removeTree(place);
  }
  return trouble;
}

const repeated = <T>(tasks: readonly T[], count: number): readonly T[] =>
  Array.from({ length: count }, () => tasks).flat();

const newPlace = async (room: string): Promise<string> => {
  const place = join(room, randomBytes(8).toString('hex'));
  await mkdir(place);
  return place;
};

/** The judges with the times that they take, the fastest first. */
async function firstTimes(
  base: BaseProduct,
  request: VariantRequest,
  host: PhaseHost,
): Promise<
  { readonly members: readonly TimedMember[] } | (VariantTrouble & { readonly hasPassed: boolean })
> {
  const { members, timeoutMs, jobs, room } = request;
  const took = new Map<StrengthMember, number>();
  const product = { app: base.folder, files: 'whole', base } as const;
  const judgeAll = (count: number, isFirst: boolean) =>
    untilTrouble(Array.from({ length: count }, () => members).flat(), jobs, host, async (member) => {
      const place = await newPlace(room);
      const before = took.get(member);
      const limitMs = before === undefined ? timeoutMs : Math.min(limitAfter(before), timeoutMs);
      const verdict = await member.judge(product, { limitMs, isFirst, place }, host);
      await removeTree(place);
      took.set(member, Math.max(before ?? 0, verdict.liveMs));
      return verdict;
    });
  const first = await judgeAll(1, true);
  if (first !== undefined) return { ...first, hasPassed: false };
  const later = await judgeAll(times - 1, false);
  if (later !== undefined) return { ...later, hasPassed: true };
  const timed = members.map((member) => ({ member, liveMs: took.get(member) ?? 0 }));
  return { members: timed.sort((a, b) => a.liveMs - b.liveMs) };
}

/** Judges several at a time until one does not pass. */
async function untilTrouble<T>(
  tasks: readonly T[],
  jobs: number,
  { signal }: PhaseHost,
  judge: (task: T) => Promise<Verdict>,
): Promise<VariantTrouble | undefined> {
  const stop = new AbortController();
  let trouble: VariantTrouble | undefined;
  await pooled(tasks, { jobs, signal: AbortSignal.any([signal, stop.signal]) }, async (task) => {
    const { what, why } = await judge(task);
    if (what === 'pass' || what === 'cancelled') return;
    trouble ??= { why, isInfra: what === 'infra' };
    stop.abort();
  });
  return trouble;
}

function variantsOf(
  base: BaseProduct,
  members: readonly TimedMember[],
  { room, jobs, timeoutMs }: VariantRequest,
  host: PhaseHost,
): Variants {
  const inPlace = async <T>(act: (place: string) => Promise<T>): Promise<T> => {
    const place = await newPlace(room);
    try {
      return await act(place);
    } finally {
      await removeTree(place);
    }
  };
  return {
    base,
    judge: (variant) =>
      inPlace(async (place) => {
        const watched = await withinDisk(place, base.use, host, (signal) => {
          const within = { ...host, signal };
          return withVariant(base, variant, place, within, (app, files) =>
            firstFailure(members, { app, files, base }, { place, timeoutMs }, within),
          );
        }).catch(fullDisk);
        if (host.signal.aborted) return undefined;
        if (watched.isFull) return 'killed';
        return outcomeOf(watched.value);
      }),
    check: (how) =>
      inPlace(async (place) => {
        const found = await withVariant(base, undefined, place, host, (app, files) =>
          untilTrouble(repeated(members, how === 'once' ? 1 : times), jobs, host, (timed) =>
            inPlace((own) => firstFailure([timed], { app, files, base }, { place: own, timeoutMs }, host)),
          ),
        );
        if (host.signal.aborted || found === undefined) return undefined;
        return 'unbuilt' in found
          ? { why: 'it cannot be built again', isInfra: found.unbuilt === 'infra' }
          : found;
      }),
  };
}

/** A disk that is full says nothing of the mutant: another one may have filled it. */
function fullDisk(error: unknown): { readonly isFull: false; readonly value: { readonly unbuilt: 'infra' } } {
  if (!isDisks(error)) throw error;
  return { isFull: false, value: { unbuilt: 'infra' } };
}

function outcomeOf(value: Verdict | { readonly unbuilt: 'failed' | 'infra' }): MutantOutcome {
  if ('unbuilt' in value) return value.unbuilt === 'infra' ? 'no_verdict' : 'not_built';
  const outcomes = {
    pass: 'survived',
    fail: 'killed',
    timed_out: 'timed_out',
    infra: 'no_verdict',
    cancelled: 'no_verdict',
  } as const;
  return outcomes[value.what];
}
