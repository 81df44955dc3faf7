/** A run that requires a strength of its scenarios, none of which ever meets the product. */
import { expect, test } from 'vitest';
import { home } from '../support/cli.ts';
import { onDisk } from '../support/temporary.ts';

onDisk();

const pipeline = (settings: string, before: string) => `digraph g {
  ${settings} start [shape=Mdiamond]; exit [shape=Msquare]
  judge [shape=parallelogram, isolation=auto, tool_command="${before}factory scenario run scripts/scenarios --app . --if-any"]
  start -> judge
  judge -> exit [condition="outcome=success"]
}`;
const scenario = { 'w/scripts/scenarios/a_scenario.sh': 'sh "$1/app.sh" >/dev/null\n' };

test.for<[string, Readonly<Record<string, string>>, string, RegExp]>([
  ['are all skipped', scenario, 'REQUIRE_LIVE=0 ', /strength undecided: no scenario ran live/],
  ['are missing', {}, '', /strength undecided: there is no folder/],
])('scenarios that %s never meet a required strength', async ([_, files, before, why]) => {
  await using it = await home({
    ...{ ...files, 'w/app.sh': 'echo 1\n' },
    'required.dot': pipeline('min_strength=0.1;', before),
    'free.dot': pipeline('strength=60;', before),
  });
  const run = (name: string) =>
    it.factory(['run', `${name}.dot`, '--workdir', 'w', '--run-id', name], {
      env: { FACTORY_SANDBOX: 'none' },
    });
  expect((await run('required')).code).toBe(1);
  expect(await it.json('.factory/runs/required/result.json')).toMatchObject({
    ...{ failed_node: 'judge', failure_class: 'scenario' },
    reason: expect.stringMatching(why),
  });
  expect((await run('free')).code).toBe(0);
});
