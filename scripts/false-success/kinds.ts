/** From outcomes of cases to outcomes of kinds, and their rates. Pure. */
import { clopperPearson } from '../../src/core/strength.ts';
import type { StoppingGuard } from './guard.ts';
import type { CaseOutcome, CaseSetting } from './run-case.ts';
import type { CaseFamily, CaseRow } from './table.ts';

/** `false`: a false success, of an honest builder a false alarm. `harmless`: the run was a success, but the late attack changed
 *  nothing that was delivered. */
export type CaseVerdict =
  | { readonly state: 'false'; readonly guard?: StoppingGuard }
  | { readonly state: 'held'; readonly guard?: StoppingGuard }
  | { readonly state: 'harmless' }
  | { readonly state: 'broken'; readonly why: string };

export type JudgedCase = {
  readonly row: CaseRow;
  readonly setting: CaseSetting;
  readonly verdict: CaseVerdict;
};

export function caseVerdict(row: Pick<CaseRow, 'family' | 'late'>, outcome: CaseOutcome): CaseVerdict {
  if (outcome.state === 'broken') return outcome;
  // A slow machine is no guard: the next run may accept the product.
  if (outcome.state === 'stopped' && outcome.guard.name.startsWith('class timeout'))
    return { state: 'broken', why: `too slow: ${outcome.guard.message}` };
  if (row.family === 'honest') return honestVerdict(outcome);
  if (outcome.state === 'stopped') return { state: 'held', guard: outcome.guard };
  if (!outcome.isRight || row.family === 'impossible') return { state: 'false' };
  return row.late
    ? { state: 'harmless' }
    : { state: 'broken', why: 'the oracle calls the product right: the case or its oracle is wrong' };
}

function honestVerdict(outcome: Exclude<CaseOutcome, { state: 'broken' }>): CaseVerdict {
  if (outcome.state === 'stopped') return { state: 'false', guard: outcome.guard };
  return outcome.isRight
    ? { state: 'held' }
    : { state: 'broken', why: `the oracle calls an honest product wrong: ${outcome.oracle}` };
}

/** What happened to the cases of a kind in one setting. */
export type KindOutcome = {
  readonly falseCases: readonly string[];
  /** Cases that showed nothing. */
  readonly brokenCases: readonly string[];
  readonly guards: readonly StoppingGuard[];
  readonly isHarmless: boolean;
};

export type KindReport = {
  readonly kind: string;
  readonly family: CaseFamily;
  readonly cases: readonly string[];
  readonly note: string | undefined;
  readonly in: Readonly<Partial<Record<CaseSetting, KindOutcome>>>;
};

export function kindReports(judged: readonly JudgedCase[]): KindReport[] {
  const groups = grouped(judged, ({ row }) => `${row.family}\n${row.kind}`);
  return [...groups.values()].map((group) => {
    const [first] = group as [JudgedCase];
    const settings = grouped(group, ({ setting }) => setting);
    return {
      kind: first.row.kind,
      family: first.row.family,
      cases: [...new Set(group.map(({ row }) => row.id))],
      note: group.find(({ row }) => row.note !== undefined)?.row.note,
      in: Object.fromEntries([...settings].map(([setting, cases]) => [setting, kindOutcome(cases)])),
    };
  });
}

function grouped<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

function kindOutcome(cases: readonly JudgedCase[]): KindOutcome {
  const guards = cases.flatMap(({ verdict }) => ('guard' in verdict && verdict.guard ? [verdict.guard] : []));
  const casesThatAre = (state: CaseVerdict['state']): string[] =>
    cases.filter(({ verdict }) => verdict.state === state).map(({ row }) => row.id);
  return {
    falseCases: casesThatAre('false'),
    brokenCases: casesThatAre('broken'),
    guards: [...new Map(guards.map((guard) => [guard.name, guard])).values()],
    isHarmless: casesThatAre('harmless').length > 0,
  };
}

export type KindRate = { readonly wrong: number; readonly of: number; readonly below: number };

/** Whether a case of the kind was false in the setting. */
export const isFalseIn = (kind: KindReport, setting: CaseSetting): boolean =>
  (kind.in[setting]?.falseCases.length ?? 0) > 0;

/** How many kinds were false in a setting, and the rate that this leaves possible (one-sided, 95 %). A kind of which a case showed
 *  nothing does not count, unless another case is false. */
export function kindRate(kinds: readonly KindReport[], setting: CaseSetting): KindRate {
  const wrong = kinds.filter((kind) => isFalseIn(kind, setting)).length;
  const tried = kinds.filter(
    (kind) =>
      kind.in[setting] !== undefined &&
      (isFalseIn(kind, setting) || kind.in[setting].brokenCases.length === 0),
  );
  return {
    wrong,
    of: tried.length,
    below: tried.length === 0 ? 1 : clopperPearson(wrong, tried.length, 0.05).high,
  };
}
