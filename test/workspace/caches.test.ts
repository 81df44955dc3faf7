import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { CachePaths } from '../../src/workspace/caches.ts';
import { openSnapshots } from '../../src/workspace/snapshots.ts';
import type { FolderTree } from '../../src/workspace/tree.ts';
import { make, tempFolder, type Wanted } from './folders.ts';

const patterns = [
  'a',
  'b/',
  '/a',
  'd/a',
  '*',
  '!a',
  '!b/',
  '*.x',
  '!c.x',
  'd/*',
  '**/b',
  '/d/',
  '# a',
  '',
  'd/**/a',
  '[ab]',
];
const list = fc.array(fc.constantFrom(...patterns), { maxLength: 4 }).map((all) => all.join('\n'));
const paths = ['a', 'b', 'c.x', 'd/a', 'd/b', 'd/c.x', 'd/e/a', 'd/e/b', 'e/d/a', 'e/b/c.x'];

test('paths are ignored as git ignores them, by the lists of all folders', async () => {
  await fc.assert(
    fc.asyncProperty(list, list, list, async (top, inner, deep) => {
      await using it = tempFolder();
      const ws = join(it.path, 'ws');
      const lists: Wanted = { '.gitignore': top, 'd/.gitignore': inner, 'd/e/.gitignore': deep };
      make(ws, { ...Object.fromEntries(paths.map((path) => [path, ''])), ...lists });
      const snapshots = await openSnapshots({ workspace: ws, dir: join(it.path, 'snaps') });
      const { tree } = await snapshots.take();
      execFileSync('git', ['init', '-q'], { cwd: ws });
      const asked = ['-c', 'core.excludesFile=/dev/null', 'check-ignore', '--no-index', '--stdin'];
      const run = { cwd: ws, input: paths.join('\n'), stdio: 'pipe' } as const;
      let ignored = '';
      try {
        ignored = execFileSync('git', asked, run).toString();
      } catch {
        // It answers 1 where none is.
      }
      const caches = new CachePaths((hash) => snapshots.read(hash));
      const found: string[] = [];
      for (const path of paths) if (await caches.has(tree as FolderTree, path, false)) found.push(path);
      expect(found).toEqual(ignored.split('\n').filter((path) => path !== ''));
    }),
    { numRuns: 40 },
  );
});
