/** A judge in a run: its suite is shown products that do nothing, and the tree with which the run began. */
import { expect, test } from 'vitest';
import { sandboxCapabilities } from '../../src/platform/sandbox/capabilities.ts';
import { home } from '../support/cli.ts';
import { onDisk } from '../support/temporary.ts';

onDisk();

const { bwrap } = await sandboxCapabilities(process.env);
const sandboxes = 'missing' in bwrap ? ['none'] : ['none', ''];

const pipeline = (floor: string) => `digraph g {
  start [shape=Mdiamond]; exit [shape=Msquare]
  work [shape=parallelogram, sees_holdout=false, tool_command="echo 'echo done' >app.sh"]
  judge [shape=parallelogram, ${floor}tool_command="factory scenario run scripts/scenarios --app . --if-any"]
  start -> work -> judge
  judge -> exit [condition="outcome=success"]
}`;
const modes = 'if [ "$SCENARIO_MODE" = selftest ]; then exit 0; fi\n';
const project = (scenario: string) => ({
  'w/README.md': 'x',
  'w/scripts/scenarios/a_scenario.sh': `${modes}${scenario}\n`,
  'p.dot': pipeline(''),
  'off.dot': pipeline('floor=false, '),
});

test.for(sandboxes)(
  'what the run wrote is what a scenario without APP_RUN has to need (sandbox: "%s")',
  async (FACTORY_SANDBOX) => {
    await using it = await home(project('[ "$(sh "$1/app.sh")" = done ]'));
    const ran = await it.factory(['run', 'p.dot', '--workdir', 'w', '--run-id', 'r'], {
      env: { FACTORY_SANDBOX },
    });
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.stdout).toContain(
      'scenarios 1 of 1 (floor held), strength not measured, 0 of 1 passed before the work',
    );
    expect(await it.json('.factory/runs/r/result.json')).toMatchObject({
      evidence: { judged: { passed: 1, total: 1, floor: 'held', passed_before: 0 } },
    });
  },
);

test('a suite that accepts nothing fails the run by its reason, unless floor=false, which is in the evidence', async () => {
  await using it = await home(project('sh "$1/app.sh" >/dev/null || true'));
  const run = (pipe: string, id: string) =>
    it.factory(['run', pipe, '--workdir', 'w', '--run-id', id], { env: { FACTORY_SANDBOX: 'none' } });
  const failed = await run('p.dot', 'r');
  expect(failed.code).toBe(1);
  expect(await it.json('.factory/runs/r/result.json')).toMatchObject({
    failed_node: 'judge',
    failure_class: 'scenario',
    reason: expect.stringContaining('judge_accepts_nothing'),
    evidence: { judged: { floor: 'failed' } },
  });
  const shown = await it.factory(['show', 'r', '--json']);
  expect(JSON.parse(shown.stdout)).toMatchObject({
    headline: expect.stringContaining('judge_accepts_nothing'),
  });
  const off = await run('off.dot', 'off');
  expect(off.code, off.stderr).toBe(0);
  expect(off.stdout).toContain('scenarios 1 of 1 (floor off)');
  expect(await it.json('.factory/runs/off/result.json')).toMatchObject({
    evidence: { judged: { floor: 'off' } },
  });
});

test('a run whose judge found no scenarios says so in its first line and headline', async () => {
  await using it = await home({ 'w/README.md': 'x', 'p.dot': pipeline('') });
  const ran = await it.factory(['run', 'p.dot', '--workdir', 'w', '--run-id', 'r']);
  expect(ran.code, ran.stderr).toBe(0);
  expect(ran.stdout).toMatch(/✓ success in \S+, but no scenario judged the product: there are none\n/);
  const { stdout } = await it.factory(['show', 'r', '--json']);
  expect(JSON.parse(stdout)).toMatchObject({
    headline: '4 nodes done, but no scenario judged the product: there are none',
  });
});
