/** Whether a suite of scenarios that has passed could have failed: it must reject products that do nothing, and on an existing
 *  project not all of it may have passed before the work. */
import { realpathSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { FloorWord } from '../../core/settings/graph.ts';
import { needsOf } from '../discover.ts';
import type { PhaseHost } from '../launch/product.ts';
import { pooled } from '../pooled.ts';
import type { FloorReport } from '../result.ts';
import { judgeOnce } from '../run-one.ts';
import { hashOfFolder } from '../source.ts';
import { helpersOf } from '../starts.ts';
import { type FloorCache, floorKey } from './cache.ts';
import { type NullProduct, nullProducts, nullProductWords } from './null-products.ts';
import {
  type FloorOptions,
  type FloorPlace,
  type FloorVerdict,
  type ProductFiles,
  type SuiteMember,
  showNullProducts,
} from './show.ts';
import { filesOfProduct, filesWrittenSince } from './shown-files.ts';
import { wayOf } from './ways.ts';

export type FloorSettings = {
  readonly word: FloorWord;
  /** The tree with which the run began. */
  readonly base?: string | undefined;
  readonly cache: FloorCache;
  /** By hand, one scenario of several in its folder: the others may reject what it accepts. */
  readonly isPart: boolean;
};

/** A scenario that has passed, and how long its live phase took. */
type PassedLive = { readonly scenario: SuiteMember['scenario']; readonly liveMs: number };

/** More than its own time: a scenario that waits for a server waits longer for one that does not come. */
const limitOf = (liveMs: number): number => 3 * liveMs + 5000;

/** Shows the suite what it has to reject; undefined if the signal fired meanwhile. */
export async function checkFloor(
  passed: readonly PassedLive[],
  { word, base, cache, isPart }: FloorSettings,
  options: FloorOptions,
  host: PhaseHost,
  place: FloorPlace,
): Promise<FloorReport | undefined> {
  const suite = await Promise.all(passed.map((one) => memberOf(one, place.source.folder)));
  const names = suite.map(({ scenario }) => scenario.name);
  const isolation = host.sandbox === undefined ? 'none' : 'sandbox';
  const about = { suite: place.source.hash, names, isolation };
  const trees = base === undefined ? undefined : treesOf(base, options.app, passed);
  const all = word === 'all';
  // Only what the launcher answers does not depend on the product.
  const isLasting = !all && suite.every(({ way }) => way === 'launcher' || way === 'nothing');
  const key = floorKey({ ...about, what: 'null products' });
  const known = isLasting ? cache.verdict(key) : undefined;
  const found = known ?? (await showNullProducts(suite, trees?.files, all, options, host, place));
  if (host.signal.aborted) return undefined;
  if (isLasting && known === undefined && found.state !== 'not_checked')
    await cache.keep(key, { verdict: found });
  const verdict = isPart && found.state === 'failed' ? ofPart(found) : found;
  if (verdict.state === 'failed') return reportOf(verdict, suite, { all, before: null, strict: false });
  const before =
    base === undefined || trees === undefined || trees.before.length === 0
      ? null
      : await passedBefore(suite, base, cache, options, host, place, about);
  return host.signal.aborted
    ? undefined
    : reportOf(verdict, suite, { all, before, strict: word === 'strict' });
}

/** Of a suite that was not run as a whole. */
const ofPart = (verdict: FloorVerdict): FloorVerdict => ({
  ...verdict,
  state: 'not_checked',
  why: [
    `the only scenario that was run also passes with a product that ${nullProductWords[verdict.accepted ?? 'silent']}: another one of its folder must reject that`,
  ],
  accepted: null,
});

/** `folder`: the copy of the scenarios that no product has changed. */
async function memberOf({ scenario, liveMs }: PassedLive, folder: string): Promise<SuiteMember> {
  const files = await helpersOf(folder, scenario.name);
  const own = files.find(({ name }) => name === scenario.name)?.text ?? '';
  return { scenario, way: wayOf(files, needsOf(own)), limitMs: limitOf(liveMs) };
}

/** The product's files, and those of the tree before the work. */
function treesOf(
  base: string,
  app: string,
  passed: readonly PassedLive[],
): { readonly files: ProductFiles; readonly before: readonly string[] } {
  const top = realpathSync(app);
  const scenarios = [...new Set(passed.map(({ scenario }) => relative(top, realpathSync(scenario.folder))))];
  const below = (tree: string) => scenarios.filter((path) => path !== '').map((path) => join(tree, path));
  const all = filesOfProduct(app, below(app));
  return {
    files: { all, written: filesWrittenSince(base, app, all) },
    before: filesOfProduct(base, below(base)),
  };
}

/** How many of the suite pass on the tree before the work. */
async function passedBefore(
  suite: readonly SuiteMember[],
  base: string,
  cache: FloorCache,
  options: FloorOptions,
  host: PhaseHost,
  place: FloorPlace,
  about: Omit<Parameters<typeof floorKey>[0], 'what'>,
): Promise<number> {
  const key = floorKey({ ...about, what: `before ${hashOfFolder(base)}` });
  const known = cache.passedBefore(key);
  if (known !== undefined) return known;
  const ends = await pooled(suite, { jobs: options.jobs, signal: host.signal }, ({ scenario, limitMs }) =>
    judgeOnce(
      scenario,
      {
        ...options,
        app: base,
        timeoutMs: Math.min(limitMs, options.timeoutMs),
        shown: { files: 'whole' },
      },
      host,
      place,
    ),
  );
  const count = ends.filter(({ outcome }) => outcome === 'pass').length;
  // Without its network nothing was found out.
  const isCertain = ends.every(({ verdict }) => verdict?.class !== 'infra');
  if (isCertain && !host.signal.aborted) await cache.keep(key, { passed_before: count });
  return count;
}

/** What `floor=false` leaves unknown. */
export const floorOff: FloorReport = {
  state: 'off',
  why: 'floor=false',
  reason: null,
  accepted: null,
  all: false,
  rejected_by: {},
  passed_before: null,
  warnings: [],
};

function reportOf(
  { state, accepted, why, rejectedBy }: FloorVerdict,
  suite: readonly SuiteMember[],
  how: { readonly all: boolean; readonly before: number | null; readonly strict: boolean },
): FloorReport {
  const { all, before, strict } = how;
  const isOld = state !== 'failed' && before === suite.length;
  const old = `the scenarios did not ask for this work: ${before === 1 ? 'the only one' : `all ${before}`} passed before it`;
  const failsForAge = isOld && strict;
  const idle = all
    ? suite.filter(({ scenario }) => !nullProducts.some((one) => rejectedBy[one].includes(scenario.name)))
    : [];
  return {
    state: failsForAge ? 'failed' : state,
    why: failsForAge ? `work_not_asked_for: ${old}` : sentence(state, accepted, why, suite.length),
    reason: failsForAge ? 'work_not_asked_for' : state === 'failed' ? 'judge_accepts_nothing' : null,
    accepted,
    all,
    rejected_by: rejectedBy,
    passed_before: before,
    warnings: [
      ...idle.map(
        ({ scenario }) => `${scenario.name} shows nothing by itself: it rejects no product that does nothing`,
      ),
      ...(isOld && !failsForAge ? [old] : []),
    ],
  };
}

function sentence(
  state: FloorVerdict['state'],
  accepted: NullProduct | null,
  why: readonly string[],
  count: number,
): string {
  if (accepted !== null)
    return `judge_accepts_nothing: ${count === 1 ? 'the only scenario also passes' : `all ${count} scenarios also pass`} with a product that ${nullProductWords[accepted]} (${accepted})`;
  return state === 'held'
    ? `every product that does nothing is rejected (${nullProducts.join(', ')})`
    : why.join('; ');
}
