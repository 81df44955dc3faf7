/** The tool `patch`: changes in a text file, by texts to be replaced or by a unified diff. */
import * as z from 'zod';
import { applyDiff, applyEdits } from './diff.ts';
import { decoded, placeToWrite } from './place.ts';
import { refused, tool } from './tool.ts';
import { put } from './write.ts';

export const patch = tool({
  name: 'patch',
  description:
    'Changes a text file of the workspace; give either "edits" or "diff". Each edit replaces "find", which must stand in ' +
    'the file exactly once, blanks and indentation included. "diff" is a unified diff of this file with exact context. ' +
    'All of it is done, or nothing.',
  args: z.object({
    path: z.string().describe('relative to the workspace'),
    edits: z.array(z.object({ find: z.string(), replace: z.string() })).nullish(),
    diff: z.string().nullish(),
  }),
  action: ({ path }) => ({ action: 'file_change', detail: path }),
  async run({ path, edits, diff }, desk) {
    const asEdits = edits != null && edits.length > 0;
    const asDiff = diff != null && diff.trim() !== '';
    if (asEdits === asDiff) return refused('give either "edits" or "diff", and one of them');
    const target = await placeToWrite(path, desk);
    if ('problem' in target) return refused(target.problem);
    if (target.before === undefined && asEdits)
      return refused(`there is no "${target.path}" in the workspace: use write`);
    const text = decoded(target.before?.bytes ?? new Uint8Array());
    if (text === undefined)
      return refused(
        `"${target.path}" is a binary file of ${target.before?.bytes.length ?? 0} bytes (or no UTF-8)`,
      );
    const applied = asDiff ? applyDiff(text, diff ?? '') : applyEdits(text, edits ?? []);
    if ('problem' in applied) return refused(`${target.path} is as it was: ${applied.problem}`);
    return put(target, applied.text);
  },
});
