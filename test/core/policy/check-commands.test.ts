import { expect, test } from 'vitest';
import { reachedBy } from '../../../src/core/policy/check-commands.ts';

const files: Readonly<Record<string, string>> = {
  'package.json': JSON.stringify({
    scripts: {
      test: 'npm run lint && node --import ./test/setup.js --test',
      lint: 'eslint .',
      pretest: './prepare-tests.sh',
    },
  }),
  Makefile: 'check: unit\n\tbash ci/all.sh\nunit:\n\tpytest -c conf/pytest.ini\n',
  'ci/all.sh': '. ci/lib.sh\nnpm test\n',
  'ci/lib.sh': '',
  'check.sh': '',
};
const settings = ['script test', 'script lint', 'target check', 'target unit'];
const paths = [
  ...'test/setup.js ci/all.sh ci/lib.sh conf/pytest.ini check.sh sub/check.sh'.split(' '),
  ...'sub/verify.sh app.py tests/check.py'.split(' '),
];

test.for<[string | string[], string]>([
  ['npm test', 'script test, script lint, test/setup.js'],
  [['sh', '-c', 'cd x && npm t'], 'script test, script lint, test/setup.js'],
  ['npm run lint', 'script lint'],
  ['pnpm --silent lint', 'script lint'],
  ['make unit', 'target unit, conf/pytest.ini'],
  [
    'make check',
    'script test, script lint, target check, target unit, test/setup.js, ci/all.sh, ci/lib.sh, conf/pytest.ini',
  ],
  ['bash check.sh --all', 'check.sh'],
  ['CI=1 ./check.sh', 'check.sh'],
  [['bash', 'check.sh'], 'check.sh'],
  ['cd sub; if bash verify.sh; then echo; fi', 'sub/verify.sh'],
  ['bash check.sh | grep -q ok', ''],
  ['python3 app.py --help', ''],
  ['timeout 60 python3 tests/check.py', 'tests/check.py'],
  ['grep -q x README.md', ''],
])('%j runs %s', async ([command, wanted]) => {
  const texts = new Map(['package.json', 'Makefile'].map((path) => [path, files[path] ?? '']));
  const reached = await reachedBy([command], texts, async (path) => files[path]);
  const found = [
    ...settings.filter((one) => reached.settings.has(one)),
    ...paths.filter((path) => reached.runs(path)),
  ];
  expect(found.join(', ')).toBe(wanted);
});
