/** The tools that look through folders: `list` and `search`. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createContext, Script } from 'node:vm';
import * as z from 'zod';
import { once } from '../../../core/once.ts';
import { sightProblem } from '../../../core/policy/tool-paths.ts';
import { systemWords } from '../../../platform/files/write.ts';
import { pathWithin, placeToSee, textAt, type VisiblePath } from './place.ts';
import { bounded, defineTool, did, refusedCall, type ToolContext, wellFormed } from './tool.ts';

/** Entries of the longest list. */
const mostEntries = 500;

export const listTool = once(() =>
  defineTool({
    name: 'list',
    description:
      'Lists a folder of the workspace: folders end in "/", files have their size in bytes, links are marked. ' +
      `At most ${mostEntries} entries.`,
    args: z.object({
      path: z.string().nullish().describe('relative to the workspace; default the workspace itself'),
      depth: z.int().min(1).max(20).nullish().describe('how many levels; default 1'),
    }),
    action: ({ path }) => ({ action: 'tool_call', detail: `list ${path ?? '.'}` }),
    async run({ path, depth }, context) {
      const seen = await placeToSee(path ?? '', context);
      if ('problem' in seen) return refusedCall(seen.problem);
      const shown = seen.path === '' ? '.' : seen.path;
      if (!seen.is.isDirectory()) return refusedCall(`"${shown}" is no folder: use read`);
      const rows: string[] = [];
      let isCut = false;
      for await (const entry of entriesBelow(seen.real, seen.path, context, depth ?? 1)) {
        isCut = rows.length === mostEntries;
        if (isCut) break;
        rows.push(await row(entry));
      }
      if (rows.length === 0) return did(`"${shown}" has nothing in it`);
      const count = `${isCut ? 'the first ' : ''}${rows.length} ${rows.length === 1 ? 'entry' : 'entries'}`;
      const rest = isCut ? '\n[… more entries left out: list a folder below …]' : '';
      return did(`${shown}: ${count}\n${bounded(rows.join('\n'))}${rest}`);
    },
  }),
);

type Entry = {
  /** As the model names it. */
  readonly path: string;
  /** Absolute. */
  readonly real: string;
  readonly kind: { isDirectory(): boolean; isFile(): boolean; isSymbolicLink(): boolean };
};

async function row({ path, real, kind }: Entry): Promise<string> {
  if (kind.isDirectory()) return `${path}/`;
  if (kind.isSymbolicLink()) return `${path} (link)`;
  if (!kind.isFile()) return `${path} (no plain file)`;
  const size = await stat(real).then(
    (is) => ` ${is.size}`,
    () => '',
  );
  return `${path}${size}`;
}

/** Everything below a folder that may be seen, ordered by name, at most `depth` levels. Links are not followed, but one
 *  may have led to the folder: what may be seen by that name must be in sight where it really is. Folders named `skip` are
 *  left out. */
async function* entriesBelow(
  real: string,
  path: string,
  context: Pick<ToolContext, 'root' | 'scope' | 'signal'>,
  depth: number,
  skip?: string,
): AsyncGenerator<Entry> {
  // A folder that cannot be opened, or is gone, has nothing to show.
  const entries = await readdir(real, { withFileTypes: true }).catch(() => []);
  for (const kind of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (context.signal.aborted) return;
    const at = path === '' ? kind.name : `${path}/${kind.name}`;
    const there = join(real, kind.name);
    const names = [at, pathWithin(context.root, there) ?? ''];
    if (kind.name === skip || names.some((name) => sightProblem(name, context.scope) !== undefined)) continue;
    yield { path: at, real: there, kind };
    if (kind.isDirectory() && depth > 1) yield* entriesBelow(there, at, context, depth - 1, skip);
  }
}

/** Limits of one search: lines, files, bytes, characters of a line, milliseconds of matching. */
const most = { hits: 200, files: 20_000, bytes: 256 * 1024 * 1024, line: 300, ms: 5_000 } as const;

export const searchTool = once(() =>
  defineTool({
    name: 'search',
    description:
      'Searches the text files of the workspace, line by line, for a text or (with "regex") a JavaScript regular ' +
      `expression. Answers with "path:line: text", at most ${most.hits} lines. node_modules is left out unless "path" names it.`,
    args: z.object({
      pattern: z.string(),
      path: z.string().nullish().describe('a file or folder, relative to the workspace; default all'),
      regex: z.boolean().nullish().describe('default false: the pattern is a plain text'),
      ignore_case: z.boolean().nullish(),
    }),
    action: ({ pattern }) => ({ action: 'tool_call', detail: `search ${pattern}` }),
    async run({ pattern, path, regex, ignore_case }, context) {
      const matching = matcher(pattern, regex === true, ignore_case === true ? 'i' : '');
      if ('problem' in matching) return refusedCall(matching.problem);
      const seen = await placeToSee(path ?? '', context);
      if ('problem' in seen) return refusedCall(seen.problem);
      const hits: string[] = [];
      const looked = { files: 0, bytes: 0, ms: 0 };
      let short: string | undefined;
      for await (const { path: at, real } of filesOf(seen, context)) {
        const file = await textAt({ path: at, real });
        if ('problem' in file) continue;
        const began = context.clock.monotonic();
        const found = matching.lines(file.text, most.hits + 1 - hits.length, most.ms - looked.ms);
        looked.ms += context.clock.monotonic() - began;
        looked.files += 1;
        looked.bytes += file.text.length;
        hits.push(...(found ?? []).map(({ line, text }) => `${at}:${line}: ${shortLine(text)}`));
        if (found === undefined) short = `the pattern takes too long (in ${at}): make it simpler`;
        else if (hits.length > most.hits) short = `more than ${most.hits} lines match`;
        else if (looked.files >= most.files || looked.bytes >= most.bytes)
          short = `only ${looked.files} files were looked through`;
        if (short !== undefined) break;
      }
      if (hits.length === 0)
        return short === undefined ? did(`nothing found in ${looked.files} text files`) : refusedCall(short);
      const rest = short === undefined ? '' : `\n[… ${short}: narrow the path or the pattern …]`;
      return did(`${hits.slice(0, most.hits).join('\n')}${rest}`);
    },
  }),
);

/** The file itself, or those below the folder. */
async function* filesOf(
  seen: VisiblePath,
  context: ToolContext,
): AsyncGenerator<Pick<VisiblePath, 'path' | 'real'>> {
  if (!seen.is.isDirectory()) yield seen;
  else
    for await (const entry of entriesBelow(seen.real, seen.path, context, 100, 'node_modules'))
      if (entry.kind.isFile()) yield entry;
}

const shortLine = (text: string): string =>
  text.length <= most.line ? text : `${wellFormed(text.slice(0, most.line))}… (${text.length} characters)`;

type Lines = { readonly line: number; readonly text: string }[];

/** Finds the lines (from 1) that match; `lines` is undefined when it takes more than `ms` milliseconds. */
function matcher(
  pattern: string,
  isRegex: boolean,
  flags: string,
): { lines(text: string, limit: number, ms: number): Lines | undefined } | { readonly problem: string } {
  if (pattern === '') return { problem: 'the pattern is empty' };
  let found: RegExp;
  try {
    found = new RegExp(isRegex ? pattern : pattern.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), flags);
  } catch (error) {
    return { problem: `the pattern is no regular expression: ${systemWords(error)}` };
  }
  const world = { work: () => {} };
  const inside = createContext(world);
  return {
    lines(text, limit, ms) {
      const hits: Lines = [];
      world.work = () => {
        for (const [n, line] of text.split('\n').entries()) {
          if (found.test(line)) hits.push({ line: n + 1, text: line.replace(/\r$/, '') });
          if (hits.length >= limit) return;
        }
      };
      try {
        // A model's pattern may never end, and only a context with a timeout can stop one.
        call.runInContext(inside, { timeout: Math.max(1, Math.ceil(ms)) });
        return hits;
      } catch (error) {
        // Made in the other context, it is no `Error` of this one.
        if ((error as { code?: unknown } | null)?.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
        return undefined;
      }
    },
  };
}

const call = new Script('work()');
