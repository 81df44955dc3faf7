/** Another id for a node: in its pipeline, and in the file with the pipeline's ways. */
import { readFileSync } from 'node:fs';
import { routesFileOf } from '../app/routes.ts';
import type { Graph } from '../core/graph.ts';
import { nodePlaces } from './node-places.ts';

/** Another text between two offsets. */
export type OffsetEdit = { readonly start: number; readonly end: number; readonly text: string };

/** Why a node cannot have that id. */
export function idProblem(graph: Graph, id: string): string | undefined {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(id))
    return `"${id}" is not a node id: letters, digits and _, and no digit first`;
  if (/^(?:graph|node|edge|digraph|subgraph|strict)$/i.test(id)) return `"${id}" is a keyword`;
  return graph.nodes.has(id) ? `there is a node "${id}" already` : undefined;
}

export const renamed = (graph: Graph, id: string, to: string): readonly OffsetEdit[] =>
  nodePlaces(graph)
    .filter((one) => one.id === id)
    .map(({ start, end }) => ({ start, end, text: to }));

/** The file with the ways of the pipeline, and what changes in it; undefined without one that names the node. */
export function renamedRoutes(
  path: string,
  id: string,
  to: string,
): { readonly file: string; readonly text: string; readonly edits: readonly OffsetEdit[] } | undefined {
  const file = routesFileOf(path);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
  const places = [
    ...[...text.matchAll(/"way"\s*:\s*"([^"]*)"/g)].flatMap(({ 0: whole, 1: way = '', index }) =>
      [...way.matchAll(/\w+/g)]
        .filter(([word]) => word === id)
        .map((found) => index + whole.length - 1 - way.length + found.index),
    ),
    ...[...text.matchAll(/"outcomes"\s*:\s*\{[^}]*\}/g)].flatMap(({ 0: whole, index }) =>
      [...whole.matchAll(/"(\w+)"\s*:/g)]
        .filter(([, key]) => key === id)
        .map((found) => index + found.index + 1),
    ),
  ];
  const edits = places.map((start) => ({ start, end: start + id.length, text: to }));
  return edits.length === 0 ? undefined : { file, text, edits };
}
