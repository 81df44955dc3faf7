import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  changedLocks,
  decidesDependencies,
  isOwnStepText,
  isSetupUndone,
  readyHash,
  setupAfter,
  setupFailureClass,
  workBegan,
} from '../../src/core/setup.ts';

test.for([
  ...[
    'package-lock.json',
    'pnpm-lock.yaml',
    'yarn.lock',
    'bun.lockb',
    'npm-shrinkwrap.json',
    'poetry.lock',
    'uv.lock',
  ],
  ...[
    'Pipfile.lock',
    'requirements.txt',
    'requirements-dev.txt',
    'requirements/base.txt',
    'Cargo.lock',
    'go.sum',
  ],
  ...['Gemfile.lock', 'composer.lock', 'packages/a/package-lock.json', 'mix.lock', 'gradle.lockfile'],
])('%s decides which dependencies are installed', (path) => {
  expect(decidesDependencies(path)).toBe(true);
});

test.for([
  ...[
    'package.json',
    'src/lock.ts',
    'README.md',
    'node_modules/a/yarn.lock',
    'node_modules/.package-lock.json',
  ],
  ...['.venv/lib/x/poetry.lock', 'target/package/Cargo.lock', 'docs/requirements.md'],
])('%s does not', (path) => {
  expect(decidesDependencies(path)).toBe(false);
});

const tree = (files: Readonly<Record<string, string>>) =>
  new Map(Object.entries(files).map(([path, hash]) => [path, { hash }]));
const names = fc.constantFrom(
  'yarn.lock',
  'a/go.sum',
  'src/a.ts',
  'requirements.txt',
  'node_modules/b/yarn.lock',
);
const trees = fc.dictionary(names, fc.constantFrom('1', '2')).map(tree);

test('setup is due again exactly where a lock file has changed', () => {
  fc.assert(
    fc.property(trees, trees, (a, b) => {
      const isSame = readyHash(['npm ci'], a) === readyHash(['npm ci'], b);
      expect(isSame).toBe(changedLocks(a, b).length === 0);
      expect(readyHash(['npm ci'], a)).not.toBe(readyHash(['yarn'], a));
    }),
  );
});

test.for([
  ['npm error code EAI_AGAIN', 'infra'],
  ['curl: (6) Could not resolve host: example.org', 'infra'],
  ['ENOSPC: no space left on device, write', 'infra'],
  [
    'npm error `npm ci` can only install packages when your package.json and package-lock.json are in sync',
    'config',
  ],
  ['', 'config'],
] as const)('a setup that prints "%s" fails as %s', ([printed, of]) => {
  expect(setupFailureClass(printed)).toBe(of);
});

test.for([
  ['factory order rollback', true],
  [' factory plan check', true],
  ['factory scenario run a', false],
  ['npm test', false],
] as const)('%s is a step of the main job: %s', ([text, is]) => {
  expect(isOwnStepText(text)).toBe(is);
});

test('the work of a run begins with what the first setup left, where nothing ran before it', () => {
  const once = setupAfter({}, { ready_sha256: 'h', before: 'start' }, 's1');
  const twice = setupAfter(once, { ready_sha256: 'i', before: 's2', locks: ['yarn.lock'] }, 's3');
  expect(twice.setup).toEqual({
    sha256: 'i',
    before: 's2',
    snapshot: 's3',
    first: { before: 'start', after: 's1' },
  });
  expect(workBegan('start', twice)).toBe('s1');
  expect(workBegan('start', {})).toBe('start');
  expect(workBegan('start', setupAfter({}, { ready_sha256: 'h', before: 'later' }, 's1'))).toBe('start');
  expect(setupAfter(once, { before: 's2', locks: [] }, 's3')).toEqual(once);
});

test.for<readonly [string, Readonly<Record<string, string>>, boolean]>([
  ['what it left', { 'src/a': '1', 'yarn.lock': '2', 'deps/x': 'new', 'deps/y': 'y' }, false],
  ['what there was before it', { 'src/a': '1', 'yarn.lock': '1', 'deps/x': 'old' }, true],
  ['that with another product and lock file', { 'src/a': '3', 'yarn.lock': '2', 'deps/x': 'old' }, true],
  ['a part of it', { 'src/a': '1', 'yarn.lock': '2', 'deps/x': 'old', 'deps/y': 'y' }, false],
  ['something else', { 'src/a': '1', 'yarn.lock': '2', 'deps/x': 'patched' }, false],
])('a setup is undone where the workspace has %s: %s', ([, now, isUndone]) => {
  const tree = (files: Readonly<Record<string, string>>) =>
    new Map(Object.entries(files).map(([path, hash]) => [path, { kind: 'file', hash }]));
  const before = tree({ 'src/a': '1', 'yarn.lock': '1', 'deps/x': 'old' });
  const ready = tree({ 'src/a': '1', 'yarn.lock': '2', 'deps/x': 'new', 'deps/y': 'y' });
  expect(isSetupUndone(before, ready, tree(now))).toBe(isUndone);
  expect(isSetupUndone(before, before, before), 'one that does nothing').toBe(false);
});
