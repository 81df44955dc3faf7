import { describe, expect, test } from 'vitest';
import { capHit, raisedLimit, spendHit } from '../../src/core/budget/limits.ts';
import { nothingSpent } from '../../src/core/budget/usage.ts';
import { truthGate } from '../../src/core/gates.ts';
import { type Attribution, failed, succeeded } from '../../src/core/outcome.ts';
import type { LastFailure } from '../../src/core/records/checkpoint.ts';
import { unfixableSource } from '../../src/core/unfixable.ts';
import { graphOf } from '../support/graph.ts';

describe('caps', () => {
  const caps = { max_steps: 10, max_wall: 1000 };
  const node = { id: 'a', max_visits: 3, visits: 0 };
  test.for([
    ['nothing is hit', node, { steps: 0, elapsedMs: 0 }, undefined],
    ['visits of the node', { ...node, visits: 3 }, { steps: 0, elapsedMs: 0 }, 'max_visits'],
    ['steps of the run', node, { steps: 10, elapsedMs: 0 }, 'max_steps'],
    ['time of the run', node, { steps: 0, elapsedMs: 1000 }, 'max_wall'],
    ['the last visit, step and moment', { ...node, visits: 2 }, { steps: 9, elapsedMs: 999 }, undefined],
    ['time of the node', { ...node, max_wall: 5, elapsedMs: 5 }, { steps: 0, elapsedMs: 0 }, 'max_wall'],
  ] as const)('%s', ([, at, run, wanted]) => {
    expect(capHit(caps, at, run)?.reason.split(':')[0]).toBe(wanted);
  });

  const spent = { ...nothingSpent, calls: 1, cost_usd: 0.75, input_tokens: 90, output_tokens: 20 };
  const purse = (limits: object) => ({ caps: limits, spent });
  const next = { tokens: 1000, costUsd: 3, model: 'm' };
  const small = { tokens: 10, costUsd: 0.1, model: 'm' };
  test.for<[string, object, Parameters<typeof spendHit>[2], Parameters<typeof spendHit>[3], boolean]>([
    ['all of the money is not more than all', { max_cost_usd: 0.75 }, undefined, undefined, false],
    ['all of the tokens are not more than all', { max_tokens: 110 }, undefined, undefined, false],
    [
      'but nothing is left of it for a call',
      { max_cost_usd: 0.75 },
      { ...small, costUsd: 0 },
      undefined,
      true,
    ],
    ['nor of the tokens', { max_tokens: 110 }, { ...small, tokens: 0 }, undefined, true],
    ['a call that fits', { max_cost_usd: 0.9, max_tokens: 120 }, small, undefined, false],
    ['a call into the reserved money', { max_cost_usd: 1 }, small, { usd: 0.2, tokens: 0 }, true],
    ['a call into the reserved tokens', { max_tokens: 130 }, small, { usd: 0, tokens: 11 }, true],
    ['a call that leaves the reserve', { max_tokens: 130 }, small, { usd: 9, tokens: 10 }, false],
  ])('%s', ([, limits, call, kept, hit]) => {
    expect(spendHit(purse(limits), undefined, call, kept) !== undefined).toBe(hit);
  });
  test('one call of unknown usage makes a limit unenforceable', () => {
    const untold = { ...spent, unknown_tokens: 1, unknown_cost: 1 };
    for (const limits of [{ max_tokens: 500 }, { max_cost_usd: 5 }]) {
      expect(spendHit({ caps: limits, spent: untold }, undefined)).toContain('1 call');
      expect(spendHit({ caps: limits, spent: untold }, 'allow')).toBeUndefined();
    }
  });
  test.for<[string | undefined, string | undefined]>([
    [capHit(caps, { ...node, visits: 3 }, { steps: 0, elapsedMs: 0 })?.reason, '--max-visits 6'],
    [capHit(caps, node, { steps: 10, elapsedMs: 0 })?.reason, '--max-steps 20'],
    [
      capHit({ max_steps: 1, max_wall: 90_000 }, node, { steps: 0, elapsedMs: 90_000 })?.reason,
      '--max-wall 180s',
    ],
    // Parts of a second are written in milliseconds: rounded, the limit would be zero.
    [
      capHit({ max_steps: 1, max_wall: 400 }, node, { steps: 0, elapsedMs: 900 })?.reason,
      '--max-wall 1600ms',
    ],
    [
      capHit({ max_steps: 1, max_wall: 1500 }, node, { steps: 0, elapsedMs: 1501 })?.reason,
      '--max-wall 3000ms',
    ],
    [capHit(caps, { ...node, max_wall: 5, elapsedMs: 5 }, { steps: 0, elapsedMs: 0 })?.reason, undefined],
    [spendHit(purse({ max_cost_usd: 0.7 }), undefined), '--max-cost-usd 1.4'],
    [spendHit(purse({ max_tokens: 100 }), undefined), '--max-tokens 200'],
    [spendHit(purse({ max_cost_usd: 0 }), undefined), '--max-cost-usd 1.5'],
    [spendHit({ ...purse({ max_tokens: 100 }), node: 'a' }, undefined), undefined],
    [spendHit(purse({ max_tokens: 500 }), undefined, next, { usd: 0, tokens: 40 }), '--max-tokens 2000'],
    // What was spent, taken or is to come may be far beyond the limit by then.
    [spendHit(purse({ max_cost_usd: 0.1 }), undefined), '--max-cost-usd 0.8'],
    [spendHit(purse({ max_tokens: 55 }), undefined), '--max-tokens 220'],
    [
      capHit({ max_steps: 1, max_wall: 20_000 }, node, { steps: 0, elapsedMs: 100_000 })?.reason,
      '--max-wall 160s',
    ],
    [spendHit(purse({ max_tokens: 600 }), undefined, next, { usd: 0, tokens: 100 }), '--max-tokens 2400'],
    ['stage a failed: its limit is 5 (--max-steps)', undefined],
    [spendHit(purse({ max_cost_usd: 2 }), undefined, next), '--max-cost-usd 4'],
    [
      spendHit({ ...purse({ max_cost_usd: 9 }), spent: { ...spent, unknown_cost: 1 } }, undefined),
      '--unknown-cost allow',
    ],
    ['stage a failed', undefined],
  ])('the reason %j is answered with %j', ([reason, flag]) => {
    expect(reason).toBeDefined();
    expect(raisedLimit(reason ?? '')).toBe(flag);
  });
});

describe('a failure that no change can fix', () => {
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
    [
      'the command could not be found',
      ['scripts/'],
      last({
        exit_code: 127,
        class: 'config',
        attribution: { class: 'config', how: 'evidence', why: 'exit code 127' },
      }),
      true,
    ],
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

describe('a failure that is not the product’s', () => {
  const graph = graphOf(`
    judge [shape=parallelogram, tool_command="sh scripts/scenarios/a.sh app"]; log [shape=parallelogram, tool_command="x"]
    verify [type=verification, verification.allowed_commands="x"]; fix; plan; report; out [shape=Msquare]
    judge -> fix -> judge; judge -> log -> plan -> judge; judge -> report -> out; verify -> fix -> verify`);
  const node = (id: string) => {
    const found = graph.nodes.get(id);
    if (found === undefined) throw new Error(`no node ${id}`);
    return found;
  };
  const last = (
    of: LastFailure['class'],
    how: Attribution['how'],
    more: Partial<LastFailure> = {},
  ): LastFailure => ({
    node: 'judge',
    node_type: 'tool',
    class: of,
    class_said: how === 'said',
    reason: 'no',
    exit_code: 1,
    model: null,
    executable_success_since: false,
    attribution: { class: of, how, why: 'because' },
    judge: true,
    ...more,
  });
  const verified = { node: 'verify', node_type: 'verification', judge: false } as const;
  const since = { executable_success_since: true };
  test.for([
    ['said to be the scenario’s', 'fix', last('scenario', 'said'), true],
    ['said to be the machine’s', 'fix', last('infra', 'said'), true],
    ['said to be the configuration’s', 'fix', last('config', 'said'), true],
    ['shown by exit code 86', 'fix', last('infra', 'evidence', { exit_code: 86 }), true],
    ['shown by exit code 127', 'fix', last('config', 'evidence', { exit_code: 127 }), true],
    ['shown by a second run', 'fix', last('scenario', 'rerun'), true],
    ['shown by the words of a scenario', 'fix', last('infra', 'words'), true],
    ['of a verification too', 'fix', last('infra', 'said', verified), true],
    ['does not stop one who leads nowhere back', 'report', last('infra', 'said'), false],
    ['stops the agent further down the loop', 'plan', last('infra', 'said', since), true],
    [
      'is settled by a success, where no judge has spoken',
      'fix',
      last('infra', 'said', { ...verified, ...since }),
      false,
    ],
    ['is a guess where nothing shows it', 'fix', last('config', 'default'), false],
    ['is none where the product is to blame', 'fix', last('product', 'rerun'), false],
    [
      'is none where the product is said to be to blame',
      'fix',
      last('product', 'said', { exit_code: 127 }),
      false,
    ],
  ] as const)('%s', ([, agent, failure, stops]) => {
    const found = unfixableSource(graph, node(agent), [], failure);
    expect(found !== undefined, found).toBe(stops);
    expect(found ?? 'unfixable_failure_source').toMatch(/^unfixable_failure_source/);
  });
  test('says how that is known and what to do', () => {
    expect(unfixableSource(graph, node('fix'), [], last('infra', 'evidence', { exit_code: 86 }))).toBe(
      'unfixable_failure_source: failed node judge failed with class infra (because), which no change by fix fixes; fix the machine, the network or the key that it needs, then run the node again (factory fork RUN --at judge --before)',
    );
    expect(unfixableSource(graph, node('fix'), [], last('scenario', 'rerun'))).toMatch(
      /failed with class scenario \(because\), which no change by fix fixes; fix the scenario, then/,
    );
  });
});

test.for([
  [
    'the tool that it requires has succeeded',
    'requires_tool_success=true, required_tool_node=t',
    'success',
    true,
  ],
  ['that tool has failed', 'requires_tool_success=true, required_tool_node=t', 'fail', false],
  ['that tool has not run', 'requires_tool_success=true, required_tool_node=u', 'success', false],
  ['it requires nothing', 'required_tool_node=u', 'fail', true],
] as const)('a success behind a truth gate: %s', ([, attributes, status, counts]) => {
  const node = graphOf(`a [${attributes}]; t; u`).nodes.get('a');
  if (node === undefined) throw new Error('no node a');
  const outcomes = { t: { status, label: '', notes: '', reason: '', class: null } };
  const success = succeeded({ updates: { x: 1 }, denied: ['rm'] });
  const outcome = truthGate({ node, kind: { executable: true } }, { outcomes }, success);
  const no = {
    status: 'fail',
    class: 'guardrail',
    reason: /^required tool node not successful: [tu]$/,
    denied: ['rm'],
  };
  if (counts) expect(outcome).toBe(success);
  else expect(outcome).toMatchObject({ ...no, reason: expect.stringMatching(no.reason), updates: {} });
  expect(truthGate({ node, kind: { executable: false } }, { outcomes }, success)).toBe(success);
  const failure = failed('x', 'product');
  expect(truthGate({ node, kind: { executable: true } }, { outcomes }, failure)).toBe(failure);
});
