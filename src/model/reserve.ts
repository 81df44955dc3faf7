/** The part of a run's limits that is reserved for verification: `20%`, `0.2`, or amounts such as `0.50usd, 20000tokens,
 *  10m`. */
import type { AttributeType } from './attribute.ts';
import { durationMs } from './attribute.ts';

export type Reserve = {
  /** Applies to every limit without an amount here. */
  readonly fraction?: number;
  readonly usd?: number;
  readonly tokens?: number;
  readonly ms?: number;
};

/** The attribute's type. */
export const reserve = (): AttributeType<Reserve> => ({
  wants: 'a part such as 20% or 0.2, or amounts such as "0.50usd, 20000tokens, 10m"',
  example: '20%',
  read(value) {
    const found: { -readonly [K in keyof Reserve]: Reserve[K] } = {};
    for (const word of value.text.split(',').map((part) => part.trim().toLowerCase())) {
      const part = partOf(word);
      if (part === undefined)
        return { ok: false, why: `has "${word}", which is neither a part nor an amount` };
      const [key] = Object.keys(part);
      if (key !== undefined && key in found) return { ok: false, why: `says it twice ("${word}")` };
      Object.assign(found, part);
    }
    return { ok: true, value: found };
  },
});

function partOf(word: string): Reserve | undefined {
  const percent = /^(\d+(?:\.\d+)?)%$/.exec(word)?.[1];
  if (percent !== undefined) return Number(percent) < 100 ? { fraction: Number(percent) / 100 } : undefined;
  const usd = /^(?:\$\s*(\d+(?:\.\d+)?)|(\d+(?:\.\d+)?)\s*usd)$/.exec(word);
  if (usd !== null) return { usd: Number(usd[1] ?? usd[2]) };
  const tokens = /^(\d+(?:\.\d+)?)(k?)\s*tokens?$/.exec(word);
  if (tokens !== null) return { tokens: Number(tokens[1]) * (tokens[2] === 'k' ? 1000 : 1) };
  if (/^0?\.\d+$|^0$/.test(word)) return { fraction: Number(word) };
  const ms = durationMs(word);
  return ms === undefined ? undefined : { ms };
}

/** The reserved amounts of these limits. */
export function keptOf(
  kept: Reserve | undefined,
  caps: {
    readonly maxCostUsd?: number | undefined;
    readonly maxTokens?: number | undefined;
    readonly maxWallMs?: number | undefined;
  },
): { readonly usd: number; readonly tokens: number; readonly ms: number } {
  const fraction = kept?.fraction ?? 0;
  return {
    usd: kept?.usd ?? (caps.maxCostUsd ?? 0) * fraction,
    tokens: Math.round(kept?.tokens ?? (caps.maxTokens ?? 0) * fraction),
    ms: Math.round(kept?.ms ?? (caps.maxWallMs ?? 0) * fraction),
  };
}
