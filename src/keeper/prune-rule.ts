/** The rule by which a worker removes old runs: the flags of `factory prune` in one word. */
import type { PruneRules } from '../app/prune.ts';
import { durationMs } from '../core/settings/types.ts';

export type PruneRule = Pick<PruneRules, 'olderMs' | 'keep' | 'keepFailed' | 'undelivered'>;

const form = 'write it like older=14d,keep=20,keep-failed';

/** Reads `older=14d,keep=20,keep-failed,undelivered`. */
export function parsePruneRule(text: string): PruneRule | { readonly problem: string; readonly fix: string } {
  const rule: { -readonly [K in keyof PruneRule]: PruneRule[K] } = {
    ...{ olderMs: undefined, keep: undefined, keepFailed: false, undelivered: false },
  };
  for (const word of text.split(',').map((part) => part.trim())) {
    const [name = '', value = ''] = word.split('=', 2);
    const older = name === 'older' ? durationMs(value) : undefined;
    if (older !== undefined) rule.olderMs = older;
    else if (name === 'keep' && /^\d{1,9}$/.test(value)) rule.keep = Number(value);
    else if (word === 'keep-failed') rule.keepFailed = true;
    else if (word === 'undelivered') rule.undelivered = true;
    else return { problem: `"${word}" is no part of a rule`, fix: form };
  }
  if (rule.olderMs === undefined && rule.keep === undefined)
    return { problem: 'nothing says which runs are old', fix: form };
  return rule;
}

/** The rule in its form. */
export const pruneWords = ({ olderMs, keep, keepFailed, undelivered }: PruneRule): string =>
  [
    ...(olderMs === undefined ? [] : [`older=${olderMs}ms`]),
    ...(keep === undefined ? [] : [`keep=${keep}`]),
    ...(keepFailed ? ['keep-failed'] : []),
    ...(undelivered ? ['undelivered'] : []),
  ].join(',');
