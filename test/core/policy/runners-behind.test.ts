/** Which test runners a command starts for certain. */
import { expect, test } from 'vitest';
import { runnersBehind } from '../../../src/core/policy/runners-behind.ts';

const scripts = {
  ...{
    test: 'node --test',
    unit: 'vitest run',
    both: 'tsc -p . && npm test && npm run -s unit',
    log: 'jest > log.txt',
  },
  ...{ build: 'tsc', own: 'node run-tests.js', wrapped: 'cross-env CI=1 c8 mocha', loop: 'npm run loop' },
};
const files: Readonly<Record<string, string>> = {
  'package.json': JSON.stringify({ scripts }),
  'app/package.json': JSON.stringify({ scripts: { test: 'jest' } }),
  Makefile:
    'PY ?= python3\n.PHONY: test\nall: build\n\ttrue\ntest: lint\n\t@$(PY) -m pytest tests\nlint:\n\t-npx eslint .\nlog:\n\tpytest > log\nchild:\n\tcd app && npm test\nmore:\n\t$(MAKE) test\n',
  'check.sh':
    '#!/bin/bash\nset -euo pipefail\ncd "$(dirname "$0")"\nif [ -n "${X:-}" ]; then\n  echo x\nfi\nnpm ci --silent\nnpm test\n',
  'maybe.sh':
    'if command -v pytest; then\n  pytest\nfi\n[ -d tests ] && npm test\nfor d in a b; do\n  jest\ndone\n',
  'ends.sh': 'if [ -z "$CI" ]; then\n  exit 0\nfi\nnpm test\n',
  'tools/deep.sh': 'cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1\nnpm test\n',
  'fails.sh': 'npm test || exit 1\necho done\n',
  'called.sh': 'run() {\n  pytest\n}\nrun\n',
  'log.sh': 'exec > log 2>&1\nnpm test\n',
  verify: '#!/usr/bin/env bash\npython3 -m unittest\n',
};
const behind = async (command: string | readonly string[], folder = '.') =>
  (await runnersBehind(command, folder, async (path) => files[path])).map(({ name }) => name);

test.for([
  ['npm test', ['node']],
  ['node --experimental-vm-modules node_modules/jest/bin/jest.js --ci', ['jest']],
  ['node ./node_modules/.bin/vitest run', ['vitest']],
  ['php vendor/bin/phpunit', ['phpunit']],
  ['cargo +nightly test', ['cargo']],
  ['node node_modules/typescript/bin/tsc', []],
  ['npm t --silent', ['node']],
  ['npm test -- test/a.test.js', ['node']],
  ['npm run both', ['node', 'vitest']],
  ['yarn unit', ['vitest']],
  ['pnpm vitest run', ['vitest']],
  ['npm run wrapped', ['mocha']],
  ['npx --yes jest', ['jest']],
  ['CI=1 timeout 60 npx jest', ['jest']],
  ['python3.12 -m pytest -q', ['pytest']],
  ['coverage run -m pytest', ['pytest']],
  ['uv run pytest', ['pytest']],
  ['bundle exec rspec', ['rspec']],
  ['./vendor/bin/phpunit', ['phpunit']],
  ['make test', ['pytest']],
  ['make -s more', ['pytest']],
  ['make child', ['jest']],
  ['bash check.sh', ['node']],
  ['bash -x ./check.sh', ['node']],
  ['./verify', ['unittest']],
  ['sh fails.sh', ['node']],
  ["sh -c 'npm test'", ['node']],
  ['npm ci && npm test', ['node']],
  ['cd app && npm test', ['jest']],
  ['(cd app && npm test)\nnpm test', ['jest', 'node']],
  ['sh tools/deep.sh', ['node']],
  ['{ cd app; }; npm test', ['jest']],
  ['echo "two\nlines"; npm test', ['node']],
  ['cat <<E\nx\nE\nnpm test', ['node']],
  ['pytest 2>&1', ['pytest']],
] as const)('%s starts %j', async ([command, runners]) => {
  expect((await behind(command)).sort()).toEqual([...runners].sort());
});

test.for([
  ...[
    'npm run build',
    'npm run own',
    'npm run nothing',
    'npm run log',
    'npm run loop',
    'npm ls',
    'npm test -w app',
  ],
  ...[
    'npm test > log',
    'npm test 2> log',
    'npm test | tail -5',
    'npm test || true',
    'npm test & wait',
    'make log',
  ],
  ...[
    'bash maybe.sh',
    'bash ends.sh',
    'bash called.sh',
    'bash log.sh',
    'make',
    'make nothing',
    'make -f own.mk test',
  ],
  ...[
    'out=$(npm test); echo "$out"',
    'out="$(pytest)"',
    'if npm test; then echo ok; fi',
    'echo pytest',
    'cat x.sh',
  ],
  ...[
    'case $1 in a) exit 0;; esac; npm test',
    'until npm test; do sleep 1; done',
    'a || b && npm test',
    'npm test || (if x; then exit 1; fi)',
  ],
  ...['cat <<E\nnpm test\nE', 'factory scenario run scripts/scenarios', 'true', ''],
])('nothing is certain about %j', async (command) => {
  expect(await behind(command)).toEqual([]);
});

test('a command in words is followed in its folder', async () => {
  expect(await behind(['npm', 'test'], 'app')).toEqual(['jest']);
  expect(await behind(['bash', 'check.sh'])).toEqual(['node']);
});

test.for<[string, boolean]>([
  ['npm test', true],
  ['bash check.sh', true],
  ['npm ci && npm test', true],
  ['npm test && echo done', true],
  ['make test', true],
  ['npm test; echo done', false],
  ['pytest\necho done', false],
  ['sh fails.sh', false],
  ["sh -c 'npm test'; true", false],
])('%s: does the failure of its tests fail it? %s', async ([command, decides]) => {
  const found = await runnersBehind(command, '.', async (path) => files[path]);
  expect(found.map((one) => one.decides)).toEqual([decides]);
});
