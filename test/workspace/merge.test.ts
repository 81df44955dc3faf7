import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { sha256 } from '../../src/core/sha256.ts';
import { conflictKinds, mergeTrees } from '../../src/workspace/merge.ts';
import { type MergeTexts, textMerger } from '../../src/workspace/merge-text.ts';
import type { Entry, Tree } from '../../src/workspace/snapshot.ts';
import { FolderTree } from '../../src/workspace/tree.ts';
import { tempFolder } from './folders.ts';

/** What is at a path: a text, or a text with its permissions, a folder (`/`), a link (`-> x`); a size stands for so many blanks. */
type Is = string | number | readonly [text: string, mode: number];
type Files = Readonly<Record<string, Is>>;

const contents = new Map<string, Buffer>();
const later = 5000;

function keep(bytes: Buffer) {
  const hash = sha256(bytes);
  contents.set(hash, bytes);
  return { hash, size: bytes.length };
}

function entryOf(is: Is): Entry {
  if (is === '/') return { kind: 'dir', mode: 0o755 };
  if (typeof is === 'string' && is.startsWith('-> '))
    return { kind: 'link', mode: 0o777, target: is.slice(3) };
  const [text, mode] =
    typeof is === 'number' ? [' '.repeat(is), 0o644] : typeof is === 'string' ? [is, 0o644] : is;
  return { kind: 'file', mode, ...keep(Buffer.from(text)), mtimeMs: 1000, ctimeMs: 1, ino: 7 };
}

function treeOf(files: Files): Tree {
  const all = new Map(Object.entries(files).map(([path, is]): [string, Entry] => [path, entryOf(is)]));
  for (const path of Object.keys(files))
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1))
      if (!all.has(path.slice(0, at))) all.set(path.slice(0, at), entryOf('/'));
  return FolderTree.from(all);
}

/** What a tree holds, folders only where nothing is in them. */
function filesOf(tree: Tree): Files {
  const found: Record<string, Is> = {};
  const paths = [...tree.keys()];
  for (const [path, { kind, mode, hash, target }] of tree) {
    if (kind === 'dir' && paths.some((one) => one.startsWith(`${path}/`))) continue;
    const text = contents.get(hash ?? '')?.toString('utf8') ?? '';
    found[path] =
      kind === 'dir' ? '/' : kind === 'link' ? `-> ${target}` : mode === 0o644 ? text : [text, mode];
  }
  return found;
}

const noTexts: MergeTexts = async () => undefined;

async function merged(base: Files, sides: readonly Files[], texts: MergeTexts = noTexts) {
  const read = async (hash: string): Promise<Buffer> => contents.get(hash) ?? Buffer.alloc(0);
  const { tree, conflicts, kept } = await mergeTrees(treeOf(base), sides.map(treeOf), {
    read,
    texts,
    keep,
    mtimeMs: later,
  });
  return { files: filesOf(tree), conflicts: Object.fromEntries(conflicts), kept, tree };
}

/** The changes of one path that are compared with one another; each beginning from a file `f` and a folder `d`. */
const base: Files = { f: 'a\nb\nc\n', 'd/in': 'in\n', other: 'o' };
const changes: Readonly<Record<string, Files>> = {
  nothing: base,
  edit: { ...base, f: 'A\nb\nc\n' },
  'other edit': { ...base, f: 'a\nb\nC\n' },
  clash: { ...base, f: 'Z\nb\nc\n' },
  delete: { 'd/in': 'in\n', other: 'o' },
  rename: { g: 'a\nb\nc\n', 'd/in': 'in\n', other: 'o' },
  chmod: { ...base, f: ['a\nb\nc\n', 0o755] },
  'other chmod': { ...base, f: ['a\nb\nc\n', 0o600] },
  link: { ...base, f: '-> other' },
  'other link': { ...base, f: '-> d' },
  folder: { 'f/in': 'x', 'd/in': 'in\n', other: 'o' },
  binary: { ...base, f: 'a\0b' },
  large: { ...base, f: 1024 * 1024 + 1 },
};

/** What two changes of `f` give: a conflict, what the second has made (`=`), or both changes (`+`). */
const pairs: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  [
    'nothing',
    { edit: '=', delete: '=', rename: '=', chmod: '=', link: '=', folder: '=', binary: '=', large: '=' },
  ],
  [
    'edit',
    {
      edit: '=',
      'other edit': '+',
      clash: 'lines',
      delete: 'deleted',
      rename: 'deleted',
      chmod: '+',
      link: 'kind',
      folder: 'kind',
      binary: 'binary',
      large: 'large',
    },
  ],
  [
    'delete',
    {
      delete: '=',
      rename: '=',
      chmod: 'deleted',
      link: 'deleted',
      folder: 'deleted',
      binary: 'deleted',
      large: 'deleted',
    },
  ],
  [
    'rename',
    {
      rename: '=',
      chmod: 'deleted',
      link: 'deleted',
      folder: 'deleted',
      binary: 'deleted',
      large: 'deleted',
    },
  ],
  ['chmod', { chmod: '=', 'other chmod': 'mode', link: 'kind', folder: 'kind', binary: '+', large: '+' }],
  ['link', { link: '=', 'other link': 'link', folder: 'kind', binary: 'kind', large: 'kind' }],
  ['folder', { folder: '=', binary: 'kind', large: 'kind' }],
  ['binary', { binary: '=', large: 'large' }],
  ['large', { large: '=' }],
];
const together: Readonly<Record<string, Is>> = {
  'edit, other edit': 'A\nb\nC\n',
  'edit, chmod': ['A\nb\nc\n', 0o755],
  'chmod, binary': ['a\0b', 0o755],
  'chmod, large': [' '.repeat(1024 * 1024 + 1), 0o755],
};

const rows = pairs.flatMap(([one, others]) =>
  Object.entries(others).map(([other, gives]) => [one, other, gives] as const),
);

test.for(rows)('one side of a file has %s, the other %s: %s', async ([one, other, gives]) => {
  await using it = tempFolder();
  const texts = textMerger(it.path, process.env);
  const [a, b] = [changes[one] ?? {}, changes[other] ?? {}];
  const both = { ...base, f: together[`${one}, ${other}`] ?? '' };
  const wanted = filesOf(treeOf(gives === '+' ? both : b));
  for (const sides of [
    [a, b],
    [b, a],
  ]) {
    const { files, conflicts } = await merged(base, sides, texts);
    if (gives in conflictKinds) expect(conflicts).toEqual({ f: gives });
    else expect([conflicts, files]).toEqual([{}, wanted]);
  }
});

test('what only one side changes is taken, whatever the others change elsewhere', async () => {
  const { files, conflicts } = await merged({ a: '1', 'd/x': '1', 'd/y': '1' }, [
    { a: '2', 'd/x': '1', 'd/y': '1', 'new/empty': '/' },
    { a: '1', 'd/y': '1', z: '-> a' },
    { a: '1', 'd/x': '1', 'd/y': ['1', 0o755] },
  ]);
  expect(conflicts).toEqual({});
  expect(files).toEqual({ a: '2', 'd/y': ['1', 0o755], 'new/empty': '/', z: '-> a' });
});

const folderRows: readonly (readonly [
  string,
  Files,
  readonly Files[],
  Files | Readonly<Record<string, string>>,
  boolean,
])[] = [
  [
    'a folder that one deletes stays where another adds to it',
    { 'd/a': '1' },
    [{}, { 'd/a': '1', 'd/b': '2' }],
    { 'd/b': '2' },
    true,
  ],
  [
    'a folder that one deletes and another edits is a conflict',
    { 'd/a': '1' },
    [{}, { 'd/a': '2' }],
    { 'd/a': 'deleted' },
    false,
  ],
  [
    'an empty folder that one deletes is gone',
    { d: '/', a: '1' },
    [{ a: '1' }, { d: '/', a: '2' }],
    { a: '2' },
    true,
  ],
  [
    'a file in the place of a folder that another adds to is a conflict',
    { 'd/a': '1' },
    [{ d: 'file' }, { 'd/a': '1', 'd/b': '2' }],
    { d: 'kind' },
    false,
  ],
  [
    'a folder and a file of the same new name are a conflict',
    {},
    [{ n: 'file' }, { 'n/a': '1' }],
    { n: 'kind' },
    false,
  ],
  [
    'two new files of one name with other contents are a conflict',
    {},
    [{ n: '1\n' }, { n: '2\n' }],
    { n: 'lines' },
    false,
  ],
  ['two new files of one name that are alike are one', {}, [{ n: '1' }, { n: '1' }], { n: '1' }, true],
  [
    'files that two put into a new folder are both in it',
    {},
    [{ 'n/a': '1' }, { 'n/b': '2' }],
    { 'n/a': '1', 'n/b': '2' },
    true,
  ],
  [
    'a third side is merged with what the first two gave',
    { f: '1\n2\n3\n4\n5\n' },
    [{ f: 'a\n2\n3\n4\n5\n' }, { f: '1\n2\nb\n4\n5\n' }, { f: '1\n2\n3\n4\nc\n' }],
    { f: 'a\n2\nb\n4\nc\n' },
    true,
  ],
];

test.for(folderRows)('%s', async ([, before, sides, gives, isMerged]) => {
  await using it = tempFolder();
  const found = await merged(before, sides, textMerger(it.path, process.env));
  if (isMerged) expect([found.files, found.conflicts]).toEqual([gives, {}]);
  else expect(found.conflicts).toEqual(gives);
});

const tag = 'Signature: 8a477f597d28d172789f06886806bc55\n';
const cacheRows: readonly (readonly [string, Files, readonly [Files, Files], readonly string[]])[] = [
  [
    'what the list at the top ignores',
    { '.gitignore': 'out/\n*.log\n' },
    [
      { '.gitignore': 'out/\n*.log\n', 'out/x': '1', 'a.log': '1' },
      { '.gitignore': 'out/\n*.log\n', 'out/x': '2', 'a.log': '2' },
    ],
    ['a.log', 'out/x'],
  ],
  [
    'what a list in a folder ignores',
    { 'p/.gitignore': '/tmp\n' },
    [
      { 'p/.gitignore': '/tmp\n', 'p/tmp': '1' },
      { 'p/.gitignore': '/tmp\n', 'p/tmp': '2' },
    ],
    ['p/tmp'],
  ],
  [
    'a folder that ignores itself',
    {},
    [
      { '.pytest_cache/.gitignore': '*\n', '.pytest_cache/v': '1' },
      { '.pytest_cache/.gitignore': '*\n', '.pytest_cache/v': '2' },
    ],
    ['.pytest_cache/v'],
  ],
  [
    'what one side has begun to ignore',
    {},
    [{ '.gitignore': 'dist\n', 'dist/a': '1' }, { 'dist/a': '2' }],
    ['dist/a'],
  ],
  [
    'what Python has compiled',
    { 'a.py': 'x' },
    [
      { 'a.py': 'x', '__pycache__/a.pyc': '1' },
      { 'a.py': 'x', '__pycache__/a.pyc': '2' },
    ],
    ['__pycache__/a.pyc'],
  ],
  [
    'a tagged cache',
    {},
    [
      { 'c/CACHEDIR.TAG': tag, 'c/x': '1' },
      { 'c/CACHEDIR.TAG': tag, 'c/x': '2' },
    ],
    ['c/x'],
  ],
  [
    'a cache that one side has removed',
    { '.gitignore': 'c\n', 'c/x': '1' },
    [{ '.gitignore': 'c\n' }, { '.gitignore': 'c\n', 'c/x': '2' }],
    ['c/x'],
  ],
];

test.for(cacheRows)(
  '%s is no conflict: the version of the first side stays',
  async ([, before, sides, paths]) => {
    const { files, conflicts, kept } = await merged(before, sides);
    expect([conflicts, kept]).toEqual([{}, paths]);
    for (const path of paths) expect(files[path]).toEqual(sides[0][path]);
  },
);

const noCacheRows: readonly (readonly [string, Files, readonly [Files, Files]])[] = [
  [
    'a list that takes a file back',
    { '.gitignore': '*.log\n!a.log\n' },
    [
      { '.gitignore': '*.log\n!a.log\n', 'a.log': '1' },
      { '.gitignore': '*.log\n!a.log\n', 'a.log': '2' },
    ],
  ],
  [
    'a list that one side adds for a file that was there before',
    { 'a.log': '0' },
    [{ '.gitignore': '*\n', 'a.log': '1' }, { 'a.log': '2' }],
  ],
  [
    'a folder whose tag has no signature',
    {},
    [
      { 'c/CACHEDIR.TAG': 'x', 'a.log': '1' },
      { 'c/CACHEDIR.TAG': 'x', 'a.log': '2' },
    ],
  ],
  [
    'a file called __pycache__',
    {},
    [
      { 'a.log': '1', __pycache__: '1' },
      { 'a.log': '2', __pycache__: '1' },
    ],
  ],
];

test.for(noCacheRows)('%s makes no cache', async ([, before, sides]) => {
  expect(Object.keys((await merged(before, sides)).conflicts)).toEqual(['a.log']);
});

test('what no side changes keeps its facts, what one changes gets the time of the merge, a cache that of its branch', async () => {
  const before = { same: 's', 'd/same': 's', edited: '1', '.gitignore': 'c\n' };
  const { tree } = await merged(before, [{ ...before, edited: '2', 'd/new': 'n', c: 'x' }, before]);
  const facts = [...tree].map(([path, { mtimeMs, ino }]) => [path, mtimeMs, ino]);
  expect(facts).toEqual([
    ['.gitignore', 1000, 7],
    ['c', 1000, undefined],
    ['d', undefined, undefined],
    ['d/new', later, undefined],
    ['d/same', 1000, 7],
    ['edited', later, undefined],
    ['same', 1000, 7],
  ]);
});

test('a merge of many unchanged files reads none of them', async () => {
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`d${n % 100}/f${n}`, `${n}`]));
  const asked: string[] = [];
  const sides = [
    { ...many, 'd1/new': 'a' },
    { ...many, 'd2/new': 'b' },
  ].map(treeOf);
  const { tree, conflicts } = await mergeTrees(treeOf(many), sides, {
    read: async (hash) => {
      asked.push(hash);
      return Buffer.alloc(0);
    },
    texts: noTexts,
    keep,
    mtimeMs: later,
  });
  expect([asked, conflicts.size, tree.size]).toEqual([[], 0, 10_000 + 100 + 2]);
});

/** Files of few names in few folders, so that they meet. */
const someFiles = fc.dictionary(
  fc.constantFrom('a', 'b', 'd/a', 'd/b', 'd/e/a'),
  fc.constantFrom('1\n', '2\n', '1\n2\n', '\0'),
  { maxKeys: 5 },
);

test('disjoint changes give the same in any order, and none is lost', async () => {
  await fc.assert(
    fc.asyncProperty(someFiles, someFiles, someFiles, async (one, two, three) => {
      const own = (files: Files, name: string): Files =>
        Object.fromEntries(Object.entries(files).map(([path, is]) => [`${path}.${name}`, is]));
      const before = { ...own(one, 'x'), ...own(two, 'y') };
      const sides = [
        { ...own(three, 'x'), ...own(two, 'y') },
        { ...own(one, 'x'), ...own(one, 'y') },
        { ...before, ...own(three, 'z') },
      ];
      const wanted = filesOf(treeOf({ ...own(three, 'x'), ...own(one, 'y'), ...own(three, 'z') }));
      for (const order of [
        [0, 1, 2],
        [2, 1, 0],
        [1, 2, 0],
      ]) {
        const found = await merged(
          before,
          order.map((at) => sides[at] ?? {}),
        );
        expect([found.conflicts, found.files]).toEqual([{}, wanted]);
      }
    }),
    { numRuns: 60 },
  );
});

test('every change of a side is in the merge, among its conflicts or among the caches of the first', async () => {
  await fc.assert(
    fc.asyncProperty(
      someFiles,
      fc.array(someFiles, { minLength: 1, maxLength: 3 }),
      async (before, sides) => {
        const valid = [before, ...sides].every((files) => !('d' in files));
        fc.pre(valid);
        const { files, conflicts } = await merged(before, sides);
        for (const side of sides)
          for (const path of new Set([...Object.keys(before), ...Object.keys(side)])) {
            if (side[path] === before[path] || path in conflicts) continue;
            expect(files[path]).toEqual(side[path]);
          }
      },
    ),
    { numRuns: 200 },
  );
});

const lines = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 7 });
const someText = fc
  .tuple(lines, fc.boolean())
  .map(([all, ends]) => all.join('\n') + (ends && all.length > 0 ? '\n' : ''));

test('texts are merged as git merge does it, with and without a final line end', async () => {
  await using it = tempFolder();
  const folder = join(it.path, 'texts');
  mkdirSync(folder);
  const texts = textMerger(folder, process.env);
  await fc.assert(
    fc.asyncProperty(someText, someText, someText, async (base, ours, theirs) => {
      fc.pre(new Set([base, ours, theirs]).size === 3);
      const found = await merged({ f: base }, [{ f: ours }, { f: theirs }], texts);
      const wanted = mergedByGit({ base, ours, theirs });
      expect([found.conflicts, found.files['f']]).toEqual(
        wanted === undefined ? [{ f: 'lines' }, ours] : [{}, wanted],
      );
    }),
    { numRuns: 15 },
  );
});

/** What `git merge` makes of a file in a repository; undefined for a conflict. */
function mergedByGit({ base, ours, theirs }: Record<'base' | 'ours' | 'theirs', string>): string | undefined {
  const cwd = mkdtempSync(join(tmpdir(), 'factory-git-merge-'));
  const git = (...args: string[]) =>
    execFileSync(
      'git',
      ['-c', 'user.name=f', '-c', 'user.email=f@f', '-c', 'commit.gpgSign=false', ...args],
      { cwd, stdio: 'pipe' },
    );
  const commit = (text: string) => {
    writeFileSync(join(cwd, 'f'), text);
    git('add', 'f');
    git('commit', '-q', '--allow-empty', '-m', 'f');
  };
  git('init', '-q', '-b', 'ours');
  commit(base);
  git('checkout', '-q', '-b', 'theirs');
  commit(theirs);
  git('checkout', '-q', 'ours');
  commit(ours);
  try {
    git('merge', '-q', '-s', 'ort', '-X', 'diff-algorithm=myers', '-m', 'm', 'theirs');
  } catch {
    return undefined;
  }
  return readFileSync(join(cwd, 'f'), 'utf8');
}
