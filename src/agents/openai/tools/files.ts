/** The tools that read and change one file: `read`, `write` and `patch`. */
import * as z from 'zod';
import { systemWords, writeFileAtomic } from '../../../system/files.ts';
import { applyDiff, applyEdits } from './diff.ts';
import { decoded, longestFile, placeToSee, placeToWrite, type Target, textAt } from './place.ts';
import { bounded, did, refused, type ToolResult, tool } from './tool.ts';

/** Lines that `read` returns by default. */
const usualLines = 500;

const pathArgument = z.string().describe('relative to the workspace');

export const read = tool({
  name: 'read',
  description:
    'Reads a text file of the workspace. Answers with a line that says which lines follow, then the lines as they are. ' +
    `Without "lines" at most ${usualLines} come.`,
  args: z.object({
    path: pathArgument,
    from: z.int().min(1).nullish().describe('first line, from 1; default 1'),
    lines: z.int().min(1).nullish().describe(`how many lines; default ${usualLines}`),
  }),
  action: ({ path }) => ({ action: 'tool_call', detail: `read ${path}` }),
  async run({ path, from, lines }, context) {
    const seen = await placeToSee(path, context);
    if ('problem' in seen) return refused(seen.problem);
    const file = await textAt(seen);
    if ('problem' in file) return refused(file.problem);
    const { text, size, whole } = file;
    if (text === '') return did(`"${seen.path}" is empty (0 bytes)`);
    const all = text.replace(/\n$/, '').split('\n');
    const first = from ?? 1;
    if (first > all.length)
      return refused(
        `"${seen.path}" has ${all.length} lines${whole ? '' : ' in what can be read'}, and from is ${first}`,
      );
    const some = all.slice(first - 1, first - 1 + (lines ?? usualLines));
    const last = first - 1 + some.length;
    const rest = last < all.length ? `; continue with from=${last + 1}` : '';
    const cut = whole ? '' : `; only the first ${longestFile} bytes can be read`;
    const head = `${seen.path}: lines ${first}-${last} of ${all.length} (${size} bytes${rest}${cut})`;
    return did(`${head}\n${bounded(some.join('\n'))}`);
  },
});

export const write = tool({
  name: 'write',
  description: 'Writes a whole text file, a new one or in place of the old one; missing folders are made.',
  args: z.object({ path: pathArgument, content: z.string() }),
  action: ({ path }) => ({ action: 'file_change', detail: path }),
  async run({ path, content }, context) {
    const target = await placeToWrite(path, context);
    return 'problem' in target ? refused(target.problem) : put(target, content);
  },
});

export const patch = tool({
  name: 'patch',
  description:
    'Changes a text file of the workspace; give either "edits" or "diff". Each edit replaces "find", which must be in ' +
    'the file exactly once, blanks and indentation included. "diff" is a unified diff of this file with exact context. ' +
    'All of it is done, or nothing.',
  args: z.object({
    path: pathArgument,
    edits: z.array(z.object({ find: z.string(), replace: z.string() })).nullish(),
    diff: z.string().nullish(),
  }),
  action: ({ path }) => ({ action: 'file_change', detail: path }),
  async run({ path, edits, diff }, context) {
    const asEdits = edits != null && edits.length > 0;
    const asDiff = diff != null && diff.trim() !== '';
    if (asEdits === asDiff) return refused('give either "edits" or "diff", and one of them');
    const target = await placeToWrite(path, context);
    if ('problem' in target) return refused(target.problem);
    if (target.before === undefined && asEdits)
      return refused(`there is no "${target.path}" in the workspace: use write`);
    const text = decoded(target.before?.bytes ?? new Uint8Array());
    if (text === undefined) return refused(`"${target.path}" is a binary file (or no UTF-8)`);
    const applied = asDiff ? applyDiff(text, diff) : applyEdits(text, edits ?? []);
    if ('problem' in applied) return refused(`${target.path} is unchanged: ${applied.problem}`);
    return put(target, applied.text);
  },
});

/** Replaces a file as a whole or not at all; permission bits stay. */
async function put({ path, place, before }: Target, content: string): Promise<ToolResult> {
  const bytes = Buffer.from(content);
  if (bytes.length > longestFile)
    return refused(
      `the text for "${path}" has ${bytes.length} bytes, more than the ${longestFile} that a tool writes`,
    );
  if (before?.bytes.equals(bytes) === true)
    return did(`${path}: unchanged, it has these ${bytes.length} bytes already`);
  try {
    await writeFileAtomic(place, bytes, { mode: before?.mode ?? 0o644 });
  } catch (error) {
    return refused(`"${path}" cannot be written: ${systemWords(error)}`);
  }
  const was = before === undefined ? 'a new file' : `${before.bytes.length} before`;
  return did(`${path}: written, ${bytes.length} bytes (${was})`);
}
