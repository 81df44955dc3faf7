/** Whose report of a key counts as a fact. */
import { describe, expect, test } from 'vitest';
import type { StepFacts } from '../../../src/core/decision.ts';
import { succeeded } from '../../../src/core/outcome.ts';
import { mayReport, reportedValue } from '../../../src/core/policy/reported-keys.ts';
import type { RunState } from '../../../src/core/records/checkpoint.ts';
import { step } from '../../../src/core/step.ts';
import { advanced, freshState, graphOf } from '../../support/graph.ts';

const nodeOf = (attributes: string) =>
  graphOf(`start [shape=Mdiamond]; exit [shape=Msquare]; n [${attributes}]; start -> n -> exit`).nodes.get(
    'n',
  );
const tool = (command: string, more = '') => nodeOf(`shape=parallelogram${more}, tool_command="${command}"`);

describe('what the scenarios said', () => {
  test.for([
    ['factory scenario run s --app . --live --if-any', true],
    ["factory scenario run s --app 'a;b|c' > out.txt 2>&1", true],
    ['factory scenario run ${var.suite} --app $APP', true],
    ['factory scenario run s \\\n --app .', true],
    ['npm ci && factory scenario run s', false],
    ['sh build.sh; factory scenario run s', false],
    ['sh forge.sh # factory scenario run s', false],
    ['factory scenario run s | sh after.sh', false],
    ['factory scenario run $(sh build.sh)', false],
    ['factory scenario run `sh build.sh`', false],
    ['sh -c factory scenario run s', false],
    ['factory scenario run s --app . ; npm test', false],
    ['factory scenario run s && sh after.sh', false],
    ['factory scenario run s &', false],
    ['npm test', false],
    ['factory scenario strength s', false],
    ['factory order proof', false],
  ] as const)('a tool with "%s" may report it: %s', ([command, may]) => {
    expect(mayReport(tool(command), 'judge.total')).toBe(may);
    expect(mayReport(tool(command), 'judge.strength')).toBe(may);
  });
  test.for([
    ['a tool that does not see the holdout', tool('factory scenario run s', ', sees_holdout=false')],
    ['a step with access to the run', tool('factory scenario run s', ', access="run"')],
    ['an agent', nodeOf('shape=box, prompt="factory scenario run s"')],
    ['no node', undefined],
  ] as const)('%s may not', ([, node]) => expect(mayReport(node, 'judge.passed')).toBe(false));
});

test.for([
  ['factory order proof', ', access="run:ro"', true],
  ['factory order commit', ', access="run"', true],
  ['factory order commit; npm test', ', access="run"', false],
  ['factory order commit', '', false],
  ['npm test', ', access="run"', false],
] as const)('what a build made: %s%s: %s', ([command, more, may]) => {
  for (const key of ['build.commits', 'build.proof', 'build.outdated'])
    expect(mayReport(tool(command, more), key)).toBe(may);
});

test('other keys are of any tool', () => expect(mayReport(tool('npm test'), 'tests.passed')).toBe(true));

describe('a run', () => {
  const graph = graphOf(`start [shape=Mdiamond]; exit [shape=Msquare]
    forge [shape=parallelogram, tool_command="npm test"]
    judge [shape=parallelogram, tool_command="factory scenario run s --app ."]
    agent [shape=box, prompt="Work"]
    start -> forge -> judge -> agent -> exit`);
  const facts = (node: string, type: string): StepFacts => ({
    ...{ node, type, executable: true, feedback: {}, at: '2026-01-01T00:00:01.000Z' },
  });
  const played = (...stages: readonly (readonly [node: string, type: string, passed: number])[]) =>
    stages.reduce<RunState>((state, [node, type, passed]) => {
      const outcome = succeeded({ updates: { 'judge.passed': passed, free: passed } });
      return advanced(state, step(graph, state, outcome, facts(node, type)), type);
    }, freshState('forge') as RunState);

  test('a tool without scenarios reports nothing that counts', () => {
    const state = played(['forge', 'tool', 9]);
    expect(state.context['judge.passed']).toBe(9);
    expect(reportedValue(state, 'judge.passed')).toBeUndefined();
    expect(reportedValue(state, 'free')).toBe(9);
  });
  test('no later node replaces what the judge reported', () => {
    for (const [node, type] of [
      ['forge', 'tool'],
      ['agent', 'codergen'],
    ] as const) {
      const state = played(['judge', 'tool', 1], [node, type, 9]);
      expect(state.context).toMatchObject({ 'judge.passed': 1, free: 9 });
      expect(reportedValue(state, 'judge.passed')).toBe(1);
    }
    expect(reportedValue(played(['judge', 'tool', 1], ['judge', 'tool', 2]), 'judge.passed')).toBe(2);
    expect(reportedValue(played(['forge', 'tool', 9], ['judge', 'tool', 1]), 'judge.passed')).toBe(1);
  });
});
