/** What a command says about scenarios. */
import { expect, test } from 'vitest';
import { runsScenarios } from '../../../src/core/policy/holdout-paths.ts';

test.for([
  ['factory scenario run scripts/scenarios --app .', true],
  ['cd x && "factory" scenario selftest s --app .', true],
  ['factory scenario lint s', false],
  ['bash scripts/scenarios/preflight_scenario.sh a.sh .', false],
  ['echo factory-scenario run', false],
] as const)('%s: whether it runs scenarios, and so gets nested sandboxes, is %s', ([command, does]) => {
  expect(runsScenarios(command)).toBe(does);
});
