/** Files that are found in place of others: installed packages, and what make takes for made. */
import { expect, test } from 'vitest';
import { reachedBy } from '../../../src/core/policy/check-commands.ts';
import { type ReplacingChange, replacedBy } from '../../../src/verify/audit/replaced.ts';

const at = '2026-01-01T00:00:00.000Z';
const makefile = 'check: out/report\nout/report: src/add.js\n\tnode --test > out/report\n';
const start = new Set([
  'Makefile',
  'node_modules/chk/index.js',
  'node_modules/@s/eq/index.js',
  'node_modules/a/node_modules/deep/i.js',
  'venv/lib/python3/site-packages/chk/__init__.py',
]);

async function codeOf(path: string, more: Partial<ReplacingChange> & { readonly now?: number } = {}) {
  const { now = 0, ...rest } = more;
  const reached = await reachedBy(['make check'], new Map([['Makefile', makefile]]), async () => undefined);
  const change = { path, before: undefined, after: 'x', head: undefined, by: 'agent' as const, at, ...rest };
  const about = { start, reached, began: at, timeOf: () => now };
  return replacedBy(change, about, new Set(['']))?.code;
}

test.for<[string, string]>([
  ['node_modules/chk/index.js', 'a file of an installed package'],
  ['node_modules/chk/lib/more.js', 'a new file in it'],
  ['test/node_modules/chk/index.js', 'a nearer package of its name'],
  ['test/node_modules/@s/eq/index.js', 'one of a scope'],
  ['node_modules/deep/i.js', 'one that another package has'],
  ['venv/lib/python3/site-packages/chk/core.py', 'a module of Python'],
])('%s of an agent replaces %s', async ([path]) => {
  expect(await codeOf(path)).toBe('runner-shadowed');
});

test.for([
  'node_modules/new/index.js',
  'node_modules/chk/node_modules/new/index.js',
  'node_modules/.cache/chk/a.js',
  'node_modules/.package-lock.json',
  'node_modules/@s/other/index.js',
  'venv/lib/python3/site-packages/chk/__pycache__/core.cpython-312.pyc',
  'src/chk/index.js',
])('%s of an agent replaces nothing', async (path) => {
  expect(await codeOf(path)).toBeUndefined();
});

test('a result of a check that an agent leaves in an output folder skips the check', async () => {
  expect(await codeOf('out/report', { now: Date.parse(at) - 5 })).toBe('check-skipped');
});

test('a result that a later check has made anew skips nothing, nor does what the check itself makes', async () => {
  expect(await codeOf('out/report', { now: Date.parse(at) + 5 })).toBeUndefined();
  expect(await codeOf('out/report', { by: 'tool' })).toBeUndefined();
  expect(await codeOf('out/other')).toBeUndefined();
});
