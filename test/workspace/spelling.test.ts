/** File systems that take names for one which differ in case alone, as a Mac's: what is named is found by any spelling, and
 *  stays under the one that it is listed by. */
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { applyProposal } from '../../src/builder/apply.ts';
import { emptySha256 } from '../../src/core/orders/proposal.ts';
import { holdoutPaths } from '../../src/core/policy/holdout-paths.ts';
import { sightProblem } from '../../src/core/policy/tool-paths.ts';
import { folded } from '../../src/core/records/names.ts';
import { asListed } from '../../src/platform/files/names.ts';
import { openSnapshots } from '../../src/workspace/snapshots.ts';
import { diskIn } from './disks.ts';
import { make, tempFolder, type Wanted } from './folders.ts';

/** A workspace on such a disk; undefined where none can be made. */
function caseless(wanted: Wanted) {
  const it = tempFolder();
  const disk = diskIn(it.path, 'exFAT');
  const ws = join(it.path, 'disk', 'ws');
  if (disk !== undefined) make(join(it.path, 'disk'), { ws: {} });
  if (disk !== undefined) make(ws, wanted);
  return {
    ...it,
    ws,
    isThere: disk !== undefined,
    snapshots: () => openSnapshots({ workspace: ws, dir: join(it.path, 'snaps') }),
    [Symbol.asyncDispose]: async () => {
      disk?.[Symbol.dispose]();
      await it[Symbol.asyncDispose]();
    },
  };
}

test.for([
  ['docs/README.md', 'docs/Readme.md'],
  ['Docs/new.md', 'docs/new.md'],
])(
  'a proposal names %s by its listed name, so that a commit has it once',
  async ([path = '', listed], context) => {
    await using it = caseless({ 'docs/Readme.md': 'r' });
    if (!it.isThere) return context.skip('no such disk can be made here');
    const write = { path, base_sha256: '', content: 'new' };
    const { failure } = await applyProposal(
      it.ws,
      { allowed_files: [path] },
      { summary: '', writes: [write] },
    );
    expect(failure).toMatchObject({
      stage: 'write_scope_violation',
      reason: expect.stringContaining(`${path} already exists as ${listed} on this file system`),
    });
    expect(readdirSync(join(it.ws, 'docs'))).toEqual(['Readme.md']);
    expect(readFileSync(join(it.ws, 'docs/Readme.md'), 'utf8')).toBe('r');
  },
);

const writesOf = (...paths: readonly string[]) => ({
  summary: '',
  writes: paths.map((path) => ({ path, base_sha256: emptySha256, content: path })),
});

const oneToIt = [
  ['a.txt', 'A.txt'],
  ['d/x', 'D/y'],
  ['a', 'A/b'],
  ['n/a', 'N/A'],
];

test.for(oneToIt)('%s and %s of a proposal are one: neither is written', async (paths, context) => {
  await using it = caseless({ n: {} });
  if (!it.isThere) return context.skip('no such disk can be made here');
  const { failure } = await applyProposal(it.ws, { allowed_files: paths }, writesOf(...paths));
  expect(failure).toMatchObject({
    stage: 'write_scope_violation',
    reason: expect.stringContaining(' already exists as '),
  });
  expect(failure?.reason).toMatch('on this file system, from another write');
  expect([readdirSync(it.ws), readdirSync(join(it.ws, 'n'))]).toEqual([['n'], []]);
});

test('where case counts, a proposal may write what differs in it alone, and in what is forbidden', async () => {
  await using it = tempFolder();
  const paths = ['a.txt', 'A.txt', 'd/x', 'D/y', 'makefile', 'caf\u00e9', 'cafe\u0301'];
  const order = { allowed_files: paths, forbidden: ['Makefile', 'CAF\u00c9'] };
  expect(await applyProposal(it.path, order, writesOf(...paths))).toEqual({ touched: [...paths].sort() });
  for (const path of paths) expect(readFileSync(join(it.path, path), 'utf8')).toBe(path);
});

test('a sealed path has the name that the workdir lists', async (context) => {
  await using it = caseless({ 'Scripts/Scenarios/a.sh': 'a' });
  if (!it.isThere) return context.skip('no such disk can be made here');
  const listed = (path: string) => asListed(it.ws, path);
  expect(holdoutPaths(['scripts/scenarios/', 'scripts/scenarios/A.sh', 'SCRIPTS/new'], listed)).toEqual({
    paths: ['Scripts/Scenarios', 'Scripts/new'],
  });
  rmSync(join(it.ws, 'Scripts'), { recursive: true });
  expect(listed('scripts/scenarios')).toBe('scripts/scenarios');
});

test.for([
  ['caf\u00e9', 'cafe\u0301'],
  ['CAFE\u0301', 'caf\u00c9'],
  ['stra\u00dfe', 'STRASSE'],
  ['\u212aey', 'key'],
])('%s and %s are one name to a Mac: a path hidden as one is not seen as the other', ([a = '', b = '']) => {
  expect(folded(a)).toBe(folded(b));
  expect(sightProblem(`${b}/x`, { hidden: [a] })).toMatch('out of the read scope');
});

test('names that differ stay different where each is listed', async () => {
  await using it = tempFolder();
  make(it.path, { a: 'a', A: 'A', 'd/x': 'x' });
  for (const path of ['a', 'A', 'd/x', 'd/X', 'D/x', 'a/b']) expect(asListed(it.path, path)).toBe(path);
});
