/** The prices of a run: a file that a flag, the environment or the pipeline names, in addition to the bundled table. */
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Graph } from '../model/graph.ts';
import type { Manifest } from '../model/manifest.ts';
import { bundledPrices, type Prices, parsePrices, pricesWith } from '../model/prices.ts';
import { sha256 } from '../model/sha256.ts';
import { unreadable } from '../system/files.ts';
import type { Refusal } from './casting.ts';

/** The environment variable that names the file. */
export const pricesVariable = 'FACTORY_PRICES';

type Kept = NonNullable<Manifest['prices']>;

/** Reads the first file named by `--prices`, `FACTORY_PRICES` (both relative to `cwd`) or the graph attribute `prices`
 *  (relative to the pipeline's file); undefined where none is named. */
export async function readPriceFile(
  graph: Graph | undefined,
  flag: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): Promise<{ readonly kept: Kept | undefined } | Refusal> {
  const variable = env[pricesVariable]?.trim() ?? '';
  const named = graph?.settings.prices;
  const [path, by] =
    flag !== undefined
      ? [resolve(cwd, flag), '--prices']
      : variable !== ''
        ? [resolve(cwd, variable), pricesVariable]
        : graph !== undefined && named !== undefined
          ? [resolve(cwd, dirname(graph.file), named), 'the graph attribute prices']
          : [undefined, ''];
  if (path === undefined) return { kept: undefined };
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const problem = {
      code: 'prices',
      severity: 'error' as const,
      message: `${by} names ${path}, which cannot be read: ${unreadable(error)}`,
      fix: 'name a price file; without one the bundled list prices are used',
    };
    const span = by.startsWith('the') ? graph?.attrs.get('prices')?.valueSpan : undefined;
    return {
      problems: [
        span === undefined || graph === undefined
          ? problem
          : { ...problem, place: { file: graph.file, span } },
      ],
    };
  }
  const parsed = parsePrices(path, text);
  if ('diagnostics' in parsed) return { problems: parsed.diagnostics };
  return { kept: { path, sha256: sha256(text), table: parsed.prices } };
}

/** The prices of a run with this manifest. */
export const pricesOf = ({ prices }: Pick<Manifest, 'prices'>): Prices =>
  prices === undefined ? bundledPrices : pricesWith(prices.table, prices.path);
