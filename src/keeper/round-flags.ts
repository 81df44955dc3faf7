/** The flags of a round's run. */
import type { Manifest } from '../core/records/manifest.ts';
import type { FollowRecord } from './follow-record.ts';
import type { TypedFlags } from './passed-flags.ts';

const typed = (value: string) => ({ value, typed: [value] });

/** The agent and model that the run was started with, unless others are given; always in the repository of the branch. */
export function roundFlags(
  { agent: { flags = {} } }: Manifest,
  given: TypedFlags,
  { source }: Pick<FollowRecord, 'source'>,
): TypedFlags {
  const { agent = '', model = '', effort = '' } = flags;
  const set = Object.entries({ agent, model, effort }).filter(([, value]) => value !== '');
  const own = Object.fromEntries(set.map(([name, value]) => [name, typed(value)])) as TypedFlags;
  return { ...own, ...given, workdir: typed(source) };
}
