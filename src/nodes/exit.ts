/** The end of a run: success, or failure with `outcome=fail`. */
import { saidNothing } from '../model/outcome.ts';
import { commonAttributes, exitAttributes } from '../model/settings/node.ts';
import { kind } from './kind.ts';

export const exit = kind({
  type: 'exit',
  does: 'The run ends here: in success, or with `outcome=fail` in failure.',
  shapes: ['Msquare'],
  ids: ['exit', 'end'],
  executable: false,
  attributes: { ...commonAttributes, ...exitAttributes },
  async run() {
    return { ...saidNothing, status: 'success' };
  },
});
