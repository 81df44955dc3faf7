/** The paths that an execution changed in its workspace, as its record has them. */
import { lstatSync } from 'node:fs';
import * as z from 'zod';
import { once } from '../../core/once.ts';
import { jsonOf } from '../../run/runs.ts';
import type { ExecutionView } from './execution-shapes.ts';

const changesSchema = once(() => {
  const paths = z.array(z.string()).catch([]);
  return z.object({ created: paths, modified: paths, deleted: paths });
});

/** Those in the file at `path`; none where it is missing or cannot be read. */
export function changesIn(path: string): ExecutionView['changes'] {
  const isPlain = lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;
  const read = changesSchema().safeParse(isPlain ? jsonOf(path) : undefined);
  return read.data ?? { created: [], modified: [], deleted: [] };
}
