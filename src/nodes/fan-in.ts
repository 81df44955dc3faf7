/** Where branches meet and nothing else happens: what the join makes of them is the outcome. */
import { kind } from '../core/contracts/node-kind.ts';
import { fanInType } from '../core/graph.ts';
import { joinOutcomes } from '../core/join-outcomes.ts';
import { succeeded } from '../core/outcome.ts';
import { joinAttributes } from '../core/settings/join.ts';
import { commonAttributes, executableAttributes } from '../core/settings/node.ts';

export const fanIn = kind({
  type: fanInType,
  does: 'Joins the branches of a fan-out: their files are merged into the workspace.',
  shapes: ['tripleoctagon'],
  ids: [],
  aliases: ['fan_in'],
  executable: false,
  outcomes: (node, graph) => joinOutcomes(graph, node),
  attributes: {
    ...commonAttributes,
    ...joinAttributes,
    allowed_write_paths: {
      ...executableAttributes.allowed_write_paths,
      does: 'What the merge may change in the workspace; else nothing is merged, and the join fails (class `guardrail`).',
    },
  },
  async run(_settings, { inputs: { previous = succeeded() } }) {
    return previous;
  },
});
