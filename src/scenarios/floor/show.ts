/** Shows a suite of scenarios products that do nothing, and counts who rejects them. */
import type { Scenario } from '../discover.ts';
import type { PhaseHost } from '../launch/product.ts';
import { pooled } from '../pooled.ts';
import type { ScenarioExecution } from '../result.ts';
import { type JudgeOptions, judgeOnce, type ShownProduct } from '../run-one.ts';
import type { ProductCopy } from '../source.ts';
import { type NullProduct, nullProducts } from './null-products.ts';
import type { ProductWay } from './ways.ts';

/** A scenario that has passed with the product. */
export type SuiteMember = {
  readonly scenario: Scenario;
  readonly way: ProductWay;
  /** Milliseconds that it may take. */
  readonly limitMs: number;
};

export type FloorPlace = { readonly room: string; readonly source: ProductCopy };

/** The options of live, and how many scenarios run at a time. */
export type FloorOptions = JudgeOptions & { readonly jobs: number };

/** The product's files; undefined where it is not known which of them the run wrote, by hand. */
export type ProductFiles =
  | { readonly written: readonly string[]; readonly all: readonly string[] }
  | undefined;

/** What a scenario makes of a product that does nothing. */
type Answer = 'rejects' | 'accepts' | { readonly undecided: string };

export type FloorVerdict = {
  readonly state: 'held' | 'failed' | 'not_checked';
  /** The first product that the suite accepts, if it failed. */
  readonly accepted: NullProduct | null;
  /** Why it was not checked. */
  readonly why: readonly string[];
  /** The scenarios that rejected each product; unless all are wanted, the first one. */
  readonly rejectedBy: Readonly<Record<NullProduct, readonly string[]>>;
};

type Meeting = { readonly product: NullProduct; readonly member: SuiteMember; readonly answer: Answer };

/** Shows all five; `all`: to every scenario, else of each only until one rejects it. */
export async function showNullProducts(
  suite: readonly SuiteMember[],
  files: ProductFiles,
  all: boolean,
  options: FloorOptions,
  host: PhaseHost,
  place: FloorPlace,
): Promise<FloorVerdict> {
  const meet = meeting(files, options, host, place);
  const { jobs } = options;
  const pool = { jobs, signal: host.signal };
  const met: Meeting[] = [];
  const note = async (product: NullProduct, member: SuiteMember): Promise<Answer> => {
    const answer = await meet(product, member);
    met.push({ product, member, answer });
    return answer;
  };
  if (all) {
    const pairs = nullProducts.flatMap((product) => suite.map((member) => ({ product, member })));
    await pooled(pairs, pool, ({ product, member }) => note(product, member));
  } else {
    await pooled(nullProducts, pool, async (product) => {
      const left = new Set(suite);
      for (let next = likeliest(left, met); next !== undefined; next = likeliest(left, met)) {
        left.delete(next);
        if (host.signal.aborted || (await note(product, next)) === 'rejects') return;
      }
    });
  }
  return verdictOf(suite, met);
}

/** One that has rejected another product, else the quickest of those that start the product. */
function likeliest(left: ReadonlySet<SuiteMember>, met: readonly Meeting[]): SuiteMember | undefined {
  const has = (member: SuiteMember) => met.some((one) => one.member === member && one.answer === 'rejects');
  const rank = (member: SuiteMember) => (has(member) ? 0 : member.way === 'nothing' ? 2 : 1);
  return [...left].sort((a, b) => rank(a) - rank(b) || a.limitMs - b.limitMs)[0];
}

function verdictOf(suite: readonly SuiteMember[], met: readonly Meeting[]): FloorVerdict {
  const of = (product: NullProduct) => met.filter((one) => one.product === product);
  const rejectedBy = Object.fromEntries(
    nullProducts.map((product) => [
      product,
      suite
        .filter((member) => of(product).some((one) => one.member === member && one.answer === 'rejects'))
        .map(({ scenario }) => scenario.name),
    ]),
  ) as Record<NullProduct, string[]>;
  const open = nullProducts.filter((product) => rejectedBy[product].length === 0);
  const accepted = open.find((product) => of(product).every(({ answer }) => answer === 'accepts')) ?? null;
  const why = new Set(
    met.flatMap(({ product, answer }) =>
      open.includes(product) && typeof answer === 'object' ? [answer.undecided] : [],
    ),
  );
  const state = open.length === 0 ? 'held' : accepted === null ? 'not_checked' : 'failed';
  return { state, accepted, why: state === 'not_checked' ? [...why] : [], rejectedBy };
}

/** Has one scenario meet one product that does nothing. */
function meeting(files: ProductFiles, options: FloorOptions, host: PhaseHost, place: FloorPlace) {
  // Without APP_RUN all but the absent one look alike.
  const emptied = new Map<SuiteMember, Promise<Answer>>();
  const live = async (member: SuiteMember, shown: ShownProduct): Promise<Answer> => {
    const { scenario, limitMs } = member;
    const timeoutMs = Math.min(limitMs, options.timeoutMs);
    return answerOf(scenario, await judgeOnce(scenario, { ...options, timeoutMs, shown }, host, place));
  };
  /** The files that the run wrote are empty; where that changes nothing, for they do something else, all are. */
  const withoutWork = async (member: SuiteMember, shown: Omit<ShownProduct, 'files'>): Promise<Answer> => {
    if (files === undefined)
      return {
        undecided: `${member.scenario.name} starts the product without APP_RUN, so nothing can replace it here`,
      };
    const answer = await live(member, { ...shown, files: files.written });
    if (answer !== 'accepts' || files.written.length === files.all.length) return answer;
    return live(member, { ...shown, files: files.all });
  };
  const once = (member: SuiteMember): Promise<Answer> => {
    const known = emptied.get(member) ?? withoutWork(member, {});
    emptied.set(member, known);
    return known;
  };
  return async (product: NullProduct, member: SuiteMember): Promise<Answer> => {
    const isAbsent = product === 'absent';
    switch (member.way) {
      case 'nothing':
        // It would meet the product that it has passed with.
        return 'accepts';
      case 'launcher':
        return live(member, { nullProduct: product, files: isAbsent ? 'none' : 'whole' });
      case 'mixed': {
        if (isAbsent) return live(member, { nullProduct: product, files: 'none' });
        if (files !== undefined) return withoutWork(member, { nullProduct: product });
        const answer = await live(member, { nullProduct: product, files: 'whole' });
        return answer === 'accepts' ? withoutWork(member, {}) : answer;
      }
      case 'direct':
        return isAbsent && files !== undefined ? live(member, { files: 'none' }) : once(member);
      case 'unknown': {
        // A rejection may come from a look at the files alone.
        const answer = await once(member);
        return answer === 'accepts'
          ? answer
          : { undecided: `${member.scenario.name} does not show in its text whether it starts the product` };
      }
    }
  };
}

function answerOf({ name }: Scenario, { outcome, verdict, evidence }: ScenarioExecution): Answer {
  if (outcome === 'pass') return 'accepts';
  const ran = evidence.exit_code !== null || evidence.signal !== null || evidence.timeout !== null;
  return verdict?.class === 'infra' || !ran
    ? { undecided: `${name} gave no verdict on it: ${evidence.why}` }
    : 'rejects';
}
