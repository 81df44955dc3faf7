/** The end of a run: success, or failure with `outcome=fail`. */
import { word } from '../model/attribute.ts';
import { saidNothing } from '../model/outcome.ts';
import { commonAttributes, kind } from './kind.ts';

export const exit = kind({
  type: 'exit',
  shapes: ['Msquare'],
  ids: ['exit', 'end'],
  executable: false,
  attributes: { ...commonAttributes, outcome: word('success', 'fail') },
  async run() {
    return { ...saidNothing, status: 'success' };
  },
});
