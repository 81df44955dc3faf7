/** Attributes of fan-outs and joins: what a join makes of its branches. */
import { own } from '../json.ts';
import { type AttributeTable, type AttributeType, attr, count, flag, list, number, word } from './types.ts';

export const joinPolicies = ['wait_all', 'all_success', 'first_success', 'k_of_n', 'quorum'] as const;

/** A word in any case, or one of those that other implementations have for it. */
function wordInAnyCase<const W extends string>(
  words: readonly W[],
  synonyms: Readonly<Record<string, W>> = {},
): AttributeType<W> {
  const exact = word(...words);
  return {
    ...exact,
    read(value) {
      const text = value.text.trim().toLowerCase();
      return exact.read({ kind: 'string', text: own(synonyms, text) ?? text });
    },
  };
}

/** A part of the whole. */
const fraction = (): AttributeType<number> => {
  const any = number(0);
  return {
    ...any,
    wants: 'a number above 0 and at most 1',
    example: '0.6',
    read(value) {
      const read = any.read(value);
      if (!read.ok || (read.value > 0 && read.value <= 1)) return read;
      return { ok: false, why: read.value > 1 ? 'is more than 1' : 'is not above 0' };
    },
  };
};

/** Branches of one fan-out that run at the same time, unless it says otherwise. */
export const defaultParallel = 4;

export const fanOutAttributes = {
  max_parallel: attr(count(1), 'How many branches run at the same time; the others wait for their turn.', {
    default: String(defaultParallel),
  }),
} as const satisfies AttributeTable;

/** Where the fan-out says nothing, a `parallel.fan_in` that it leads to may. */
export const joinAttributes = {
  join_policy: attr(
    wordInAnyCase(joinPolicies, { any_success: 'first_success' }),
    'When the join succeeds: `wait_all` if a branch did (partly, if not all), `all_success` if all did, `first_success` with the first, `k_of_n` with `k`, `quorum` with quorum_fraction of them; the last three cancel the other branches then.',
    { unset: 'wait_all', example: 'all_success' },
  ),
  k: attr(count(1), 'How many branches must succeed with join_policy=k_of_n.', {
    unset: 'required for k_of_n',
    example: '2',
  }),
  quorum_fraction: attr(fraction(), 'Which part of the branches must succeed with join_policy=quorum.', {
    unset: 'more than half',
  }),
  error_policy: attr(
    wordInAnyCase(['continue', 'fail_fast'], { ignore: 'continue' }),
    '`fail_fast`: the first branch that fails cancels the others, and the join fails; `continue`: a failure cancels none.',
    { unset: 'cancels the others when the join can only fail', example: 'fail_fast' },
  ),
  merge: attr(
    wordInAnyCase(['all', 'none']),
    'Whether the files that the branches have changed come into the workspace.',
    { unset: 'all', example: 'none' },
  ),
  merge_context: attr(
    list(),
    'Context keys that the branches have set and that later nodes find under their own names; of several branches the first counts.',
    { unset: 'none', example: 'plan, score' },
  ),
  branch_summary: attr(
    flag(),
    'Whether the prompt of the first agent after the join ends with how each branch ended.',
    { unset: 'true', example: 'false' },
  ),
} as const satisfies AttributeTable;
