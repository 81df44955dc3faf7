/** Judges variants of the product: each in a copy, built if need be, by judges that the unmutated product has passed. */
import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { countedItems } from '../../core/amounts.ts';
import { isDisks } from '../../platform/files/disk-error.ts';
import { removeTree } from '../../platform/files/remove.ts';
import type { PhaseHost } from '../launch/product.ts';
import { pooled } from '../pooled.ts';
import { firstFailure, type StrengthMember, type TimedMember, type Verdict } from './judges.ts';
import { type DiskUse, type DiskWatch, limitedDisk, measuredDisk } from './limits.ts';
import {
  type BaseProduct,
  type BaseRequest,
  makeBase,
  type Unbuilt,
  type Variant,
  withVariant,
} from './product.ts';
import type { MutantOutcome } from './tally.ts';

export type Variants = {
  readonly base: BaseProduct;
  /** Judges a variant; undefined if the signal fired meanwhile. */
  judge(variant: Variant): Promise<MutantOutcome | undefined>;
  /** Why the product without a mutant no longer passes; undefined if it does, or if the signal fired. */
  check(): Promise<VariantTrouble | undefined>;
};

export type VariantTrouble = { readonly why: string; readonly isInfra: boolean };

export type VariantRequest = Omit<BaseRequest, 'mounts' | 'place'> & {
  /** From the most to none. */
  readonly mountChoices: readonly BaseRequest['mounts'][];
  readonly members: readonly StrengthMember[];
  readonly room: string;
  readonly jobs: number;
  /** Changes all files that have mutants, and nothing that the product does. */
  readonly touched: Variant;
  /** What ends a mutant that fills the disk, by what the product without one uses. */
  readonly diskLimit?: (usual: DiskUse) => DiskWatch;
};

/** How often the unmutated product is judged before the first mutant, and in each check. */
const times = 5;

/** Makes it. Dependencies are mounted where the product passes so. */
export async function openVariants(
  request: VariantRequest,
  host: PhaseHost,
): Promise<Variants | VariantTrouble> {
  let trouble: VariantTrouble = { why: 'the product was not judged', isInfra: false };
  for (const mounts of request.mountChoices) {
    const place = await newPlace(request.room);
    const base = await makeBase({ ...request, mounts, place }, host);
    if ('problem' in base) trouble = unpassed({ why: base.problem, isInfra: base.isInfra });
    else {
      const took = new Map<StrengthMember, number>();
      const first = await firstTrouble(base, took, request, host);
      // It passed with these: another failure is not for want of a copy.
      if (first === undefined) return afterFirst(base, took, request, host);
      trouble = unpassed(first);
    }
    if (host.signal.aborted) break;
    await removeTree(place);
  }
  return trouble;
}

const unpassed = ({ why, isInfra }: VariantTrouble): VariantTrouble => ({
  why: `the product without a mutant does not pass: ${why}`,
  isInfra,
});

const newPlace = async (room: string): Promise<string> => {
  const place = join(room, randomBytes(8).toString('hex'));
  await mkdir(place);
  return place;
};

/** Has each judge judge the unchanged product, and notes how long it took. */
async function firstTrouble(
  base: BaseProduct,
  took: Map<StrengthMember, number>,
  { members, timeoutMs, jobs, room }: VariantRequest,
  host: PhaseHost,
): Promise<VariantTrouble | undefined> {
  const product = { app: base.folder, files: 'whole', base } as const;
  return untilTrouble(members, jobs, host, async (member) => {
    const place = await newPlace(room);
    const how = { limitMs: timeoutMs, isFirst: true, place };
    const verdict = await noting(member, took).judge(product, how, host);
    await removeTree(place);
    // This limit is not by its time: it is too long for a machine that is only busy.
    return verdict.what === 'timed_out' ? { ...verdict, what: 'fail' } : verdict;
  });
}

/** The same judge, which notes the longest time that it has taken. */
const noting = (member: StrengthMember, took: Map<StrengthMember, number>): StrengthMember => ({
  ...member,
  async judge(...given) {
    const verdict = await member.judge(...given);
    took.set(member, Math.max(took.get(member) ?? 0, verdict.liveMs));
    return verdict;
  },
});

/** Judges several at a time until one does not pass. What times out is judged once more, alone, as mutants are. */
async function untilTrouble<T>(
  tasks: readonly T[],
  jobs: number,
  { signal }: PhaseHost,
  judge: (task: T) => Promise<Judgement>,
): Promise<VariantTrouble | undefined> {
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  const late: T[] = [];
  let trouble: VariantTrouble | undefined;
  const note = ({ what, why }: Judgement): void => {
    if (what === 'pass' || what === 'cancelled') return;
    trouble ??= { why, isInfra: what === 'infra' };
    stop.abort();
  };
  await pooled(tasks, { jobs, signal: either }, async (task) => {
    const judgement = await judge(task);
    if (judgement.what === 'timed_out') late.push(task);
    else note(judgement);
  });
  await pooled(late, { jobs: 1, signal: either }, async (task) => note(await judge(task)));
  return signal.aborted ? undefined : trouble;
}

/** The product has passed once: judges it as mutants are judged, where no mutant is noticed but the change of files would be. */
async function afterFirst(
  base: BaseProduct,
  took: Map<StrengthMember, number>,
  request: VariantRequest,
  host: PhaseHost,
): Promise<Variants | VariantTrouble> {
  const { touched, jobs, diskLimit = limitedDisk } = request;
  const disk = measuredDisk();
  const noted = timed(took).map(({ member, liveMs }) => ({ member: noting(member, took), liveMs }));
  const judge = judging({ base, members: noted, watch: disk.watch }, request, host);
  const several = (variant: Variant) => Array.from({ length: times - 1 }, () => variant);
  const trouble = await untilTrouble(several(touched), jobs, host, judge);
  if (trouble !== undefined) {
    if (trouble.isInfra) return unpassed(trouble);
    // What fails now and then fails without the change as well, or passes with it.
    const plain = await untilTrouble(several(new Map()), jobs, host, judge);
    const isAgain = plain === undefined && (await judge(touched)).what !== 'pass';
    return isAgain ? noticed(touched, trouble) : unpassed(plain ?? trouble);
  }
  const watch = diskLimit(disk.most());
  const all = judging({ base, members: timed(took), watch }, request, host);
  return {
    base,
    judge: async (variant) => {
      const { what } = await all(variant);
      return host.signal.aborted ? undefined : outcomes[what];
    },
    check: () => untilTrouble([touched, ...several(touched)], jobs, host, all),
  };
}

/** The fastest first. */
const timed = (took: ReadonlyMap<StrengthMember, number>): readonly TimedMember[] =>
  [...took].map(([member, liveMs]) => ({ member, liveMs })).sort((a, b) => a.liveMs - b.liveMs);

/** Names of files in a sentence. */
const mostNames = 3;

function noticed(touched: Variant, { why }: VariantTrouble): VariantTrouble {
  const paths = [...touched.keys()];
  const names = `${paths.slice(0, mostNames).join(', ')}${paths.length > mostNames ? ', …' : ''}`;
  const what =
    paths.length === 1 ? `${names} has` : `its ${countedItems(paths.length, 'mutated file')} (${names}) have`;
  return {
    why: `the product passes, but not when ${what} one more comment at the end: ${why}; what notices that a file was changed at all notices every mutant: leave checks of formatting and comparisons of hashes out of --build, the scenarios and the tests`,
    isInfra: false,
  };
}

type Judgement = { readonly what: Verdict['what'] | Unbuilt['what']; readonly why: string };

/** Judges a variant in a separate folder. */
const judging =
  (
    by: {
      readonly base: BaseProduct;
      readonly members: readonly TimedMember[];
      readonly watch: DiskWatch;
    },
    { room, timeoutMs }: VariantRequest,
    host: PhaseHost,
  ) =>
  async (variant: Variant): Promise<Judgement> => {
    const { base, members, watch } = by;
    const place = await newPlace(room);
    try {
      const { value, disk } = await watch(place, host, (signal) => {
        const within = { ...host, signal };
        return withVariant<Judgement>(base, variant, place, within, (app, files) =>
          firstFailure(members, { app, files, base }, { place, timeoutMs }, within),
        );
      });
      return host.signal.aborted ? { what: 'cancelled', why: '' } : onDisk(value, disk);
    } catch (error) {
      // Another one may have filled it.
      if (isDisks(error)) return { what: 'infra', why: 'the disk is full' };
      throw error;
    } finally {
      await removeTree(place);
    }
  };

/** What ends a build for the disk it fills is not noticed by any judge. */
function onDisk(value: Judgement, disk: Awaited<ReturnType<DiskWatch>>['disk']): Judgement {
  if (value.what === 'pass' && disk !== 'full') return value;
  if (disk === 'short') return { what: 'infra', why: 'the disk has no space left' };
  return disk === 'full' && value.what !== 'not_built' ? { what: 'fail', why: 'it fills the disk' } : value;
}

const outcomes: Readonly<Record<Judgement['what'], MutantOutcome>> = {
  pass: 'survived',
  fail: 'killed',
  timed_out: 'timed_out',
  infra: 'no_verdict',
  cancelled: 'no_verdict',
  not_built: 'not_built',
};
