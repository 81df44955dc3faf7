/** The start of a run. */
import { saidNothing } from '../model/outcome.ts';
import { commonAttributes } from '../model/settings/node.ts';
import { kind } from './kind.ts';

export const start = kind({
  type: 'start',
  does: 'The run begins here.',
  shapes: ['Mdiamond'],
  ids: ['start'],
  executable: false,
  attributes: commonAttributes,
  async run() {
    return { ...saidNothing, status: 'success' };
  },
});
