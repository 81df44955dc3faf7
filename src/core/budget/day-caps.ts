/** Caps per day over all runs of a folder: whether a run may make its next call, by what all runs have spent and reserved. Pure.
 *
 *  Runs decide without a lock: each writes what it asks for, then reads what the others have spent, reserved and asked for. Of two
 *  that ask at once the later one to write sees the other, so that no sum that was granted is above the cap. Where only the asking
 *  of others is in the way, the run with the smallest id keeps asking, and the others step back until it has its answer. */
import { countedItems } from '../amounts.ts';
import { zonedWords } from '../days.ts';
import {
  type DayCapName,
  dayCapSettings,
  type LabelSettings,
  type QueueSettings,
} from '../settings/queue.ts';
import { type DaySpend, exactSum, type MoneyAndTokens } from './day-spend.ts';

/** What a run has spent on a day, has reserved for calls that are under way, and asks for. */
export type RunSpend = {
  readonly run_id: string;
  readonly labels: readonly string[];
  readonly spent: DaySpend;
  readonly reserved: MoneyAndTokens;
  readonly asks?: MoneyAndTokens;
  /** It allows calls of unknown cost: they hold back no other run. */
  readonly unknown_cost?: 'allow';
};

export type DayCap = {
  readonly name: DayCapName;
  readonly limit: number;
  /** Undefined: of all runs. */
  readonly label?: string;
};

const capsIn = (settings: LabelSettings, label?: string): DayCap[] =>
  (Object.keys(dayCapSettings) as DayCapName[]).flatMap((name) => {
    const limit = settings[name];
    return limit === undefined ? [] : [{ name, limit, ...(label === undefined ? {} : { label }) }];
  });

/** The caps per day that are set; with labels those for a run that has them. */
export const dayCapsOf = (settings: QueueSettings, labels?: readonly string[]): readonly DayCap[] => [
  ...capsIn(settings),
  ...Object.entries(settings.labels)
    .filter(([label]) => labels === undefined || labels.includes(label))
    .flatMap(([label, its]) => capsIn(its, label)),
];

export const measureOf = (name: DayCapName): keyof MoneyAndTokens =>
  name === 'max_cost_usd_day' ? 'cost_usd' : 'tokens';

/** The runs that a cap is for. */
export const runsUnder = <T extends Pick<RunSpend, 'labels'>>({ label }: DayCap, runs: readonly T[]): T[] =>
  runs.filter(({ labels }) => label === undefined || labels.includes(label));

export type CapVerdict =
  | { readonly kind: 'granted' }
  /** Only what others ask for is in the way. `stepsBack`: until none of them `goesFirst`. */
  | { readonly kind: 'contested'; readonly stepsBack: boolean }
  | CapReached;

export type CapReached = {
  readonly kind: 'reached';
  readonly cap: DayCap;
  readonly spent: number;
  readonly reserved: number;
  readonly asks: number;
  /** How many runs have spent or reserved something. */
  readonly runs: number;
  /** Calls of unknown cost, where they are why. */
  readonly unknown?: number;
};

/** Whether `own` gets what it asks for. `others` were read after its asking was written. */
export function capVerdict(own: RunSpend, others: readonly RunSpend[], caps: readonly DayCap[]): CapVerdict {
  let contested: CapVerdict | undefined;
  for (const cap of caps) {
    const verdict = verdictOf(cap, own, runsUnder(cap, others));
    if (verdict.kind === 'reached') return verdict;
    if (verdict.kind === 'granted') continue;
    // Who steps back for one cap steps back for all.
    if (contested === undefined || verdict.stepsBack) contested = verdict;
  }
  return contested ?? { kind: 'granted' };
}

function verdictOf(cap: DayCap, own: RunSpend, others: readonly RunSpend[]): CapVerdict {
  const measure = measureOf(cap.name);
  const all = [own, ...others];
  const spent = exactSum(all.map((run) => run.spent[measure]));
  const reserved = exactSum(all.map((run) => run.reserved[measure]));
  const asks = own.asks?.[measure] ?? 0;
  const committed = exactSum([spent, reserved]);
  const reached = { kind: 'reached', cap, spent, reserved, asks, runs: all.filter(hasSpent).length } as const;
  const unknown = own.unknown_cost === 'allow' ? 0 : unknownIn(cap, all);
  if (unknown > 0) return { ...reached, unknown };
  if (committed >= cap.limit || exactSum([committed, asks]) > cap.limit) return reached;
  const asking = others.filter((run) => (run.asks?.[measure] ?? 0) > 0);
  const asked = asking.map((run) => run.asks?.[measure] ?? 0);
  if (asks === 0 || exactSum([committed, asks, ...asked]) <= cap.limit) return { kind: 'granted' };
  return { kind: 'contested', stepsBack: asking.some((other) => goesFirst(other, own)) };
}

/** Whether a run that asks has the precedence over another one. */
export const goesFirst = ({ run_id, asks }: RunSpend, own: Pick<RunSpend, 'run_id'>): boolean =>
  run_id < own.run_id && asks !== undefined && (asks.cost_usd > 0 || asks.tokens > 0);

export const hasSpent = ({ spent, reserved }: Pick<RunSpend, 'spent' | 'reserved'>): boolean =>
  [spent.cost_usd, spent.tokens, spent.unknown_cost, reserved.cost_usd, reserved.tokens].some((n) => n > 0);

/** Calls of unknown cost, or an unknown number of tokens, of runs that do not allow them. */
const unknownIn = ({ name }: DayCap, runs: readonly RunSpend[]): number =>
  runs
    .filter((run) => run.unknown_cost !== 'allow')
    .reduce(
      (sum, { spent }) => sum + (name === 'max_cost_usd_day' ? spent.unknown_cost : spent.unknown_tokens),
      0,
    );

/* In words. */

/** Exact to a millionth. */
export const capAmount = (name: DayCapName, amount: number): string =>
  name === 'max_cost_usd_day' ? `${Number(amount.toFixed(6))} USD` : `${amount} tokens`;

/** Why a run is suspended, when it resumes, and how to raise the cap. */
export function reachedWords(
  reached: CapReached,
  day: { readonly end: number; readonly zone: string },
): string {
  const { cap, spent, reserved, asks, runs, unknown } = reached;
  const words = (amount: number) => capAmount(cap.name, amount);
  const whose = cap.label === undefined ? 'of this runs folder' : `with the label "${cap.label}"`;
  const flag = cap.label === undefined ? '' : ` --label ${cap.label}`;
  const resets = `it resets at ${zonedWords(new Date(day.end), day.zone)}`;
  if (unknown !== undefined) {
    const what = cap.name === 'max_cost_usd_day' ? 'cost' : 'number of tokens';
    return `${cap.name}: the ${what} of ${countedItems(unknown, 'call')} of today is unknown, so a cap of ${words(cap.limit)} a day cannot be held; ${resets}; give the model a price (--prices FILE, FACTORY_PRICES), or allow such calls with --unknown-cost allow`;
  }
  const calls = reserved > 0 ? `, calls under way use at least about ${words(reserved)}` : '';
  const next = asks > 0 ? `, the next call would send about ${words(asks)}` : '';
  return `${cap.name}: ${countedItems(runs, 'run')} ${whose} ${runs === 1 ? 'has' : 'have'} spent ${words(spent)} today${calls}${next}, and the cap is ${words(cap.limit)} a day; ${resets}; raise it with factory queue set ${cap.name} ${words(2 * cap.limit).split(' ')[0]}${flag}`;
}
