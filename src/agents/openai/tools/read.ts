/** The tool `read`: the lines of a text file. */
import * as z from 'zod';
import { bounded } from './bounded.ts';
import { longestFile, placeToSee, textAt } from './place.ts';
import { did, refused, tool } from './tool.ts';

/** Lines that come unless the model says how many. */
const usualLines = 500;

export const read = tool({
  name: 'read',
  description:
    `Reads a text file of the workspace. Answers with a line that says which lines follow, then the lines as they are. ` +
    `Without "lines" at most ${usualLines} come.`,
  args: z.object({
    path: z.string().describe('relative to the workspace'),
    from: z.int().min(1).nullish().describe('first line, from 1; default 1'),
    lines: z.int().min(1).nullish().describe(`how many lines; default ${usualLines}`),
  }),
  action: ({ path }) => ({ action: 'tool_call', detail: `read ${path}` }),
  async run({ path, from, lines }, desk) {
    const seen = await placeToSee(path, desk);
    if ('problem' in seen) return refused(seen.problem);
    const file = await textAt(seen);
    if ('problem' in file) return refused(file.problem);
    const { text, size, whole } = file;
    if (text === '') return did(`"${seen.path}" is empty (0 bytes)`);
    const all = text.split('\n');
    // What follows the last line end is no line.
    if (all.at(-1) === '') all.pop();
    const first = from ?? 1;
    if (first > all.length)
      return refused(
        `"${seen.path}" has ${all.length} lines${whole ? '' : ' in what can be read'}, and from is ${first}`,
      );
    const some = all.slice(first - 1, first - 1 + (lines ?? usualLines));
    const last = first - 1 + some.length;
    const rest = last < all.length ? `; go on with from=${last + 1}` : '';
    const cut = whole ? '' : `; only the first ${longestFile} bytes can be read`;
    const head = `${seen.path}: lines ${first}-${last} of ${all.length} (${size} bytes${rest}${cut})`;
    return did(`${head}\n${bounded(some.join('\n'))}`);
  },
});
