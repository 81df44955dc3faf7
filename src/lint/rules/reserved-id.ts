/** A node's id is the name of a folder in the run directory, so some ids are reserved and the length is limited. */
import { basename } from 'node:path';
import { asksPeople } from '../../core/human-gate.ts';
import { layout, reservedNodeIds } from '../../core/records/layout.ts';
import { finding, type Rule } from '../rule.ts';

/** The folder of the answers, in runs of graphs with a human gate. */
const ofAnswers = basename(layout('').answers);

/** Characters: file names have at most 255, and some append text to the id. */
const most = 200;

export const reservedId: Rule = {
  code: 'reserved-id',
  severity: 'error',
  rule: 'No id is a name that the run directory uses, or longer than 200 characters.',
  wrong: 'start; exit; workspace [label=x]; start -> workspace -> exit',
  fix: 'another id',
  check: ({ graph }) =>
    [...graph.nodes.values()].flatMap(({ id, span }) => {
      const isTaken = reservedNodeIds.includes(id) || (id === ofAnswers && asksPeople(graph));
      if (!isTaken && id.length <= most) return [];
      return finding(graph, reservedId, {
        message: isTaken
          ? `a node cannot be called "${id}": the run directory keeps that name for itself`
          : `a node cannot be called "${id.slice(0, 40)}…": a folder is named by it, and it has ${id.length} characters`,
        span,
        fix: isTaken ? `call it something else, such as ${id}_step` : `an id of at most ${most} characters`,
      });
    }),
};
