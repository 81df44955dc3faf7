/** The tool `list`: what is in a folder. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { sightProblem } from '../../../policy/tool-paths.ts';
import { systemWords } from '../../../system/files.ts';
import { bounded } from './bounded.ts';
import { placeToSee, within } from './place.ts';
import { type Desk, did, refused, tool } from './tool.ts';

/** Entries of the longest list. */
const most = 500;

export const list = tool({
  name: 'list',
  description:
    `Lists a folder of the workspace: folders end in "/", files have their size in bytes, links are marked. ` +
    `At most ${most} entries.`,
  args: z.object({
    path: z.string().nullish().describe('relative to the workspace; default the workspace itself'),
    depth: z.int().min(1).max(20).nullish().describe('how many levels; default 1'),
  }),
  action: ({ path }) => ({ action: 'tool_call', detail: `list ${path ?? '.'}` }),
  async run({ path, depth }, desk) {
    const seen = await placeToSee(path ?? '', desk);
    if ('problem' in seen) return refused(seen.problem);
    const shown = seen.path === '' ? '.' : seen.path;
    if (!seen.is.isDirectory()) return refused(`"${shown}" is no folder: use read`);
    const rows: string[] = [];
    let total = 0;
    try {
      for await (const { path: at, entry } of entriesBelow(seen.real, seen.path, desk, depth ?? 1)) {
        total += 1;
        if (rows.length < most) rows.push(await row(at, entry, join(desk.root, at)));
        if (total >= 50 * most) break;
      }
    } catch (error) {
      return refused(`"${shown}": ${systemWords(error)}`);
    }
    if (total === 0) return did(`"${shown}" has nothing in it`);
    const rest =
      total > rows.length
        ? `\n[… ${total - rows.length}${total >= 50 * most ? ' or more' : ''} entries left out: list a folder below …]`
        : '';
    return did(`${shown}: ${total} ${total === 1 ? 'entry' : 'entries'}\n${bounded(rows.join('\n'))}${rest}`);
  },
});

type Kind = { isDirectory(): boolean; isFile(): boolean; isSymbolicLink(): boolean };

async function row(path: string, entry: Kind, place: string): Promise<string> {
  if (entry.isDirectory()) return `${path}/`;
  if (entry.isSymbolicLink()) return `${path} (link)`;
  if (!entry.isFile()) return `${path} (no plain file)`;
  const size = await stat(place).then(
    (is) => is.size,
    () => undefined,
  );
  return size === undefined ? path : `${path} ${size}`;
}

/** Everything below a folder that may be seen, in order of names, at most `depth` levels; links are not followed, but
 *  one may have led to the folder: what may be seen by that name must be in sight where it really is. `skip` leaves
 *  folders of that name out. */
export async function* entriesBelow(
  real: string,
  path: string,
  desk: Pick<Desk, 'root' | 'scope' | 'signal'>,
  depth: number,
  skip: readonly string[] = [],
): AsyncGenerator<{ readonly path: string; readonly real: string; readonly entry: Kind }> {
  const entries = await readdir(real, { withFileTypes: true });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (desk.signal.aborted) return;
    const at = path === '' ? entry.name : `${path}/${entry.name}`;
    const there = join(real, entry.name);
    const names = new Set([at, within(desk.root, there) ?? '']);
    if (skip.includes(entry.name) || [...names].some((name) => sightProblem(name, desk.scope) !== undefined))
      continue;
    yield { path: at, real: there, entry };
    if (entry.isDirectory() && depth > 1) {
      try {
        yield* entriesBelow(there, at, desk, depth - 1, skip);
      } catch {
        // A folder that cannot be opened, or is gone, has nothing to show.
      }
    }
  }
}
