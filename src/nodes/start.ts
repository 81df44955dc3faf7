/** The start of a run. */
import { kind } from '../core/contracts/node-kind.ts';
import { emptyReport } from '../core/outcome.ts';
import { plainSuccess } from '../core/possible-outcomes.ts';
import { commonAttributes } from '../core/settings/node.ts';

export const start = kind({
  type: 'start',
  does: 'The run begins here.',
  shapes: ['Mdiamond'],
  ids: ['start'],
  executable: false,
  outcomes: () => [plainSuccess],
  attributes: commonAttributes,
  async run() {
    return { ...emptyReport, status: 'success' };
  },
});
