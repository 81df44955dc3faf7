/** Which rule keeps a run from its next node: before it starts, and after an edge is chosen. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { kinds } from '../../src/app/kinds.ts';
import { nothingSpent } from '../../src/core/budget/usage.ts';
import type { PlanFacts, StepFacts } from '../../src/core/decision.ts';
import { emptyReport, failed, type Outcome, outcomeWords, succeeded } from '../../src/core/outcome.ts';
import type { RunState } from '../../src/core/records/checkpoint.ts';
import { plan, step } from '../../src/core/step.ts';
import { defaultCaps } from '../support/caps.ts';
import { freshState, graphOf } from '../support/graph.ts';

const now: PlanFacts = {
  kinds,
  caps: defaultCaps,
  elapsedMs: 0,
  spent: nothingSpent,
  unpriced: [],
  interrupted: false,
};
const ended = { exit_node: 'exit', ok: true, reason: '', code: 0 };
const parked = { status: 'paused_quota', node: 'a', reason: 'full', wake_at: null, since: '' } as const;
const unfixable = failed('no', 'infra');
const last: RunState['last_failure'] = {
  node: 'a',
  node_type: 'tool',
  class: 'infra',
  class_said: true,
  reason: unfixable.reason,
  exit_code: 1,
  model: null,
  executable_success_since: false,
};

describe('before a node', () => {
  const graph = graphOf(`goal="ship"; start [shape=Mdiamond]; exit [shape=Msquare]
    a [shape=parallelogram, max_visits=2, max_wall="1s"]; fix; start -> a -> fix -> a; a -> exit`);

  test('it executes what the state names, with goal and node in the context', () => {
    const next = plan(graph, freshState('a', { visits: { a: 1 }, context: { x: 1 } }), now);
    expect(next).toMatchObject({ do: 'execute', node: { id: 'a' }, kind: { type: 'tool' }, visit: 2 });
    expect(next).toMatchObject({ state: { context: { x: 1, 'graph.goal': 'ship', current_node: 'a' } } });
  });

  test.for<[string, Partial<RunState>, Partial<PlanFacts>, object]>([
    ['has ended', { ended }, { interrupted: true }, { do: 'finish', ending: { ok: true, exitNode: 'exit' } }],
    ['is suspended', { parked }, { interrupted: true }, { do: 'suspend', parked }],
    ['is interrupted', { visits: { a: 2 } }, { interrupted: true }, { do: 'interrupt' }],
  ])('a run that %s stops, whatever its limits', ([, state, facts, stop]) => {
    expect(plan(graph, freshState('a', state), { ...now, ...facts })).toMatchObject(stop);
  });

  test.for<[RegExp, Partial<RunState>, Partial<PlanFacts>]>([
    [/^max_visits: node "a" ran 2 times/, { visits: { a: 2 } }, {}],
    [/^max_steps:/, { steps: 10_000 }, {}],
    [/^max_wall: the run/, {}, { caps: { ...now.caps, max_wall: 5 }, elapsedMs: 5 }],
    [/^max_wall: node "a"/, { node_ms: { a: 600 }, cut_ms: 400 }, {}],
    [
      /^max_tokens:/,
      {},
      { caps: { ...now.caps, max_tokens: 1 }, spent: { ...nothingSpent, input_tokens: 2 } },
    ],
    [/^unfixable_failure_source:/, { next_node: 'fix', last_failure: last }, {}],
    [/^astray$/, {}, { replay: 'astray' }],
    // The first that objects is the reason.
    [/^max_visits/, { visits: { a: 2 }, steps: 10_000 }, { replay: 'astray' }],
  ])('%s ends it', ([reason, state, facts]) => {
    expect(plan(graph, freshState('a', state), { ...now, ...facts })).toMatchObject({
      do: 'finish',
      ending: { ok: false, exitNode: null, code: 1, reason: expect.stringMatching(reason) },
    });
  });

  test.for<[string, Partial<RunState>, Partial<PlanFacts>, true | undefined]>([
    ['visits of the node', { visits: { a: 2 } }, {}, true],
    ['time of the node', { node_ms: { a: 1000 } }, {}, true],
    ['restarts', { restarts: 1 }, { caps: { ...now.caps, max_restarts: 0 } }, true],
    ['steps of the run', { steps: 10_000 }, {}, undefined],
    ['time of the run', {}, { caps: { ...now.caps, max_wall: 5 }, elapsedMs: 5 }, undefined],
    // Whatever its words are.
    ['a replay', {}, { replay: 'max_visits: node "a" ran 2 times' }, undefined],
  ])('in a branch a limit on %s ends the branch or the run', ([, state, facts, ofBranch]) => {
    const next = plan(graph, freshState('a', state), { ...now, ...facts });
    expect(next.do === 'finish' ? next.ending.ofBranch : 'runs').toBe(ofBranch);
  });

  test('a failure that no change fixes stops agents, and no other node', () => {
    expect(plan(graph, freshState('a', { last_failure: last }), now)).toMatchObject({ do: 'execute' });
  });
});

const at = '2026-01-01T00:00:01.000Z';
const of = (node: string, type: string, more: Partial<StepFacts> = {}): StepFacts => ({
  node,
  type,
  executable: type !== 'exit',
  feedback: {},
  at,
  ...more,
});
const alike = { signature: 's', head: 'boom', count: 3, visits: [1, 2, 3], step: 9, after: 'x' };

describe('after a node', () => {
  const graph =
    graphOf(`a [shape=parallelogram]; fix; exit [shape=Msquare]; g [goal_gate=true, retry_target=a]
    a -> fix [condition="outcome=fail"]; a -> exit; fix -> a; g -> exit`);
  const no = failed('boom', 'product');
  const loop = freshState('a', { last_failure: { ...last, node: 'a' } });
  const success = { do: 'finish', ending: { ok: true } };

  test.for<[string, RunState, Outcome, StepFacts, object]>([
    ['nothing objects to an edge', loop, no, of('a', 'tool'), { do: 'run', node: 'fix' }],
    ['nothing objects to an exit', freshState('exit'), succeeded(), of('exit', 'exit'), success],
    [
      'an audit rejects a success',
      freshState('exit'),
      succeeded(),
      of('exit', 'exit', { audit: 'leak' }),
      { do: 'finish', ending: { ok: false, exitNode: 'exit', reason: 'leak', code: 1 } },
    ],
    [
      'an audit says nothing where the run continues',
      loop,
      no,
      of('a', 'tool', { audit: 'leak' }),
      { do: 'run', node: 'fix' },
    ],
    [
      'a loop without progress ends',
      loop,
      no,
      of('a', 'tool', { repeats: alike }),
      { do: 'finish', ending: { ok: false, exitNode: null, reason: expect.stringMatching(/^loop_stopped/) } },
    ],
    [
      'it ends where the edge does not lead back',
      loop,
      succeeded(),
      of('a', 'tool', { repeats: alike }),
      { do: 'run', node: 'exit' },
    ],
    [
      'a loop without progress does not end where a test stops the run',
      loop,
      no,
      of('a', 'tool', { repeats: alike, testStop: true }),
      { do: 'run', node: 'fix' },
    ],
    [
      'a loop ends where an unmet gate sends the run back into it',
      freshState('exit', {
        outcomes: { g: { status: 'fail', label: '', notes: '', reason: '', class: 'product' } },
        last_failure: { ...last, node: 'a' },
        alike: { a: alike },
      }),
      succeeded(),
      of('exit', 'exit'),
      { do: 'finish', ending: { reason: expect.stringMatching(/^loop_stopped: node a/) } },
    ],
    [
      'a replay that is astray overrules all',
      freshState('exit'),
      succeeded(),
      of('exit', 'exit', { audit: 'leak', replay: 'astray' }),
      { do: 'finish', ending: { ok: false, exitNode: null, reason: 'astray', code: 1 } },
    ],
  ])('%s', ([, before, outcome, facts, decision]) => {
    expect(step(graph, before, outcome, facts).decision).toMatchObject(decision);
  });

  test('an end by a gate leaves the next node, where a resume continues', () => {
    const { change } = step(graph, loop, no, of('a', 'tool', { repeats: alike }));
    expect(change.now.next_node).toBe('fix');
  });
});

const outcomes: fc.Arbitrary<Outcome> = fc
  .record({ status: fc.constantFrom(...outcomeWords), broke: fc.boolean(), label: fc.constantFrom('', 'x') })
  .map(({ status, broke, label }): Outcome => {
    if (status === 'fail') return failed('no', 'product', { broke, label });
    return status === 'retry'
      ? { ...emptyReport, label, status, reason: '' }
      : { ...emptyReport, label, status };
  });
const edges = [
  'a -> b',
  'a -> g [label=x]',
  'a -> exit [condition="outcome=fail"]',
  'b -> a [weight=2]',
  'g -> exit',
  'g -> a [condition="outcome=fail"]',
  'b -> exit',
];
const nodes =
  'a [shape=parallelogram]; b [shape=parallelogram]; g [goal_gate=true, retry_target=a]; exit [shape=Msquare]';

test('what follows a node is one of its graph’s nodes or an end, changes no input, and does not depend on the order of edges', () => {
  fc.assert(
    fc.property(
      fc.shuffledSubarray(edges),
      fc.constantFrom('a', 'b', 'g', 'exit'),
      outcomes,
      fc.record({
        repeats: fc.constantFrom(undefined, null, alike),
        audit: fc.constantFrom(undefined, 'leak'),
        replay: fc.constantFrom(undefined, 'astray'),
      }),
      fc.constantFrom(undefined, 'fail', 'success'),
      (some, node, outcome, extra, gate) => {
        const before = freshState(node, {
          last_outcome: outcome,
          outcomes:
            gate === undefined
              ? {}
              : { g: { status: gate as 'fail', label: '', notes: '', reason: '', class: null } },
        });
        const kept = structuredClone(before);
        const facts = of(node, node === 'exit' ? 'exit' : node === 'g' ? 'codergen' : 'tool', extra);
        const decided = (list: readonly string[]) => {
          const graph = graphOf([nodes, ...list].join('; '));
          const { decision, change } = step(graph, before, outcome, facts);
          if (decision.do === 'run') expect(graph.nodes.has(decision.node)).toBe(true);
          if (decision.do === 'run') expect(change.now.next_node).toBe(decision.node);
          return { decision, change };
        };
        expect(decided([...some].sort())).toEqual(decided(some));
        expect(before).toEqual(kept);
      },
    ),
    { numRuns: 100 },
  );
});
