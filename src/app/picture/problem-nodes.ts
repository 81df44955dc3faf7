/** Which nodes have findings. */
import type { Diagnostic, Span } from '../../core/diagnostic.ts';
import type { Graph } from '../../core/graph.ts';
import type { Attributes } from '../../core/settings/types.ts';

/** The ids of the nodes that have an error, themselves or in an edge that leaves them. */
export function problemNodes(graph: Graph, found: readonly Diagnostic[]): ReadonlySet<string> {
  const at = found.flatMap(({ severity, place }) =>
    severity === 'error' && place !== undefined ? [place.span.start.offset] : [],
  );
  const hit = (span: Span, attrs: Attributes): boolean =>
    [span, ...[...attrs.values()].flatMap(({ keySpan, valueSpan }) => [keySpan, valueSpan])].some(
      ({ start, end }) => at.some((offset) => offset >= start.offset && offset < end.offset),
    );
  return new Set([
    ...[...graph.nodes.values()].filter(({ span, attrs }) => hit(span, attrs)).map(({ id }) => id),
    ...graph.edges.filter(({ span, attrs }) => hit(span, attrs)).map(({ from }) => from),
  ]);
}
