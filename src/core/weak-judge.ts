/** A run that failed because its scenarios, which all passed, are too weak a judge (`min_strength`). Pure. */
import { type Json, own } from './json.ts';
import { judgedAll } from './judged-words.ts';
import type { LastFailure } from './records/checkpoint.ts';
import { reportedStrength, type Strength, strengthKey } from './records/strength.ts';
import { isTooWeak, strengthWords } from './strength.ts';

export type WeakJudge = { readonly node: string; readonly strength: Strength };

type Facts = {
  readonly context: { readonly [key: string]: Json | undefined };
  /** Unknown in a checkpoint's file. */
  readonly origins?: Readonly<Record<string, string>> | undefined;
  readonly last_failure: Pick<LastFailure, 'node' | 'class' | 'reason'> | null;
};

/** Undefined where the final failure is another one: a strength of before may still be in the context. */
export function weakJudgeIn({ context, origins, last_failure: last }: Facts): WeakJudge | undefined {
  if (last?.class !== 'scenario') return undefined;
  const strength = weakStrength(context, origins);
  return strength !== undefined && last.reason.includes(strengthWords(strength))
    ? { node: last.node, strength }
    : undefined;
}

const judgedBy = ['judge.passed', 'judge.total', 'judge.floor', strengthKey];

/** What a judge reported whose scenarios passed and are too weak. `origins`: who has set what is reported. */
export function weakStrength(reported: Facts['context'], origins: Facts['origins']): Strength | undefined {
  const byJudge =
    origins === undefined ||
    judgedBy.every((key) => reported[key] === undefined || own(origins, key) === 'tool');
  const strength = byJudge ? reportedStrength({ [strengthKey]: reported[strengthKey] }) : undefined;
  return strength !== undefined && isTooWeak(strength) && judgedAll(reported) ? strength : undefined;
}
