/** The contents of a folder, for finding changes. */
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/** path → `{ kind, content, mode }` of everything below `root` except git's folders; folders only if empty. */
export function treeOf(root, below = '', found = new Map()) {
  const entries = readdirSync(join(root, below), { withFileTypes: true });
  if (entries.length === 0 && below !== '') found.set(below, { kind: 'folder', content: '', mode: 0 });
  for (const entry of entries) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.name === '.git') continue;
    if (entry.isDirectory()) treeOf(root, path, found);
    else found.set(path, leaf(join(root, path)));
  }
  return found;
}

function leaf(path) {
  const there = lstatSync(path);
  if (there.isSymbolicLink()) return { kind: 'link', content: readlinkSync(path), mode: 0 };
  if (!there.isFile()) return { kind: 'special', content: '', mode: 0 };
  return { kind: 'file', content: readFileSync(path, 'latin1'), mode: there.mode & 0o7777 };
}

/** path → current entry (undefined: none) for each path whose kind, content or, unless `but.modes` is false, mode
 *  changed. */
export function changesBetween(before, after, but = { modes: true }) {
  const changed = new Map();
  for (const path of new Set([...before.keys(), ...after.keys()])) {
    const [a, b] = [before.get(path), after.get(path)];
    const equal =
      a?.kind === b?.kind && a?.content === b?.content && (but.modes === false || a?.mode === b?.mode);
    if (!equal) changed.set(path, b);
  }
  return changed;
}
