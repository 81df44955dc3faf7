/** The tool `write`: a whole file. */
import * as z from 'zod';
import { systemWords, writeFileAtomic } from '../../../system/files.ts';
import { longestFile, placeToWrite, type Target } from './place.ts';
import { did, refused, type ToolResult, tool } from './tool.ts';

export const write = tool({
  name: 'write',
  description: 'Writes a whole text file, a new one or in place of the old one; missing folders are made.',
  args: z.object({ path: z.string().describe('relative to the workspace'), content: z.string() }),
  action: ({ path }) => ({ action: 'file_change', detail: path }),
  async run({ path, content }, desk) {
    const target = await placeToWrite(path, desk);
    return 'problem' in target ? refused(target.problem) : put(target, content);
  },
});

/** Puts a text in a file's place, whole or not at all; an old file's permission bits stay. */
export async function put(target: Target, content: string): Promise<ToolResult> {
  const { path, place, before } = target;
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
  return did(`${path}: written, ${bytes.length} bytes (${was})`, true);
}
