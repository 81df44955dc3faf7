/** The tool `search`: lines of text files that have a pattern in them. */
import * as z from 'zod';
import { systemWords } from '../../../system/files.ts';
import { shortLine } from './bounded.ts';
import { entriesBelow } from './list.ts';
import { matcher } from './matcher.ts';
import { placeToSee, textAt } from './place.ts';
import { did, refused, tool } from './tool.ts';

/** Limits of one search. */
const mostHits = 200;
const mostFiles = 20_000;
const mostBytes = 256 * 1024 * 1024;
const longestLine = 300;

/** Folders full of other people's text, looked through only when the path leads into them. */
const skipped = ['node_modules'];

export const search = tool({
  name: 'search',
  description:
    `Searches the text files of the workspace, line by line, for a text or (with "regex") a JavaScript regular ` +
    `expression. Answers with "path:line: text", at most ${mostHits} lines. node_modules is left out unless "path" names it.`,
  args: z.object({
    pattern: z.string(),
    path: z.string().nullish().describe('a file or folder, relative to the workspace; default all'),
    regex: z.boolean().nullish().describe('default false: the pattern is a plain text'),
    ignore_case: z.boolean().nullish(),
  }),
  action: ({ pattern }) => ({ action: 'tool_call', detail: `search ${pattern}` }),
  async run({ pattern, path, regex, ignore_case }, desk) {
    const how = { regex: regex === true, ignoreCase: ignore_case === true };
    const match = matcher(pattern, how, () => desk.clock.monotonic());
    if ('problem' in match) return refused(match.problem);
    const seen = await placeToSee(path ?? '', desk);
    if ('problem' in seen) return refused(seen.problem);
    const hits: string[] = [];
    let files = 0;
    let bytes = 0;
    let short: string | undefined;
    /** False when there is no more to be looked for. */
    const look = async (at: string, real: string): Promise<boolean> => {
      const file = await textAt({ path: at, real });
      if ('problem' in file) return true;
      files += 1;
      bytes += Math.min(file.size, file.text.length);
      const found = match(file.text, mostHits + 1 - hits.length);
      if (found === undefined) {
        short = `the pattern takes too long (in ${at}): make it simpler`;
        return false;
      }
      for (const { line, text } of found) hits.push(`${at}:${line}: ${shortLine(text, longestLine)}`);
      if (hits.length > mostHits) short = `more than ${mostHits} lines match`;
      else if (files >= mostFiles || bytes >= mostBytes) short = `only ${files} files were looked through`;
      return short === undefined;
    };
    try {
      if (!seen.is.isDirectory()) {
        const file = await textAt(seen);
        if ('problem' in file) return refused(file.problem);
        await look(seen.path, seen.real);
      } else {
        for await (const { path: at, real, entry } of entriesBelow(seen.real, seen.path, desk, 100, skipped))
          if (entry.isFile() && !(await look(at, real))) break;
      }
    } catch (error) {
      return refused(`"${seen.path === '' ? '.' : seen.path}": ${systemWords(error)}`);
    }
    const rest = short === undefined ? '' : `\n[… ${short}: narrow the path or the pattern …]`;
    if (hits.length === 0)
      return short === undefined ? did(`nothing found in ${files} text files`) : refused(short);
    return did(`${hits.slice(0, mostHits).join('\n')}${rest}`);
  },
});
