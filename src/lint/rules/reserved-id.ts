/** A node's id names a folder in the run directory, so some ids are taken. */
import { reservedNodeIds } from '../../model/layout.ts';
import { finding, type Rule } from '../rule.ts';

export const reservedId: Rule = ({ graph }) =>
  [...graph.nodes.values()]
    .filter(({ id }) => reservedNodeIds.includes(id))
    .map(({ id, span }) =>
      finding(graph, 'reserved-id', 'error', {
        message: `a node cannot be called "${id}": the run directory keeps that name for itself`,
        span,
        fix: `call it something else, such as ${id}_step`,
      }),
    );
