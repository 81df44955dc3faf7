/** A branch: passes the previous outcome through, so that its edges decide. */
import { kind } from '../core/contracts/node-kind.ts';
import { emptyReport, succeeded } from '../core/outcome.ts';
import { commonAttributes } from '../core/settings/node.ts';

export const conditional = kind({
  type: 'conditional',
  does: 'Passes on the outcome of the node before it, so that its edges branch on that.',
  shapes: ['diamond'],
  ids: [],
  executable: false,
  attributes: commonAttributes,
  async run(_attributes, context) {
    const previous = context.inputs.previous;
    // Context updates of the earlier node are merged already; only its status and its label pass through.
    if (previous === undefined) return succeeded();
    const { by: _, denied: __, ...verdict } = previous;
    return { ...verdict, updates: emptyReport.updates, notes: '' };
  },
});
