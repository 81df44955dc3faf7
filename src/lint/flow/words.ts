/** Helpers for findings about a graph as a whole. */
import type { Finding } from '../../core/settings/repair.ts';
import type { Move } from './reach.ts';
import { witnessOf } from './witness.ts';

/** A finding that is built only when it is reported: its example run may be long. Undefined if there is none. */
export type Pending = { readonly name: string; readonly make: () => Finding | undefined };

/** At most `most` of the findings; the last one names the others. */
export function limitedFindings(pending: readonly Pending[], most: number): readonly Finding[] {
  const shown: Finding[] = [];
  let looked = 0;
  for (const { make } of pending) {
    if (shown.length === most) break;
    looked++;
    const made = make();
    if (made !== undefined) shown.push(made);
  }
  const rest = pending.slice(looked).map(({ name }) => name);
  const last = shown.pop();
  if (last === undefined) return [];
  const others = rest.length === 0 ? '' : `; the same holds for ${listedNames(rest, 20)}`;
  return [...shown, { ...last, message: `${last.message}${others}` }];
}

/** A finding with an example run; undefined if none is found, since it may be wrong then. */
export function proven(found: Finding, moves: readonly Move[] | undefined): Finding | undefined {
  const witness = moves === undefined ? undefined : witnessOf(moves);
  return witness === undefined ? undefined : { ...found, witness };
}

/** `"a", "b" and "c"`; names beyond `most` are only counted. */
export function listedNames(ids: readonly string[], most = 8): string {
  const all = ids.slice(0, most).map((id) => `"${id}"`);
  if (ids.length > most) all.push(`${ids.length - most} more`);
  const last = all.pop() ?? '';
  return all.length === 0 ? last : `${all.join(', ')} and ${last}`;
}
