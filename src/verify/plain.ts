/** Checks that files and folders of the engine are not links: the target has no recorded hash and is missing in copies of
 *  the run. */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { layout, nodeLayout } from '../model/layout.ts';
import { namesIn } from '../system/read.ts';
import type { Findings } from './report.ts';

/** Reports every link that replaces a file or folder of the engine. Nodes may leave links in their folders; links in the
 *  workspace and the history are checked with their contents. */
export function checkPlain(runDir: string, nodes: ReadonlySet<string>, found: Findings): void {
  const { root: _, node, workspace, history, scratch, hidden, ...own } = layout(runDir);
  const open = Object.values(own);
  const look = (path: string): boolean => {
    const is = lstatSync(path, { throwIfNoEntry: false });
    if (is?.isSymbolicLink() === true)
      found.add(
        'changed',
        path.slice(runDir.length + 1),
        'it is a link, and the run has put a file or a folder there',
      );
    return is?.isDirectory() === true;
  };
  for (const id of nodes) {
    const { visits } = nodeLayout(node(id));
    if (look(node(id)) && look(visits)) for (const name of namesIn(visits)) look(join(visits, name));
  }
  for (const path of [history, scratch, hidden]) look(path);
  for (let path = open.pop(); path !== undefined; path = open.pop())
    if (look(path)) open.push(...namesIn(path).map((name) => join(path, name)));
}
