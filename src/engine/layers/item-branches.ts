/** Fan-outs over a list: the branches that begin, one for each item that the list has when the node runs. */
import { fanOutType } from '../../core/graph.ts';
import { forkOverItems } from '../../core/lane-graph.ts';
import { failed } from '../../core/outcome.ts';
import { expansionIn } from '../node-context.ts';
import type { Layer } from './layer.ts';

export const itemBranches: Layer = (next) => async (context) => {
  const executed = await next(context);
  const { run, node, state } = context;
  if (node.type !== fanOutType || executed.outcome.status === 'fail') return executed;
  const expanded = expansionIn(run, state);
  const opens = forkOverItems(run.graph, node, (text) => expanded(text, 'plain'));
  if (opens === undefined) return executed;
  if (!('problem' in opens)) return { ...executed, opens };
  const why = `the branches of "${node.id}" do not begin: ${opens.problem}`;
  // No edge of the node takes it: they are branches.
  return { ...executed, outcome: failed(why, 'config', { broke: true }) };
};
