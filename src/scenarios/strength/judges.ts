/** Who judges mutants: the scenarios, or a command such as the builder's tests. */
import { join } from 'node:path';
import { makeFolder } from '../../platform/files/write.ts';
import type { Scenario } from '../discover.ts';
import type { ShownFiles } from '../floor/shown-files.ts';
import { placeProduct } from '../floor/shown-files.ts';
import type { PhaseHost } from '../launch/product.ts';
import type { ScenarioExecution } from '../result.ts';
import { judgeOnce } from '../run-one.ts';
import type { ProductCopy } from '../source.ts';
import { endedWell, runInProduct } from './command.ts';
import { type BaseProduct, limitAfter } from './product.ts';

/** What a judge makes of a product. `cancelled`: the signal fired meanwhile. */
export type Verdict = {
  readonly what: 'pass' | 'fail' | 'timed_out' | 'infra' | 'cancelled';
  /** Whose verdict it is, and why. */
  readonly why: string;
};

/** One scenario, or the command. */
export type StrengthMember = {
  readonly name: string;
  /** Judges a product in a copy. `isFirst`: with everything that needs to be done only once. `place`: an existing folder of this judgement alone. */
  readonly judge: (
    product: { readonly app: string; readonly files: ShownFiles; readonly base: BaseProduct },
    how: { readonly limitMs: number; readonly isFirst?: boolean; readonly place: string },
    host: PhaseHost,
  ) => Promise<Verdict & { readonly liveMs: number }>;
};

/** `source`: the copy of its folder. */
export const scenarioMember = (scenario: Scenario, source: ProductCopy): StrengthMember => ({
  name: scenario.name,
  async judge({ app, files, base: { mounts } }, { limitMs, isFirst = false, place }, host) {
    const options = { app, mode: 'live', live: true, timeoutMs: limitMs } as const;
    const shown = { files, mounts };
    // Its syntax and its selftest do not depend on the product.
    const first = isFirst
      ? await judgeOnce(scenario, { ...options, mode: 'selftest' }, host, { room: place, source })
      : undefined;
    const end =
      first !== undefined && !['pass', 'skipped'].includes(first.outcome)
        ? first
        : await judgeOnce(scenario, { ...options, shown }, host, { room: place, source });
    return { what: verdictOf(end, host), why: `${scenario.name}: ${end.evidence.why}`, liveMs: end.liveMs };
  },
});

function verdictOf(
  { outcome, verdict, evidence, cancelled }: ScenarioExecution,
  { signal }: PhaseHost,
): Verdict['what'] {
  if (cancelled || signal.aborted) return 'cancelled';
  if (outcome === 'pass') return 'pass';
  if (verdict?.class === 'infra') return 'infra';
  return evidence.timeout === null ? 'fail' : 'timed_out';
}

/** Passes with exit code 0. */
export const commandMember = (command: string): StrengthMember => ({
  name: command,
  async judge({ app: from, files, base: { mounts } }, { limitMs, place }, host) {
    const [app, scratch] = [join(place, 'tested'), join(place, 'test')];
    makeFolder(scratch);
    await placeProduct(() => host.copyProduct(from, app, []), app, files);
    const began = host.clock.monotonic();
    const { exit, why, isInfra } = await runInProduct(
      { command, app, mounts, scratch, timeoutMs: limitMs },
      host,
    );
    const liveMs = host.clock.monotonic() - began;
    const what =
      exit.kind === 'cancelled' || host.signal.aborted
        ? 'cancelled'
        : endedWell(exit)
          ? 'pass'
          : isInfra
            ? 'infra'
            : exit.kind === 'timed_out'
              ? 'timed_out'
              : 'fail';
    return { what, why: `${command}: ${why}`, liveMs };
  },
});

/** A judge with the time that it takes with the unmutated product. */
export type TimedMember = { readonly member: StrengthMember; readonly liveMs: number };

/** Asks one after the other, the fastest first, until one does not pass. */
export async function firstFailure(
  members: readonly TimedMember[],
  product: Parameters<StrengthMember['judge']>[0],
  { place, timeoutMs }: { readonly place: string; readonly timeoutMs: number },
  host: PhaseHost,
): Promise<Verdict> {
  let doubt: Verdict | undefined;
  for (const { member, liveMs } of members) {
    const limitMs = Math.min(limitAfter(liveMs), timeoutMs);
    const verdict = await member.judge(product, { limitMs, place }, host);
    if (verdict.what === 'infra') doubt = verdict;
    else if (verdict.what !== 'pass') return verdict;
  }
  return doubt ?? { what: 'pass', why: '' };
}
