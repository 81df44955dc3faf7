/** Words that the findings about a graph as a whole share. */
import type { Diagnostic } from '../../model/diagnostic.ts';
import type { Graph } from '../../model/graph.ts';
import type { Move } from './flow.ts';
import { witnessOf } from './witness.ts';

/** A finding that is worked out only when it is told: its witness may be long. Undefined where it cannot be shown. */
export type Told = { readonly name: string; readonly tell: () => Diagnostic | undefined };

/** At most `most` of the findings; the last of them names the others. */
export function folded(found: readonly Told[], most: number): readonly Diagnostic[] {
  const shown: Diagnostic[] = [];
  let looked = 0;
  for (const { tell } of found) {
    if (shown.length === most) break;
    looked++;
    const told = tell();
    if (told !== undefined) shown.push(told);
  }
  const rest = found.slice(looked).map(({ name }) => name);
  const last = shown.at(-1);
  if (last === undefined || rest.length === 0) return shown;
  return [
    ...shown.slice(0, -1),
    { ...last, message: `${last.message}; the same holds for ${listed(rest, 20)}` },
  ];
}

/** A finding with the run that shows it, where one is found. */
export function shownBy(found: Diagnostic, graph: Graph, moves: readonly Move[] | undefined): Diagnostic {
  const witness = moves === undefined ? undefined : witnessOf(graph, moves);
  return witness === undefined ? found : { ...found, witness };
}

/** A finding about what a run may do, with such a run; undefined where none is found: it would be an opinion. */
export function provenBy(
  found: Diagnostic,
  graph: Graph,
  moves: readonly Move[] | undefined,
): Diagnostic | undefined {
  const told = shownBy(found, graph, moves);
  return told.witness === undefined ? undefined : told;
}

/** `"a", "b" and "c"`, with a number in place of what would be too many. */
export function listed(ids: readonly string[], most = 8): string {
  const quoted = ids.slice(0, most).map((id) => `"${id}"`);
  const more = ids.length - quoted.length;
  const all = more > 0 ? [...quoted, `${more} more`] : quoted;
  const last = all.pop() ?? '';
  return all.length === 0 ? last : `${all.join(', ')} and ${last}`;
}
