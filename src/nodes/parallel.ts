/** Begins branches that run side by side: every edge whose condition holds is one. */
import { kind } from '../core/contracts/node-kind.ts';
import { fanOutType } from '../core/graph.ts';
import { succeeded } from '../core/outcome.ts';
import { plainSuccess } from '../core/possible-outcomes.ts';
import { forEachAttributes } from '../core/settings/for-each.ts';
import { fanOutAttributes, joinAttributes } from '../core/settings/join.ts';
import { commonAttributes } from '../core/settings/node.ts';
import { joinCodes, joinFindings } from './join-findings.ts';

export const parallel = kind({
  type: fanOutType,
  does: 'Begins a branch with each edge whose condition holds, or one for each item of a list. The branches run side by side, each in its own workspace, until they meet.',
  shapes: ['component'],
  ids: [],
  executable: false,
  attributes: { ...commonAttributes, ...fanOutAttributes, ...joinAttributes, ...forEachAttributes },
  outcomes: () => [plainSuccess],
  codes: joinCodes,
  check: joinFindings,
  run: async () => succeeded(),
});
