/** What tokens cost: the bundled table, tables of the user's own over it, and the cost of a call by them. */
import * as z from 'zod';
import { mapJson, positionAt } from './agent-script.ts';
import type { Diagnostic } from './diagnostic.ts';
import { listDate, listPrices } from './price-list.ts';
import { partsOf, type Usage } from './spent.ts';

const usd = z.number().nonnegative();

const Price = z.strictObject({
  input: usd,
  output: usd,
  cached_input: usd.exactOptional().describe('Default: the price of other input'),
});
/** USD per million tokens. */
export type Price = Readonly<z.infer<typeof Price>>;

/** A file of prices. */
export const PriceFile = z.lazy(() =>
  z.strictObject({
    format: z.literal('factory-prices/1'),
    dated: z.iso.date('must be a date like 2026-01-31'),
    note: z.string().default(''),
    models: z.record(z.string().min(1), Price),
  }),
);
export type PriceFile = z.infer<typeof PriceFile>;

export type Prices = {
  readonly dated: string;
  /** Where they are from, in words: `bundled`, a path. */
  readonly from: string;
  /** By lower-case model name. */
  readonly models: ReadonlyMap<string, Price>;
};

export const bundledPrices: Prices = {
  dated: listDate,
  from: 'bundled',
  models: new Map(
    listPrices.map(([model, input, cached, output]) => [
      model,
      cached === null ? { input, output } : { input, cached_input: cached, output },
    ]),
  ),
};

/** The bundled table with the models of a file over it. */
export const pricesWith = (file: PriceFile, from: string): Prices => ({
  dated: file.dated,
  from,
  models: new Map([
    ...bundledPrices.models,
    ...Object.entries(file.models).map(([model, price]): [string, Price] => [model.toLowerCase(), price]),
  ]),
});

/** The price of a model, by its name as it is, else without a date or `latest` behind it, else without a provider's
 *  name before it; undefined where the table has none. A longer name is another model. */
export function priceOf(prices: Prices, model: string): Price | undefined {
  const name = model.trim().toLowerCase();
  const bare = name.slice(name.lastIndexOf('/') + 1);
  const undated = (word: string) => word.replace(/[-@](?:\d{4}-\d{2}-\d{2}|\d{8}|latest)$/, '');
  for (const word of [name, undated(name), bare, undated(bare)]) {
    const price = prices.models.get(word);
    if (price !== undefined) return price;
  }
  return undefined;
}

/** Cost of a call in USD: what its backend told, else tokens by price; null when either is not known. */
export function costOf(usage: Usage, prices: Prices): number | null {
  if (usage.incomplete === true) return null;
  if (usage.cost_usd !== null) return usage.cost_usd;
  const isKnown = (part: ReturnType<typeof partsOf>[number]): boolean =>
    part.cost_usd !== null ||
    (priceOf(prices, part.model) !== undefined && part.input_tokens !== null && part.output_tokens !== null);
  return partsOf(usage).every(isKnown) ? leastCostOf(usage, prices) : null;
}

/** The models of a call whose prices are what is not known of its cost. */
export const unpricedIn = (usage: Usage, prices: Prices): readonly string[] =>
  usage.cost_usd !== null
    ? []
    : partsOf(usage)
        .filter(
          ({ model, cost_usd }) => cost_usd === null && model !== '' && priceOf(prices, model) === undefined,
        )
        .map(({ model }) => model);

/** What a call has cost at least, in USD: what is not known of it counts nothing. */
export function leastCostOf(usage: Usage, prices: Prices): number {
  if (usage.cost_usd !== null) return usage.cost_usd;
  const all = partsOf(usage).map((part) => {
    const price = priceOf(prices, part.model);
    if (part.cost_usd !== null) return part.cost_usd * 1e6;
    if (price === undefined) return 0;
    const input = part.input_tokens ?? 0;
    const cached = Math.min(part.cached_input_tokens ?? 0, input);
    return (
      (input - cached) * price.input +
      cached * (price.cached_input ?? price.input) +
      (part.output_tokens ?? 0) * price.output
    );
  });
  return Math.round(all.reduce((sum, one) => sum + one, 0) * 1e4) / 1e10;
}

/** Reads a file of prices; `file` is named in the diagnostics, which point at the offending part of `text`. */
export function parsePrices(
  file: string,
  text: string,
): { readonly prices: PriceFile } | { readonly diagnostics: readonly Diagnostic[] } {
  const at = (message: string, offset: number, fix: string): Diagnostic => {
    const start = positionAt(text, offset);
    return { code: 'prices', severity: 'error', message, place: { file, span: { start, end: start } }, fix };
  };
  const example =
    'write it like {"format": "factory-prices/1", "dated": "2026-01-31", "models": {"NAME": {"input": 1.25, "cached_input": 0.125, "output": 10}}}, in USD per million tokens';
  const map = mapJson(text);
  if ('problem' in map) return { diagnostics: [at(`not JSON: ${map.problem}`, map.offset, example)] };
  const twice = map.duplicates.map(({ key, offset }) =>
    at(`"${key}" is given twice; only one of them would count`, offset, 'remove one of the two'),
  );
  const read = PriceFile.safeParse(JSON.parse(text.replace(/^\ufeff/, '')));
  const names = read.success ? Object.keys(read.data.models) : [];
  for (const [n, name] of names.entries())
    if (names.slice(0, n).some((other) => other.toLowerCase() === name.toLowerCase()))
      twice.push(
        at(
          `"${name}" is given twice, in upper and lower case; only one of them would count`,
          map.offset(['models', name]),
          'remove one of the two',
        ),
      );
  if (read.success && twice.length === 0) return { prices: read.data };
  const wrong = (read.error?.issues ?? []).flatMap((issue) => {
    const path = issue.path.map(String);
    const where = path.length === 0 ? 'the file' : path.join('.');
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) =>
        at(`${where} has the unknown key "${key}"`, map.offset([...path, key]), example),
      );
    return [at(`${where}: ${issue.message}`, map.offset(path), example)];
  });
  return { diagnostics: [...twice, ...wrong] };
}
