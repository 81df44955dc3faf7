/** Token prices: the bundled table, a user's file that overrides it, and the cost of a call. */
import * as z from 'zod';
import type { Diagnostic } from '../diagnostic.ts';
import { once } from '../once.ts';
import { schemaOfFile } from '../records/json-forms.ts';
import { cacheWriteFactor, listDate, listPrices } from './price-list.ts';
import type { Usage } from './usage.ts';

const usd = once(() => z.number().nonnegative());

export const priceSchema = once(() =>
  z.strictObject({
    input: usd(),
    output: usd(),
    cached_input: usd().exactOptional().describe('Default: the price of other input'),
    cache_write: usd().exactOptional().describe('Default: the price of other input'),
  }),
);
/** USD per million tokens. */
export type Price = Readonly<z.infer<ReturnType<typeof priceSchema>>>;

/** A file of prices. */
export const priceFileSchema = once(() =>
  z.strictObject({
    format: z.literal('factory-prices/1'),
    dated: z.iso.date('must be a date like 2026-01-31'),
    note: z.string().default(''),
    models: z.record(z.string().min(1), priceSchema()),
  }),
);
/** The file as people write it. */
export const writtenPricesSchema = once(() => priceFileSchema().extend({ $schema: schemaOfFile() }));
export type PriceFile = z.infer<ReturnType<typeof priceFileSchema>>;

export type Prices = {
  readonly dated: string;
  /** `bundled`, or the path of the file. */
  readonly from: string;
  /** By lower-case model name: bundled ones, and those of the file. */
  readonly models: PriceTable;
  /** What servers ask, by provider. */
  readonly servers?: ReadonlyMap<string, PriceTable>;
  /** Those of the file alone: they count before those of servers. */
  readonly file?: PriceTable;
};
type PriceTable = ReadonlyMap<string, Price>;

export const bundledPrices: Prices = {
  dated: listDate,
  from: 'bundled',
  models: new Map(
    listPrices.map(([model, input, cached, output]) => [
      model,
      {
        input,
        output,
        ...(cached === null ? {} : { cached_input: cached }),
        ...(model.startsWith('claude-') ? { cache_write: input * cacheWriteFactor } : {}),
      },
    ]),
  ),
};

/** The bundled table, overridden by the models of a file. */
export const pricesWith = (file: PriceFile, from: string): Prices => ({
  dated: file.dated,
  from,
  models: new Map([...bundledPrices.models, ...lowerCased(file.models)]),
});

/** The prices of a run whose manifest has these: those of a file count before those of the servers, and these before the
 *  bundled ones. */
export function pricesOf({
  prices,
  agent,
}: {
  readonly prices?: { readonly path: string; readonly table: PriceFile };
  readonly agent?: { readonly servers?: Readonly<Record<string, { readonly prices?: ModelPrices }>> };
}): Prices {
  const given = prices === undefined ? bundledPrices : pricesWith(prices.table, prices.path);
  const servers = Object.entries(agent?.servers ?? {}).flatMap(([provider, { prices: own }]) =>
    own === undefined ? [] : [[provider, new Map(lowerCased(own))] as const],
  );
  if (servers.length === 0) return given;
  return { ...given, servers: new Map(servers), file: new Map(lowerCased(prices?.table.models ?? {})) };
}

type ModelPrices = Readonly<Record<string, Price>>;
const lowerCased = (prices: ModelPrices) =>
  Object.entries(prices).map(([model, price]): [string, Price] => [model.toLowerCase(), price]);

/** The price of a model: by its exact name, else without a date or `latest` at the end, else without a provider prefix;
 *  undefined if the table has none. A longer name is another model. `provider`: whose server was asked, where that is known. */
export function priceOf(prices: Prices, model: string, provider?: string): Price | undefined {
  const name = model.trim().toLowerCase();
  const bare = name.slice(name.lastIndexOf('/') + 1);
  const undated = (word: string) => word.replace(/[-@](?:\d{4}-\d{2}-\d{2}|\d{8}|latest)$/, '');
  const tables = tablesFor(prices, provider);
  for (const word of [name, undated(name), bare, undated(bare)])
    for (const table of tables) {
      const price = table.get(word);
      if (price !== undefined) return price;
    }
  return undefined;
}

/** A price with each part raised to that of another one. */
export const atLeast = (price: Price, least: Price): Price => ({
  input: Math.max(price.input, least.input),
  output: Math.max(price.output, least.output),
  cached_input: Math.max(price.cached_input ?? price.input, least.cached_input ?? least.input),
  cache_write: Math.max(price.cache_write ?? price.input, least.cache_write ?? least.input),
});

/** In the order in which they count: what one server asks for a model says little about others that have one of that name. */
function tablesFor({ models, servers, file }: Prices, provider = ''): readonly PriceTable[] {
  const own = servers?.get(provider);
  if (own === undefined) return [models, ...(servers?.values() ?? [])];
  return [...(file === undefined ? [] : [file]), own, models];
}

/** Cost of a call in USD: as the agent reported it, else tokens times price; null if either is unknown. */
export function costOf(usage: Usage, prices: Prices): number | null {
  if (usage.incomplete === true) return null;
  if (usage.cost_usd !== null) return usage.cost_usd;
  const isKnown =
    priceOf(prices, usage.model, usage.provider) !== undefined &&
    usage.input_tokens !== null &&
    usage.output_tokens !== null;
  return isKnown ? leastCostOf(usage, prices) : null;
}

/** A lower bound of the cost of a call in USD: unknown parts count as zero. */
export function leastCostOf(usage: Usage, prices: Prices): number {
  if (usage.cost_usd !== null) return usage.cost_usd;
  const price = priceOf(prices, usage.model, usage.provider);
  if (price === undefined) return 0;
  const input = usage.input_tokens ?? 0;
  const cached = Math.min(usage.cached_input_tokens ?? 0, input);
  const written = Math.min(usage.cache_write_tokens ?? 0, input - cached);
  const perMillion =
    (input - cached - written) * price.input +
    written * (price.cache_write ?? price.input) +
    cached * (price.cached_input ?? price.input) +
    (usage.output_tokens ?? 0) * price.output;
  return Math.round(perMillion * 1e4) / 1e10;
}

const example =
  'write it like {"format": "factory-prices/1", "dated": "2026-01-31", "models": {"NAME": {"input": 1.25, "cached_input": 0.125, "output": 10}}}, in USD per million tokens';

/** Reads a file of prices; the diagnostics name `file` and the offending key. */
export function parsePrices(
  file: string,
  text: string,
): { readonly prices: PriceFile } | { readonly diagnostics: readonly Diagnostic[] } {
  const wrong = (message: string): Diagnostic => ({
    code: 'prices',
    severity: 'error',
    message: `${file}: ${message}`,
    fix: example,
  });
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ''));
  } catch (error) {
    return { diagnostics: [wrong(`not JSON: ${error instanceof Error ? error.message : String(error)}`)] };
  }
  const read = writtenPricesSchema().safeParse(value);
  if (read.success) {
    const { $schema: _, ...prices } = read.data;
    return { prices };
  }
  return {
    diagnostics: read.error.issues.map(({ path, message }) =>
      wrong(path.length === 0 ? message : `${path.join('.')}: ${message}`),
    ),
  };
}

/** The environment variable that names the file. */
export const pricesVariable = 'FACTORY_PRICES';
