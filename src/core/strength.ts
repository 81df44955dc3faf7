/** What follows from the counts of a measured strength: its interval, whether it reaches what is required, and its words. Pure. */
import { countedItems } from './amounts.ts';
import type { Strength } from './records/strength.ts';

/** The Clopper–Pearson interval of a share, 95 %. Each limit is the rate at which a result at least as extreme has that chance: with
 *  0.05 a limit alone, without the other one, holds at 95 %. */
export function clopperPearson(
  killed: number,
  valid: number,
  chance = 0.025,
): { readonly low: number; readonly high: number } {
  return {
    low: killed === 0 ? 0 : rateAt((rate) => tail(killed, valid, rate) < chance),
    high: killed === valid ? 1 : rateAt((rate) => 1 - tail(killed + 1, valid, rate) >= chance),
  };
}

/** The rate up to which the question is answered with yes. */
function rateAt(isBelow: (rate: number) => boolean): number {
  let [low, high] = [0, 1];
  for (let step = 0; step < 50; step++) {
    const middle = (low + high) / 2;
    if (isBelow(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** The chance of at least `least` of `n` at this rate, between 0 and 1. The terms are taken from the largest one on: the first may
 *  be too small for a number. */
function tail(least: number, n: number, rate: number): number {
  const odds = rate / (1 - rate);
  const mode = Math.min(n, Math.floor((n + 1) * rate));
  const of = { all: 1, above: mode >= least ? 1 : 0 };
  for (let k = mode, term = 1; k < n && term > 0; k++) {
    term *= ((n - k) / (k + 1)) * odds;
    of.all += term;
    if (k + 1 >= least) of.above += term;
  }
  for (let k = mode, term = 1; k > 0 && term > 0; k--) {
    term *= k / (n - k + 1) / odds;
    of.all += term;
    if (k - 1 >= least) of.above += term;
  }
  return of.above / of.all;
}

/** After so many valid mutants the interval is compared with the required strength. After each one a suite below it would pass
 *  too often. */
const looks: ReadonlySet<number> = new Set([60, 120, 240, 480]);

/** Before it nothing is decided, unless all were judged. */
export const firstStrengthLook = Math.min(...looks);

export const isStrengthLook = (valid: number): boolean => looks.has(valid);

/** At a look, or when all were judged: whether a required strength is reached; undefined while that is open. Where all were
 *  judged the number itself decides, whatever those without a verdict would have been. */
export function strengthDecision(
  judged: Pick<Strength, 'killed' | 'survived' | 'no_verdict'>,
  required: number,
  isAll: boolean,
): 'met' | 'missed' | undefined {
  const { killed, survived, no_verdict } = judged;
  const valid = killed + survived;
  if (valid === 0) return undefined;
  const all = valid + no_verdict;
  const { low, high } = isAll
    ? { low: killed / all, high: (killed + no_verdict) / all }
    : clopperPearson(killed, valid);
  return low >= required ? 'met' : high < required ? 'missed' : undefined;
}

/** Whether scenarios that passed are not accepted as a judge: what is required was missed, or could not be found out. */
export const isTooWeak = (strength: Strength | null | undefined): boolean =>
  strength != null && strength.required !== null && strength.state !== 'met';

/** `strength 72 % (59–83), 60 of 303`. */
export function strengthWords(strength: Strength | undefined): string {
  if (strength === undefined) return 'strength not measured';
  const { state, rate, why, required } = strength;
  if (rate === null) return `strength ${state}: ${why ?? 'nothing was judged'}`;
  const bar = required === null ? '' : `, required ${percent(required)} %`;
  return `strength ${numbers(strength, rate)}${withoutWords(strength)}${bar}${state === 'undecided' ? `: undecided: ${why}` : ''}`;
}

function numbers({ state, killed, survived, total, complete, low, high }: Strength, rate: number): string {
  // One that missed must not read like the required number.
  const shown = (part: number): number => percent(part, state === 'missed');
  const valid = killed + survived;
  if (complete || low === null || high === null) return `${shown(rate)} %, all ${valid}`;
  return `${shown(rate)} % (${shown(low)}–${shown(high)}), ${valid} of ${total ?? valid}`;
}

/** Of what the number says nothing. */
const withoutWords = ({ files_left_out: files, scenarios_left_out: scenarios }: Strength): string =>
  [
    ...(files === 0 ? [] : [`, ${countedItems(files, 'file')} not mutated`]),
    ...(scenarios === 0 ? [] : [`, ${countedItems(scenarios, 'scenario')} not run`]),
  ].join('');

/** Rounded, but 100 only for all. */
const percent = (part: number, isDown = false): number =>
  part === 1 ? 100 : Math.min(99, isDown ? Math.floor(part * 100) : Math.round(part * 100));
