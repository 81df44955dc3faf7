/** Which command's failure a shell hides. */
import { expect, test } from 'vitest';
import { maskedCommand, onlyChecks, shellOptions } from '../../../src/core/policy/masked-failure.ts';

const rows: readonly (readonly [text: string, masked: string | undefined])[] = [
  ['npm test | tee log', 'npm test'],
  ['false | tee log.txt', 'false'],
  ['false; echo finished', 'false'],
  ['cd src; make test', undefined],
  ['cd src && make test; echo done', 'make test'],
  ['npm test\nnpm run lint', 'npm test'],
  ['npm ci\nnpm test', undefined],
  ['set -e\nnpm test\nnpm run lint', undefined],
  ['set -e; npm test | tee log', 'npm test'],
  ['set -eo pipefail; npm test | tee log; echo x', undefined],
  ['set -euo pipefail\nnpm test | tee log', undefined],
  ['npm test; code=$?; cat log; exit $code', undefined],
  ['npm test || exit 1; echo ok', undefined],
  ['cat review.md; head -n 1 review.md | grep -q APPROVED', undefined],
  ['git diff HEAD~1 > change.patch || true', undefined],
  ['mkdir -p dist && tar czf dist/x.tar.gz calc.py', undefined],
  ['(npm test; npm run lint) | tee log', 'npm run lint'],
  ['(npm test; npm run lint)', 'npm test'],
  ['{ npm test; } 2>&1 | tee log', 'npm test'],
  ['for f in a b; do sh $f; done', 'sh $f'],
  ['for f in a b; do sh $f || exit 1; done', undefined],
  ['if npm test; then echo ok; else exit 1; fi', undefined],
  ['if [ -f x ]; then npm test; fi', undefined],
  ['if [ -f x ]; then npm test; echo y; fi', 'npm test'],
  ['if [ -f x ]; then npm test; fi; echo done', 'npm test'],
  ['./server & sleep 1; curl -f localhost', undefined],
  ['./app --version | grep -q 1.2', undefined],
  ['npm test | grep -q passed', 'npm test'],
  ['npm test 2>&1 | tail -5', 'npm test'],
  ['python3 -m pytest -q 2>&1 | head -50', 'python3 -m pytest -q'],
  ['out=$(npm test); echo "$out"', 'out=$(npm test)'],
  ['f() { npm test; echo x; }; f', undefined],
  ['echo a; true', undefined],
  ['case $x in a) npm test;; esac', undefined],
  ['npm test &&\n echo ok', undefined],
  ['npm test > log; cat log', 'npm test'],
  ['while read l; do echo $l; done < x', undefined],
  ['npm test # not ; this\n', undefined],
  ['exec sh act.sh a', undefined],
  ['cat <<EOF > x\nnpm test; echo\nEOF\nnpm test', undefined],
  ['timeout 60 npm test | tee x', 'timeout 60 npm test'],
  ['pip install -q x; pytest', undefined],
  ['bash -c "npm test; echo x"', 'npm test'],
  ['bash -ec "npm test; echo x"', undefined],
  ['bash -eo pipefail -c "npm test | tee x; echo x"', undefined],
  ['f()\n{ npm test; echo x\n}\nf', undefined],
  ['! npm test; echo', undefined],
  ['npm test |& tee log', 'npm test'],
  ['npm test | tee log && echo fine', 'npm test'],
];
test.for(rows)('of %j the hidden failure is that of %s', ([text, masked]) => {
  expect(maskedCommand(text, { e: false, pipefail: false })?.command).toBe(masked);
});

test.for([
  ['sh', false, false],
  ['bash -e', true, false],
  ['bash -eo pipefail', true, true],
  ['bash -e -u -o pipefail', true, true],
  ['bash -o errexit +e', false, false],
  ['bash -x', false, false],
] as const)('%s: stops at a failure %s, looks at the whole pipe %s', ([shell, e, pipefail]) => {
  expect(shellOptions(shell.split(' '))).toEqual({ e, pipefail });
});

test('with these options no failure of a list or a pipe is hidden', () => {
  // Another shell has its own options.
  for (const [text] of rows.filter(([one]) => !one.startsWith('bash')))
    expect(maskedCommand(text, { e: true, pipefail: true })).toBeUndefined();
});

test.for([
  ['make test', true],
  ['cd app && npm test && cat log', true],
  ['npm test > log', false],
  ['node make-prompt.mjs', false],
] as const)('that %j only checks and prints is %s', ([text, wanted]) => {
  expect(onlyChecks(text)).toBe(wanted);
});
