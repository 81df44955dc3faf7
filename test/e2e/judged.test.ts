/** Scenario counts in a result: scenarios that ran, and none if none ran. */
import { expect, test } from 'vitest';
import { home } from '../support/in-process.ts';

const pipeline = (more = '') => `digraph g {
  start [shape=Mdiamond] exit [shape=Msquare] bad [shape=Msquare, outcome=fail]
  judge [shape=parallelogram, tool_command="factory scenario run scripts/scenarios --app . --if-any"]
  ${more}
  start -> judge
  judge -> exit [condition="outcome=success"]
  judge -> bad [condition="outcome=fail"]
}`;
const scenario =
  '#!/bin/bash\ncase "$SCENARIO_MODE" in selftest) exit 0 ;; esac\ntest -f "$1/product.txt" || exit 1\n';

test('scenarios that ran are counted, however many a node runs at once', async () => {
  await using it = await home({
    'p.dot': pipeline(),
    'w/product.txt': 'made\n',
    'w/scripts/scenarios/a_user_scenarios.sh': scenario,
    'w/scripts/scenarios/b_user_scenarios.sh': scenario,
  });
  const ran = await it.factory(['run', 'p.dot', '--workdir', 'w', '--run-id', 'r1']);
  expect(ran.code, ran.stderr).toBe(0);
  expect(ran.stdout).toMatch(/checked +1 command of 1 node passed, scenarios 2 of 2/);
  expect(await it.json('.factory/runs/r1/result.json')).toMatchObject({
    evidence: { judged: { passed: 2, total: 2 } },
  });
});

test('a scenario run without scenarios is no evidence', async () => {
  await using it = await home({ 'p.dot': pipeline(), 'w/product.txt': 'made\n' });
  const ran = await it.factory(['run', 'p.dot', '--workdir', 'w', '--run-id', 'r1']);
  expect(ran.code, ran.stderr).toBe(0);
  expect(ran.stdout).toMatch(/checked +nothing was checked by a command/);
  const result = await it.json('.factory/runs/r1/result.json');
  expect(result).toMatchObject({ evidence: { commands: [] } });
  expect(result).not.toHaveProperty('evidence.judged');
});
