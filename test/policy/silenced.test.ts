/** Scripts that run tests, and that end well before they get there. */
import { expect, test } from 'vitest';
import { type FileChange, tamperingIn } from '../../src/policy/tampering.ts';

const script = (before: string, after: string): readonly FileChange[] => [
  { path: 'scripts/verify.sh', before: `#!/bin/sh\n${before}`, after: `#!/bin/sh\n${after}` },
];
const runs = 'set -e\nnpm test\npytest -q\n';
const json = (before: object, after: string): readonly FileChange[] => [
  { path: 'package.json', before: `${JSON.stringify(before, null, 2)}\n`, after },
];
const scripts = { name: 'x', scripts: { test: 'vitest run' } };

const rows: readonly (readonly [string, readonly FileChange[], readonly string[]])[] = [
  ['ends before its tests', script(runs, `exit 0\n${runs}`), ['error check-bypassed:2']],
  [
    'ends before the last of its tests',
    script(runs, 'set -e\nnpm test\nexit\npytest -q\n'),
    ['error check-bypassed:4'],
  ],
  [
    'ended well, and does so before its tests now',
    script(`${runs}exit 0\n`, `exit 0\n${runs}exit 0\n`),
    ['error check-bypassed:2'],
  ],
  ['runs none any more', script(runs, 'set -e\nexit 0\n'), ['error check-silenced:1']],
  ['only says something', script(runs, 'set -e\necho "all tests pass"\n'), ['error check-silenced:1']],
  ['always ended there', script(`exit 0\n${runs}`, `exit 0\n${runs}make lint\n`), []],
  ['ends where it has no tests to run', script(runs, `if ! test -d t; then\nexit 0\nfi\n${runs}`), []],
  ['ends in a function', script(runs, `skip() {\nexit 0\n}\n${runs}`), []],
  ['ends after a word, in a branch', script(runs, `if [ -n "$NO" ]; then\necho no\nexit 0\nfi\n${runs}`), []],
  ['writes a script that ends', script(runs, `cat > a.sh <<'END'\nexit 0\nEND\n${runs}`), []],
  [
    'ends after a branch in one line',
    script(runs, `if true; then cd .; fi\nexit 0\n${runs}`),
    ['error check-bypassed:3'],
  ],
  ['ends in a case', script(runs, `case "$1" in\nnone)\nexit 0\n;;\nesac\n${runs}`), []],
  ['has tests behind its end that it never ran', script('npm test\n', 'npm test\nexit 0\npytest -q\n'), []],
  ['leaves its tests to another', script(runs, 'set -e\nexec sh tools/check.sh\n'), []],
  ['refuses', script(runs, 'set -e\necho "use make test" >&2\nexit 1\n'), []],
  [
    'a test that is a script ends before its tests',
    [{ path: 'tests/run.sh', before: runs, after: `exit 0\n${runs}` }],
    ['error check-bypassed:1'],
  ],
  [
    'settings in one line, with a command that runs none',
    json(scripts, '{"name":"x","scripts":{"test":"true"}}'),
    ['error check-silenced:1'],
  ],
  [
    'scripts in one line, with a command that may fail',
    json(scripts, '{\n  "name": "x",\n  "scripts": {"test": "vitest run || true"}\n}\n'),
    ['error check-silenced:3'],
  ],
  ['settings in one line, and nothing else', json(scripts, JSON.stringify(scripts)), []],
  [
    'a runner that leaves a test out',
    json(scripts, JSON.stringify({ name: 'x', scripts: { test: 'vitest run --exclude tests/a.test.js' } })),
    ['error test-skipped:1'],
  ],
];

test.for(rows)('%s', ([, changes, said]) => {
  expect(tamperingIn(changes).map(({ code, severity, line }) => `${severity} ${code}:${line}`)).toEqual(said);
  for (const { severity } of tamperingIn(changes, () => true)) expect(severity).toBe('warning');
});
