/** What is known of suites from earlier: they are not shown the same products twice. */
import { join } from 'node:path';
import * as z from 'zod';
import type { Environment } from '../../core/contracts/process.ts';
import { once } from '../../core/once.ts';
import { sha256 } from '../../core/sha256.ts';
import { packageVersion } from '../../platform/package.ts';
import { toolState } from '../../platform/tool-state.ts';
import { nullProducts } from './null-products.ts';
import type { FloorVerdict } from './show.ts';

export type FloorCache = {
  verdict(key: string): FloorVerdict | undefined;
  passedBefore(key: string): number | undefined;
  keep(
    key: string,
    entry: { readonly verdict?: FloorVerdict; readonly passed_before?: number },
  ): Promise<void>;
};

/** By what it depends on: the suite, the isolation, this version, and what was shown. */
export const floorKey = (about: {
  readonly suite: string;
  readonly names: readonly string[];
  readonly isolation: string;
  readonly what: string;
}): string =>
  sha256(JSON.stringify([packageVersion(), about.suite, about.names, about.isolation, about.what]));

const entriesSchema = once(() =>
  z.record(
    z.string(),
    z.object({
      verdict: z
        .object({
          state: z.enum(['held', 'failed']),
          accepted: z.enum(nullProducts).nullable(),
          why: z.array(z.string()),
          rejectedBy: z.record(z.enum(nullProducts), z.array(z.string())),
        })
        .exactOptional(),
      passed_before: z.int().nonnegative().exactOptional(),
    }),
  ),
);

/** The newest entries that are kept. */
const mostEntries = 100;

/** In a run the state of its tools; by hand a file in `XDG_CACHE_HOME` or `~/.cache`. Without either nothing is kept. */
export function openFloorCache(env: Environment): FloorCache {
  const folder = env['XDG_CACHE_HOME'] || (env['HOME'] ? join(env['HOME'], '.cache') : undefined);
  if (folder === undefined && !env['FACTORY_STATE'])
    return { verdict: none, passedBefore: none, keep: async () => {} };
  const path = join(folder ?? '', 'factory', 'floor.json');
  const state = toolState('floor', env, { path, name: path });
  const entries = () => {
    const read = state.read();
    return ('value' in read ? entriesSchema().safeParse(read.value).data : undefined) ?? {};
  };
  return {
    verdict: (key) => entries()[key]?.verdict,
    passedBefore: (key) => entries()[key]?.passed_before,
    async keep(key, entry) {
      const { [key]: _, ...others } = entries();
      const kept = Object.entries(others).slice(1 - mostEntries);
      // A home that cannot be written costs time, no more.
      await state.write({ ...Object.fromEntries(kept), [key]: entry }).catch(() => {});
    },
  };
}

const none = (): undefined => undefined;
