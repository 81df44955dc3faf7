/** The end of a run: success, or failure with `outcome=fail`. */
import { kind } from '../core/contracts/node-kind.ts';
import { emptyReport } from '../core/outcome.ts';
import { plainSuccess } from '../core/possible-outcomes.ts';
import { commonAttributes, exitAttributes } from '../core/settings/node.ts';

export const exit = kind({
  type: 'exit',
  does: 'The run ends here: in success, or with `outcome=fail` in failure.',
  shapes: ['Msquare'],
  ids: ['exit', 'end'],
  executable: false,
  outcomes: () => [plainSuccess],
  attributes: { ...commonAttributes, ...exitAttributes },
  async run() {
    return { ...emptyReport, status: 'success' };
  },
});
