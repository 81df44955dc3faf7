/** Every way a run can end has a next step that does not lead back to the same end. The lists of words are those of the engine: a new way
 *  to end has no row, and fails a test. */
import { describe, expect, test } from 'vitest';
import type { StoodRun } from '../../src/core/action-commands.ts';
import { gatesAfter, gatesBefore } from '../../src/core/gates.ts';
import { nextActions } from '../../src/core/next-actions.ts';
import { type FailureClass, failureClasses, pausedWords } from '../../src/core/outcome.ts';
import type { EndCause } from '../../src/core/records/checkpoint.ts';
import { type LimitName, limitNames } from '../../src/core/settings/limits.ts';

const plain = { offline: false, pipeline: 'p.dot', cause: undefined, failedNode: 'check', reason: '' };
const failed = { ...plain, status: 'failed', resumable: true } as const;
const exit = { ...failed, resumable: false };
const noRoute = { kind: 'no_route', node: 'check', outcome: 'fail', config: false } as const;
const agent = () => 'fix@2';
const anew = () => 'f run p.dot --holdout cases';
const typed = { program: 'f', run: 'r1' };
const bundled = { pipeline: undefined };

/** What is other when the first action runs, and a command that has it. A plain resume is the same run once more: only what has changed
 *  outside of it (the machine, the provider, a time) makes that end otherwise. */
const changes = {
  machine: /^f (?:resume r1|fork r1 --at \S+ --before)$/,
  time: /^f resume r1 --wait$/,
  nothing: /^f resume r1$/,
  person: /^f (?:answer|deliver) r1/,
  pipeline: /^f (?:resume r1 --accept-changes|fork r1 --at \S+ --before --pipeline p\.dot)$/,
  setup: /^f (?:resume r1|fork r1 --at \S+ --before) --accept-changes$/,
  limit: /^f resume r1 --(?:max-[a-z-]+ [\d.]+(?:m?s)?|unknown-cost allow)$/,
  hint: /^f fork r1 --at fix@2 --before --note TEXT$/,
  inputs: /^f run p\.dot/,
  agents: /^f resume r1 --live$/,
  look: /^f (?:audit|verify|why|show) r1$/,
  suite: /^f fork r1 --before \S+ --holdout DIR$/,
} as const;

type Row = readonly [
  what: string,
  stood: StoodRun,
  change: keyof typeof changes,
  first: string,
  others?: readonly string[],
];

const statusRows: Readonly<Record<Exclude<StoodRun['status'], 'failed'>, readonly Row[]>> = {
  running: [],
  completed: [],
  interrupted: [
    ['interrupted', { ...plain, status: 'interrupted', resumable: true }, 'nothing', 'f resume r1'],
  ],
  crashed: [['crashed', { ...plain, status: 'crashed', resumable: true }, 'nothing', 'f resume r1']],
  unreadable: [
    ['damaged records', { ...plain, status: 'unreadable', resumable: false }, 'look', 'f verify r1'],
  ],
  overridden: [
    ['an overridden failure', { ...plain, status: 'overridden', resumable: false }, 'look', 'f why r1'],
  ],
  paused_quota: [
    ['a quota', { ...plain, status: 'paused_quota', resumable: true }, 'time', 'f resume r1 --wait'],
    [
      'a quota, resets spent',
      {
        ...plain,
        status: 'paused_quota',
        resumable: true,
        reason:
          'max_windows: the run was resumed at 8 resets of the quota and finished no node, and its limit is 8 (--max-windows)',
      },
      'limit',
      'f resume r1 --max-windows 16',
    ],
  ],
  paused_outage: [
    ['an outage', { ...plain, status: 'paused_outage', resumable: true }, 'time', 'f resume r1 --wait'],
  ],
  paused_auth: [
    ['a refused key', { ...plain, status: 'paused_auth', resumable: true }, 'machine', 'f resume r1'],
  ],
  paused_billing: [
    ['a bill', { ...plain, status: 'paused_billing', resumable: true }, 'machine', 'f resume r1'],
  ],
  paused_disk: [
    ['a full disk', { ...plain, status: 'paused_disk', resumable: true }, 'machine', 'f resume r1'],
  ],
  paused_answer: [
    ['a question', { ...plain, status: 'paused_answer', resumable: true }, 'person', 'f answer r1'],
    [
      'an answered question',
      { ...plain, status: 'paused_answer', resumable: true, answered: true },
      'nothing',
      'f resume r1',
    ],
  ],
  paused_wait: [
    ['a wait', { ...plain, status: 'paused_wait', resumable: true }, 'time', 'f resume r1 --wait'],
  ],
  paused_cap: [
    ['a cap of the day', { ...plain, status: 'paused_cap', resumable: true }, 'time', 'f resume r1 --wait'],
  ],
};

const accept = 'f resume r1 --accept-changes';
const hint = 'f fork r1 --at fix@2 --before --note TEXT';

const causeRows: Readonly<Record<EndCause['kind'], readonly Row[]>> = {
  no_route: [
    [
      'no edge for a failure of class config',
      { ...failed, cause: { ...noRoute, config: true }, failureClass: 'config', agent, anew },
      'pipeline',
      accept,
      ['f resume r1'],
    ],
    [
      'no edge for an outcome of a node that has not failed',
      { ...failed, cause: { ...noRoute, outcome: 'success' }, failedNode: '', agent, anew },
      'pipeline',
      accept,
      [hint],
    ],
  ],
  loop_stopped: [
    [
      'the breaker',
      { ...failed, cause: { kind: 'loop_stopped' }, failureClass: 'product', agent, anew },
      'pipeline',
      accept,
      [hint],
    ],
    [
      'the breaker, in a pipeline of factory',
      { ...failed, ...bundled, cause: { kind: 'loop_stopped' }, failureClass: 'product', agent, anew },
      'hint',
      hint,
    ],
    [
      'the breaker, in a pipeline of factory without an agent',
      { ...failed, ...bundled, cause: { kind: 'loop_stopped' }, failureClass: 'product', anew },
      'inputs',
      anew(),
    ],
  ],
  // A success: its status has the row.
  overridden: [],
};

/** Of each class: where no edge takes the failure, and at an exit that fails, in an own pipeline and in one of factory. */
const classRows: Readonly<Record<FailureClass, readonly [own: Pair, exit: Pair, bundled: Pair]>> = {
  product: [
    ['pipeline', accept],
    ['pipeline', 'f fork r1 --at check --before --pipeline p.dot'],
    ['hint', hint],
  ],
  scenario: [
    ['suite', 'f fork r1 --before check --holdout DIR'],
    ['suite', 'f fork r1 --before check --holdout DIR'],
    ['suite', 'f fork r1 --before check --holdout DIR'],
  ],
  infra: [
    ['machine', 'f resume r1'],
    ['pipeline', 'f fork r1 --at check --before --pipeline p.dot'],
    ['machine', 'f fork r1 --at check --before'],
  ],
  config: [
    ['pipeline', accept],
    ['pipeline', 'f fork r1 --at check --before --pipeline p.dot'],
    ['machine', 'f fork r1 --at check --before'],
  ],
  guardrail: [
    ['pipeline', accept],
    ['pipeline', 'f fork r1 --at check --before --pipeline p.dot'],
    ['hint', hint],
  ],
  timeout: [
    ['pipeline', accept],
    ['pipeline', 'f fork r1 --at check --before --pipeline p.dot'],
    ['hint', hint],
  ],
  agent: [
    ['pipeline', accept],
    ['pipeline', 'f fork r1 --at check --before --pipeline p.dot'],
    ['hint', hint],
  ],
  stalled: [
    ['pipeline', accept],
    ['pipeline', 'f fork r1 --at check --before --pipeline p.dot'],
    ['hint', hint],
  ],
  cancelled: [
    ['pipeline', accept],
    ['pipeline', 'f fork r1 --at check --before --pipeline p.dot'],
    ['machine', 'f fork r1 --at check --before'],
  ],
  internal: [
    ['pipeline', accept],
    ['pipeline', 'f fork r1 --at check --before --pipeline p.dot'],
    ['machine', 'f fork r1 --at check --before'],
  ],
  budget: [
    ['pipeline', accept],
    ['pipeline', 'f fork r1 --at check --before --pipeline p.dot'],
    ['hint', hint],
  ],
};
type Pair = readonly [change: keyof typeof changes, first: string];

/** Limits that suspend a run, and the one that fails a node (class timeout), end none themselves. */
const endNone = ['park_after', 'max_outage', 'max_windows', 'command_timeout'] as const;
type Ending = Exclude<LimitName, (typeof endNone)[number]>;
const limitRows: Readonly<Record<Ending, readonly [reason: string, first: string]>> = {
  max_steps: [
    'max_steps: the run made 3 steps, and its limit is 3 (max_steps on the graph, --max-steps)',
    'f resume r1 --max-steps 6',
  ],
  max_wall: [
    'max_wall: the run took 61s, and its limit is 60s (max_wall on the graph, --max-wall)',
    'f resume r1 --max-wall 120s',
  ],
  max_visits: [
    'max_visits: node "check" ran 2 times, and its limit is 2 (max_visits on the node, default_max_visits on the graph, --max-visits)',
    'f resume r1 --max-visits 4',
  ],
  max_restarts: [
    'max_restarts: the edge check -> fix would restart the run again, which has restarted 5 times, and its limit is 5 (max_restarts on the graph, --max-restarts)',
    'f resume r1 --max-restarts 10',
  ],
  max_cost_usd: [
    'max_cost_usd: the run has spent 1.5 USD, and its limit is 1 USD (max_cost_usd on the graph, --max-cost-usd)',
    'f resume r1 --max-cost-usd 2',
  ],
  max_tokens: [
    'max_tokens: the run has spent 150 tokens, and its limit is 100 tokens (max_tokens on the graph, --max-tokens)',
    'f resume r1 --max-tokens 200',
  ],
  unknown_cost: [
    'max_tokens: 1 call did not report their tokens, so a limit of 9 tokens cannot be held; allow calls of unknown cost with unknown_cost=allow on the graph or --unknown-cost allow',
    'f resume r1 --unknown-cost allow',
  ],
};

const unfixable = (cause: FailureClass) => ({
  ...failed,
  failureClass: cause,
  reason: `unfixable_failure_source: failed node check failed with class ${cause} (reported by the scenario), which no change by fix fixes; fix it`,
  agent,
  anew,
});

/** By the name of the gate, in order. */
const gateRows: Readonly<Record<string, readonly Row[]>> = {
  restarts: [],
  visitsStepsAndTime: [
    ...(['max_wall', 'max_tokens', 'max_cost_usd'] as const).map(
      (limit): Row => [
        `${limit} of a node`,
        {
          ...failed,
          reason: `${limit}: node "fix" has spent 2, and its limit is 1 (${limit} on the node)`,
          agent,
        },
        'pipeline',
        accept,
        [hint],
      ],
    ),
  ],
  spending: [],
  unfixableFailure: [
    [
      'a scenario that no agent can fix',
      unfixable('scenario'),
      'suite',
      'f fork r1 --before check --holdout DIR',
      [anew()],
    ],
    ['a machine that no agent can fix', unfixable('infra'), 'machine', 'f fork r1 --at check --before'],
    [
      'a command that no agent can fix',
      unfixable('config'),
      'pipeline',
      'f fork r1 --at check --before --pipeline p.dot',
    ],
    [
      'a command of a pipeline of factory that no agent can fix',
      { ...unfixable('config'), ...bundled },
      'machine',
      'f fork r1 --at check --before',
    ],
    [
      'scripts outside allowed_write_paths',
      {
        ...failed,
        failureClass: 'product',
        reason:
          'unfixable_failure_source: failed node check references t.sh outside allowed_write_paths for fix',
        agent,
      },
      'pipeline',
      accept,
      [hint],
    ],
  ],
  otherNodeThanReplayed: [
    ['another node than was replayed', { ...failed, offline: true }, 'agents', 'f resume r1 --live'],
  ],
  exitThatFails: [],
  unmetGoalGate: [],
  failureIntoExit: [],
  spentGoalGate: [],
  endByManager: [
    [
      'a limit of a watched pipeline',
      {
        ...failed,
        reason:
          'max_cycles: node "m" has watched 5 executions of its pipeline, which has not reached an exit, and its limit is 5 (manager.max_cycles)',
      },
      'pipeline',
      accept,
    ],
  ],
  rejectedByAudit: [
    ['the audit', { ...exit, reason: 'audit: 1 error', agent, anew }, 'look', 'f audit r1', [hint]],
  ],
  overriddenSuccess: [],
  stalledLoop: [],
  otherRouteThanReplayed: [
    ['another route than was replayed', { ...failed, offline: true }, 'agents', 'f resume r1 --live'],
  ],
};

/** Gates whose ends have their rows elsewhere: by limits, by classes of failures at an exit, by causes. */
const elsewhere: readonly string[] = [
  'restarts',
  'spending',
  'exitThatFails',
  'unmetGoalGate',
  'failureIntoExit',
  'spentGoalGate',
  'overriddenSuccess',
  'stalledLoop',
];

/** Ends that are no verdict of a gate. */
const otherRows: readonly Row[] = [
  [
    'scenarios that are too weak a judge',
    { ...exit, failedNode: 'judge', failureClass: 'scenario', weakJudge: 'judge', anew, agent },
    'suite',
    'f fork r1 --before judge --holdout DIR',
    ['f scenario survivors r1'],
  ],
  [
    'a leak',
    { ...failed, reason: 'holdout_leak: a.txt shows line 3 of a sealed file', agent },
    'pipeline',
    accept,
    [hint],
  ],
  [
    'a leak in a pipeline of factory',
    { ...failed, ...bundled, reason: 'holdout_leak: a.txt shows line 3 of a sealed file', agent },
    'hint',
    hint,
  ],
  [
    'a disk that is broken',
    { ...failed, reason: 'check: /w/a: no space left on device' },
    'machine',
    'f resume r1',
  ],
];

const paired = failureClasses.flatMap((one): readonly Row[] => {
  const [own, atExit, ofFactory] = classRows[one];
  const stood = { failureClass: one, agent, anew };
  return [
    [`no edge for class ${one}`, { ...failed, cause: noRoute, ...stood }, ...own],
    [`class ${one} at an exit`, { ...exit, ...stood }, ...atExit],
    [`class ${one} in a pipeline of factory`, { ...exit, ...bundled, ...stood }, ...ofFactory],
  ];
});
const setupFailed =
  'setup: "npm ci --x \\"a: b\\"" of /p/my app/factory.json ended with exit code 1:\nno such package';
const setupRows: readonly Row[] = [
  [
    'a setup command that fails, at an exit',
    { ...exit, failureClass: 'config', reason: `bad: check: ${setupFailed}` },
    'setup',
    'f fork r1 --at check --before --accept-changes',
    [],
  ],
  [
    'a setup command that fails, of a bundled pipeline without an edge for it',
    {
      ...failed,
      ...bundled,
      failureClass: 'config',
      cause: { ...noRoute, config: true },
      reason: `no route from node check for outcome fail: ${setupFailed} (class config: only an edge that names failure_class takes it)`,
    },
    'setup',
    'f resume r1 --accept-changes',
    [],
  ],
  [
    'a setup command that takes too long',
    {
      ...exit,
      failureClass: 'timeout',
      reason:
        'bad: check: setup: "sleep 9" of /p/factory.json was still running after 2s (default_timeout …)',
    },
    'setup',
    'f fork r1 --at check --before --accept-changes',
    [],
  ],
  [
    'a lock file that an agent has broken',
    { ...exit, failureClass: 'product', reason: `bad: check: ${setupFailed}`, agent },
    'hint',
    'f fork r1 --at fix@2 --before --note TEXT',
    ['f fork r1 --at check --before --accept-changes'],
  ],
  [
    'a tool whose output only looks like it',
    { ...exit, failureClass: 'product', reason: 'bad: check: setup: "x" failed' },
    'pipeline',
    'f fork r1 --at check --before --pipeline p.dot',
  ],
];
const limited = Object.entries(limitRows).map(
  ([limit, [reason, first]]): Row => [
    `${limit} of the run`,
    { ...failed, reason, agent },
    'limit',
    first,
    [hint],
  ],
);

const all = [
  ...Object.values(statusRows).flat(),
  ...Object.values(causeRows).flat(),
  ...paired,
  ...limited,
  ...Object.values(gateRows).flat(),
  ...otherRows,
  ...setupRows,
];

test.for(all)('%s: the first action does not lead back', ([, stood, change, first, others]) => {
  const actions = nextActions(stood, typed);
  expect(actions[0]?.command).toBe(first);
  expect(first).toMatch(changes[change]);
  if (others !== undefined) expect(actions.slice(1).map(({ command }) => command)).toEqual(others);
  for (const { words } of actions) expect(words).not.toBe('');
});

describe('each way to end has a row', () => {
  test('of the words of suspended runs, and of the causes, by their types', () => {
    for (const word of pausedWords) expect(statusRows[word], word).not.toEqual([]);
  });

  test('of the limits', () => {
    expect([...Object.keys(limitRows), ...endNone].sort()).toEqual([...limitNames].sort());
  });

  test('of the gates', () => {
    const gates = [...gatesBefore, ...gatesAfter].map(({ name }) => name);
    expect(Object.keys(gateRows)).toEqual(gates);
    for (const gate of gates) expect(elsewhere.includes(gate), gate).toBe(gateRows[gate]?.length === 0);
  });
});
