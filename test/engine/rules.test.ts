import { describe, expect, test } from 'vitest';
import { capHit } from '../../src/engine/caps.ts';
import { truthGate, unfixableSource } from '../../src/engine/unfixable.ts';
import type { LastFailure } from '../../src/model/checkpoint.ts';
import { graphOf } from '../support/graph.ts';

describe('caps', () => {
  const caps = { maxSteps: 10, maxWallMs: 1000 };
  const node = { id: 'a', maxVisits: 3, visits: 0 };
  test.for([
    ['nothing is hit', node, { steps: 0, elapsedMs: 0 }, undefined],
    ['visits of the node', { ...node, visits: 3 }, { steps: 0, elapsedMs: 0 }, 'max_visits'],
    ['steps of the run', node, { steps: 10, elapsedMs: 0 }, 'max_steps'],
    ['time of the run', node, { steps: 0, elapsedMs: 1000 }, 'max_wall'],
  ] as const)('%s', ([, at, run, wanted]) => {
    expect(capHit(caps, at, run)?.split(':')[0]).toBe(wanted);
  });
});

describe('a failure that no fix can mend', () => {
  const graph = graphOf(
    't [type=tool, tool_command="bash scripts/check.sh agent"]; u [shape=parallelogram, tool_command="sh scripts/check.sh"]; fix',
  );
  const fix = graph.nodes.get('fix');
  if (fix === undefined) throw new Error('no fix node');
  const last = (more: Partial<LastFailure> = {}): LastFailure => ({
    node: 't',
    node_type: 'tool',
    class: 'product',
    class_said: false,
    reason: 'tool_exit_code_1',
    exit_code: 1,
    model: null,
    executable_success_since: false,
    ...more,
  });
  test.for([
    ['a script outside the scope', ['agent/'], last(), true],
    ['a shape-only tool is a tool too', ['agent/'], last({ node: 'u' }), true],
    ['a script inside the scope', ['scripts/'], last(), false],
    ['no scope, no rule', [], last(), false],
    ['something else has succeeded since', ['agent/'], last({ executable_success_since: true }), false],
    ['the output says that the product failed', ['agent/'], last({ class_said: true }), false],
    [
      'the output says that the scenario is broken',
      ['scripts/'],
      last({ class: 'scenario', class_said: true }),
      true,
    ],
    [
      'the output says that the machine is at fault',
      ['scripts/'],
      last({ class: 'infra', class_said: true }),
      true,
    ],
    ['the command could not be found', ['scripts/'], last({ exit_code: 127, class: 'config' }), true],
    ['the failed node is no tool', ['agent/'], last({ node_type: 'verification' }), false],
    ['nothing has failed', ['agent/'], null, false],
  ] as const)('%s', ([, allowed, failure, stops]) => {
    expect(unfixableSource(graph, fix, allowed, failure) !== undefined).toBe(stops);
  });
  test('names the script and both nodes', () => {
    expect(unfixableSource(graph, fix, ['agent/'], last())).toBe(
      'unfixable_failure_source: failed node t references scripts/check.sh outside allowed_write_paths for fix',
    );
  });
});

test('a truth gate holds only while the tool stands at success', () => {
  const wants = { requires_tool_success: true, required_tool_node: 't' };
  const stands = (status: 'success' | 'fail') => ({
    t: { status, label: '', notes: '', reason: '', class: null },
  });
  expect(truthGate(wants, stands('success'))).toBeUndefined();
  expect(truthGate(wants, stands('fail'))).toBe('required tool node not successful: t');
  expect(truthGate(wants, {})).toBe('required tool node not successful: t');
  expect(truthGate({ requires_tool_success: undefined, required_tool_node: 't' }, {})).toBeUndefined();
});
