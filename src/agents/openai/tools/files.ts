/** The tools that read and change one file: `read`, `write` and `patchTool`. */
import * as z from 'zod';
import { once } from '../../../core/once.ts';
import { systemWords, writeFileAtomic } from '../../../platform/files/write.ts';
import { decoded, longestFile, placeToSee, placeToWrite, textAt, type WritablePath } from './place.ts';
import { bounded, defineTool, did, refusedCall, type ToolResult } from './tool.ts';

/** Lines that `read` returns by default. */
const usualLines = 500;

const pathArgument = once(() => z.string().describe('relative to the workspace'));

export const readTool = once(() =>
  defineTool({
    name: 'read',
    description:
      'Reads a text file of the workspace. Answers with a line that says which lines follow, then the lines as they are. ' +
      `Without "lines" at most ${usualLines} come.`,
    args: z.object({
      path: pathArgument(),
      from: z.int().min(1).nullish().describe('first line, from 1; default 1'),
      lines: z.int().min(1).nullish().describe(`how many lines; default ${usualLines}`),
    }),
    action: ({ path }) => ({ action: 'tool_call', detail: `read ${path}` }),
    async run({ path, from, lines }, context) {
      const seen = await placeToSee(path, context);
      if ('problem' in seen) return refusedCall(seen.problem);
      const file = await textAt(seen);
      if ('problem' in file) return refusedCall(file.problem);
      const { text, size, whole } = file;
      if (text === '') return did(`"${seen.path}" is empty (0 bytes)`);
      const all = text.replace(/\n$/, '').split('\n');
      const first = from ?? 1;
      if (first > all.length)
        return refusedCall(
          `"${seen.path}" has ${all.length} lines${whole ? '' : ' in what can be read'}, and from is ${first}`,
        );
      const some = all.slice(first - 1, first - 1 + (lines ?? usualLines));
      const last = first - 1 + some.length;
      const rest = last < all.length ? `; continue with from=${last + 1}` : '';
      const cut = whole ? '' : `; only the first ${longestFile} bytes can be read`;
      const head = `${seen.path}: lines ${first}-${last} of ${all.length} (${size} bytes${rest}${cut})`;
      return did(`${head}\n${bounded(some.join('\n'))}`);
    },
  }),
);

export const writeTool = once(() =>
  defineTool({
    name: 'write',
    description: 'Writes a whole text file, a new one or in place of the old one; missing folders are made.',
    args: z.object({ path: pathArgument(), content: z.string() }),
    action: ({ path }) => ({ action: 'file_change', detail: path }),
    async run({ path, content }, context) {
      const target = await placeToWrite(path, context);
      return 'problem' in target ? refusedCall(target.problem) : put(target, content);
    },
  }),
);

export const patchTool = once(() =>
  defineTool({
    name: 'patch',
    description:
      'Changes a text file of the workspace. Each edit replaces "find", which must be in the file exactly once, blanks and ' +
      'indentation included. All edits are made, or none.',
    args: z.object({
      path: pathArgument(),
      edits: z.array(z.object({ find: z.string().min(1), replace: z.string() })).min(1),
    }),
    action: ({ path }) => ({ action: 'file_change', detail: path }),
    async run({ path, edits }, context) {
      const target = await placeToWrite(path, context);
      if ('problem' in target) return refusedCall(target.problem);
      if (target.before === undefined)
        return refusedCall(`there is no "${target.path}" in the workspace: use write`);
      const text = decoded(target.before.bytes);
      if (text === undefined) return refusedCall(`"${target.path}" is a binary file (or no UTF-8)`);
      const applied = applyEdits(text, edits);
      if ('problem' in applied) return refusedCall(`${target.path} is unchanged: ${applied.problem}`);
      return put(target, applied.text);
    },
  }),
);

type Edit = { readonly find: string; readonly replace: string };

/** Replaces texts, one after the other; each must be in the text exactly once. */
function applyEdits(
  text: string,
  edits: readonly Edit[],
): { readonly text: string } | { readonly problem: string } {
  // A file whose lines all end in CR LF is edited as if they ended in LF.
  const isCrLf = text.includes('\r\n') && !/(?<!\r)\n/.test(text);
  const asInFile = (piece: string): string =>
    isCrLf && !piece.includes('\r') ? piece.replaceAll('\n', '\r\n') : piece;
  let edited = text;
  for (const [n, edit] of edits.entries()) {
    const which = `edit ${n + 1} of ${edits.length}`;
    const find = asInFile(edit.find);
    const at = edited.indexOf(find);
    if (at < 0) return { problem: `${which} does not apply: its "find" is nowhere in the file` };
    const again = edited.indexOf(find, at + 1);
    if (again >= 0) {
      const lines = [at, again].map((offset) => edited.slice(0, offset).split('\n').length).join(' and ');
      return {
        problem: `${which} is ambiguous: its "find" is at lines ${lines}; take more of the lines around it`,
      };
    }
    edited = edited.slice(0, at) + asInFile(edit.replace) + edited.slice(at + find.length);
  }
  return { text: edited };
}

/** Replaces a file as a whole or not at all; permission bits stay. */
async function put({ path, place, before }: WritablePath, content: string): Promise<ToolResult> {
  const bytes = Buffer.from(content);
  if (bytes.length > longestFile)
    return refusedCall(
      `the text for "${path}" has ${bytes.length} bytes, more than the ${longestFile} that a tool writes`,
    );
  if (before?.bytes.equals(bytes) === true)
    return did(`${path}: unchanged, it has these ${bytes.length} bytes already`);
  try {
    await writeFileAtomic(place, bytes, { mode: before?.mode ?? 0o644 });
  } catch (error) {
    return refusedCall(`"${path}" cannot be written: ${systemWords(error)}`);
  }
  const was = before === undefined ? 'a new file' : `${before.bytes.length} before`;
  return did(`${path}: written, ${bytes.length} bytes (${was})`);
}
