/** What a failed execution printed: the lines that say what failed, with their place. One reader for `why`, `show` and the page. */
import { existsSync, lstatSync } from 'node:fs';
import { isAbsolute, join, relative } from 'node:path';
import { failureBlock, placesNear } from '../../core/failure-block.ts';
import { failureLine } from '../../core/failure-excerpt.ts';
import type { FailurePlace } from '../../core/failure-place.ts';
import { layout, nodeLayout } from '../../core/records/layout.ts';
import type { VisitRecord } from '../../core/records/visit.ts';
import { assertNoLinkAbove } from '../../platform/files/inside.ts';
import { readEnds } from '../../platform/files/read.ts';
import type { RunHistory } from '../../run/run-journal.ts';
import { isProduct } from '../changes.ts';
import type { FailureExcerpt } from './failure-card.ts';
import { folderOf } from './folder.ts';
import { outputGiven } from './headline.ts';
import type { Withheld } from './withheld.ts';

/** Bytes of one file that are searched. */
const mostSearched = 2 * 1024 * 1024;

export type FailedOutput = { readonly excerpt: FailureExcerpt; readonly place: FailurePlace | null };

/** Null where nothing was printed, or nothing may be shown yet. Of a node that may see the holdout it is what later nodes are given,
 *  which has no line of it. */
export async function failedOutput(
  run: { readonly dir: string; readonly history: RunHistory; readonly withheld: Withheld },
  visit: VisitRecord,
): Promise<FailedOutput | null> {
  const given = givenOf(run.history, visit);
  const quoted = given === '' ? undefined : failureBlock(given);
  const excerpt = run.withheld(visit.node)
    ? undefined
    : await inFiles(run.dir, visit, quoted?.at == null ? undefined : failureLine(given));
  const block = excerpt ?? (quoted && { ...quoted, of: null, first: null });
  if (block === undefined) return null;
  const { lines, at, of, first } = block;
  const workspace = layout(run.dir).workspace;
  const place = placesNear(block).flatMap((one) => inWorkspace(workspace, one) ?? [])[0];
  return { excerpt: { lines: [...lines], at, of, first }, place: place ?? null };
}

/** What later nodes were given of its output. */
function givenOf({ checkpoint }: RunHistory, { node, context }: VisitRecord): string {
  const own = outputGiven(context.set, node);
  return own !== '' || checkpoint.last_failure?.node !== node ? own : outputGiven(checkpoint.context, node);
}

/** The block in the first file that has the line; without such a line the end of the first one with a text. */
async function inFiles(dir: string, visit: VisitRecord, telling: string | undefined) {
  const folder = await folderOf(dir, visit);
  // A node can put links in its folder, to files that it cannot read itself: none is followed.
  assertNoLinkAbove(dir, relative(dir, join(folder, nodeLayout('').prompt)));
  for (const of of outputNames(visit)) {
    const path = join(folder, of);
    const is = lstatSync(path, { throwIfNoEntry: false });
    if (is?.isFile() !== true || is.size === 0) continue;
    const block = failureBlock((await readEnds(path, mostSearched)) ?? '', telling);
    if (block === undefined) continue;
    // A long file is read without its middle.
    return { ...block, of, first: is.size > mostSearched ? null : block.first };
  }
  return undefined;
}

/** The outputs of the command that failed, then those of others, then the answer. */
function outputNames({ commands, artifacts = {} }: VisitRecord): readonly string[] {
  const failing = commands?.findLast(({ exit_code }) => exit_code !== 0);
  const all = Object.keys(artifacts).filter((name) => /(?:^|\.)(?:stdout|stderr)\.(?:txt|log)$/.test(name));
  const names = [
    ...(failing === undefined ? [] : [failing.stderr, failing.stdout]),
    ...all.sort((a, b) => a.localeCompare(b, 'en', { numeric: true })),
    nodeLayout('').response.slice(1),
  ];
  return [...new Set(names)].filter((name) => !name.includes('/'));
}

/** The place with its path in the workspace; undefined for a file that is not the product's. */
function inWorkspace(workspace: string, { file, line }: FailurePlace): FailurePlace | undefined {
  const path = (isAbsolute(file) ? relative(workspace, file) : file).replace(/^(?:\.\/)+/, '');
  const isOwn =
    line > 0 && !path.split('/').includes('..') && isProduct(path) && !/(?:^|\/)node_modules\//.test(path);
  return isOwn && existsSync(join(workspace, path)) ? { file: path, line } : undefined;
}
