/** Runs in all states, made up: what the API would answer for them. */

import type { ChangeList, StoredEvent } from '../../src/app/answers.ts';
import type { ExecutionGroup, ExecutionRow, ExecutionView } from '../../src/app/inspect/execution-shapes.ts';
import type { RunRow } from '../../src/app/inspect/run-row.ts';
import type { RunView } from '../../src/app/inspect/shapes.ts';
import { nothingSpent, type Spent } from '../../src/core/budget/usage.ts';

const started = Date.now() - 40 * 60_000;
const iso = (time: number): string => new Date(time).toISOString();
const ago = (minutes: number): string => iso(Date.now() - minutes * 60_000);
const spent = (cost_usd: number, calls: number, unknown_cost = 0): Spent => ({
  ...nothingSpent,
  ...{ calls, cost_usd, unknown_cost, input_tokens: calls * 12_400, output_tokens: calls * 812 },
});

const plain: RunRow = {
  run_id: '',
  title: 'link checker',
  pipeline: 'pipelines/compile-and-build.dot',
  status: 'completed',
  waiting: null,
  needs_attention: false,
  dismissed: false,
  headline: '',
  reason: '',
  started_at: iso(started),
  ended_at: null,
  elapsed_ms: 13_200,
  spent: nothingSpent,
  progress: null,
  at_node: null,
  next_node: '',
  failed_node: null,
  wake_at: null,
  delivered: null,
  forked_from: null,
  replay_of: null,
  question: null,
  questions: [],
  next: '',
  action: null,
  acts: [],
  run_dir: '/runs/r',
};

const wants = { needs_attention: true, acts: ['resume', 'fork'] } satisfies Partial<RunRow>;
const states: readonly Partial<RunRow>[] = [
  {
    ...wants,
    title: 'invoice-api',
    status: 'failed',
    headline: 'acceptance failed: totals.test',
    reason: 'WO-02: npm test exited with 1: expected 12.40, got 12.4',
    elapsed_ms: 240_000,
    spent: spent(0.31, 3),
    progress: { done: 1, total: 9, current: 'WO-02' },
    at_node: 'verify',
    next: 'factory resume 01M8',
    ended_at: ago(4),
  },
  {
    ...wants,
    status: 'paused_quota',
    headline: 'quota until 14:05',
    reason: 'gpt-5.2: 429 quota exceeded',
    spent: spent(0.02, 1),
    at_node: 'plan',
    wake_at: ago(-60),
    next: 'factory resume 01M8 --wait',
    ended_at: ago(14),
  },
  {
    ...wants,
    title: 'parser',
    status: 'crashed',
    headline: 'crashed in verify',
    reason: 'The process that owned the run ended without a result.',
    spent: spent(0, 2, 2),
    at_node: 'verify',
    next: 'factory resume 01M8',
    ended_at: ago(200),
  },
  {
    title: 'parser',
    status: 'running',
    headline: 'verify · npm test',
    elapsed_ms: 31 * 60_000,
    spent: spent(3.02, 40),
    progress: { done: 6, total: 7, current: 'WO-07' },
    at_node: 'verify',
    acts: ['stop'],
  },
  {
    headline: '4 commits, scenarios 2 of 2',
    progress: { done: 4, total: 4, current: null },
    delivered: false,
    ended_at: ago(100),
    acts: ['fork', 'deliver'],
  },
  {
    title: 'A spec with a very long first heading that has to be shortened somewhere in the list of runs',
    headline: '1 commit, proof holds',
    elapsed_ms: 5.2 * 3_600_000,
    spent: spent(1.84, 12, 1),
    delivered: true,
    ended_at: ago(130),
    acts: ['fork', 'deliver'],
  },
  {
    title: 'greet',
    status: 'interrupted',
    headline: 'interrupted before check',
    acts: ['resume', 'fork'],
    ended_at: ago(1600),
  },
  {
    title: 'old',
    status: 'unreadable',
    headline: 'manifest.json is missing',
    started_at: '',
    ended_at: ago(3000),
  },
  {
    ...wants,
    title: 'release',
    status: 'paused_answer',
    headline: 'Ship it? The tests passed, two of them only at the second attempt.',
    at_node: 'gate',
    acts: ['answer', 'steer', 'fork'],
    next: 'factory answer 01M8 gate@2',
    ended_at: ago(5),
    question: {
      ...{ id: 'gate@2', mode: 'freeform', timeout_action: 'default', answer: null },
      text: 'Ship it?\nThe tests passed, two of them only at the second attempt.',
      after: {
        node: 'verify',
        outcome: 'success',
        notes: 'exit code 0',
        output: 'ok 1 - opens\nok 2 - closes\n',
      },
      options: [
        { key: 'A', label: 'Approve', to: 'ship', command: 'factory answer 01M8 gate@2 --choice A' },
        { key: 'R', label: 'Request changes', to: 'fix', command: 'factory answer 01M8 gate@2 --choice R' },
      ],
      ...{ text_to: 'fix', text_command: 'factory answer 01M8 gate@2 --text TEXT', default: 'Approve' },
      ...{ asked_at: ago(5), deadline: ago(-55) },
    },
  },
];

/** `count` runs: one in each state, then more that ended earlier. */
export const madeRuns = (count: number): readonly RunRow[] =>
  Array.from({ length: count }, (_, at) => {
    const state = states[at < states.length ? at : 4 + (at % 4)];
    return {
      ...plain,
      ...state,
      questions: state?.question == null ? [] : [state.question],
      run_id: `01M8${String(at).padStart(4, '0')}ABCDEFGHJKMNPQRS`,
      ...(at < states.length ? {} : { ended_at: ago(1440 + at * 37), needs_attention: false }),
    };
  });

const order = ['start', 'plan', 'check', 'propose', 'apply', 'verify', 'rollback', 'commit', 'proof'];
const why = 'npm test exited with 1: not ok 3 - finds a broken anchor';

/** Executions one after another, as a run makes them. */
class Story {
  readonly executions: ExecutionRow[] = [];
  private at = started;
  private readonly visits = new Map<string, number>();

  add(node: string, state: ExecutionRow['state'], took: number, group: string): string {
    const visit = (this.visits.get(node) ?? 0) + 1;
    this.visits.set(node, visit);
    const asks = node === 'plan' || node === 'propose';
    if (state === 'running') this.at = Date.now() - took;
    const last = this.executions.at(-1);
    if (last !== undefined) last.next = node;
    this.executions.push({
      ...{ node, visit, state, group, type: asks ? 'codergen' : 'tool', label: node, took_ms: took },
      began_at: iso(this.at),
      ended_at: state === 'running' ? null : iso(this.at + took),
      ...(node === 'plan'
        ? { waited_ms: 4000, waits: [{ at: iso(this.at + 2000), ms: 4000 }], attempts: 2 }
        : { waited_ms: 0, waits: [], attempts: 1 }),
      ...{ pauses: [], waiting: null },
      model_ms: asks ? took * 0.8 : 0,
      class: state === 'fail' ? 'product' : null,
      reason: state === 'fail' ? why : '',
      notes: state === 'success' ? 'exit code 0' : '',
      cost_usd: asks ? 0.012 : null,
      usage: asks ? { model: 'gpt-5.2', input_tokens: 12_400, output_tokens: 812, cost_usd: 0.012 } : null,
      next: null,
      how: state === 'fail' ? 'outcome=fail' : 'outcome=success',
      replayed: false,
      human_answer: null,
      branch: null,
    });
    this.at += took + 10;
    return `${node}@${visit}`;
  }
}

function groupsOf(story: Story, row: RunRow, orders: number): ExecutionGroup[] {
  const plan = [
    story.add('start', 'success', 1, 'plan'),
    story.add('plan', 'success', 9000, 'plan'),
    story.add('check', 'success', 280, 'plan'),
  ];
  const group = (
    facts: Pick<ExecutionGroup, 'id' | 'title' | 'kind' | 'state' | 'attempts'>,
  ): ExecutionGroup => ({
    ...{ commit: null, took_ms: 6000, opened_by: null },
    ...facts,
  });
  const groups = [
    group({
      id: 'plan',
      title: 'Plan',
      kind: 'part',
      state: 'done',
      attempts: [{ number: 1, state: 'done', why: '', executions: plan }],
    }),
  ];
  for (let at = 1; at <= orders; at++) {
    const id = `WO-${String(at).padStart(2, '0')}`;
    const attempts: ExecutionGroup['attempts'] = [];
    const add = (node: string, state: ExecutionRow['state'], took: number) =>
      story.add(node, state, took, id);
    if (at % 2 === 0)
      attempts.push({
        ...{ number: 1, state: 'failed', why: 'acceptance failed: not ok 3' },
        executions: [
          add('propose', 'success', 5200),
          add('apply', 'success', 90),
          add('verify', 'fail', 640),
          add('rollback', 'success', 50),
        ],
      });
    const ends =
      at < orders
        ? 'done'
        : row.status === 'running'
          ? 'running'
          : row.status === 'completed'
            ? 'done'
            : 'failed';
    const executions = [add('propose', 'partial_success', 4100), add('apply', 'success', 90)];
    if (ends === 'done') executions.push(add('verify', 'success', 700), add('commit', 'success', 60));
    else executions.push(add('verify', ends === 'running' ? 'running' : 'fail', 15_000));
    attempts.push({ number: attempts.length + 1, state: ends, why: '', executions });
    groups.push(group({ id, title: `Part ${at} of the product`, kind: 'order', state: ends, attempts }));
  }
  return groups;
}

function resultOf(
  row: RunRow,
  executions: readonly ExecutionRow[],
  groups: readonly ExecutionGroup[],
): RunView['result'] {
  if (row.status === 'running' || row.status === 'crashed' || row.status === 'unreadable') return null;
  const hash = 'a3f1c2'.repeat(11).slice(0, 64);
  return {
    schema_version: 1,
    run_id: row.run_id,
    status: row.status,
    exit_code: 0,
    exit_node: 'proof',
    reason: '',
    failed_node: null,
    failure_class: null,
    failure_output: '',
    agent: 'scripted',
    stages: executions.length,
    failed_stages: 0,
    retries: 0,
    elapsed_ms: row.elapsed_ms,
    spent: row.spent,
    commits: groups
      .filter(({ kind }) => kind === 'order')
      .map(({ id, title }) => ({ work_order: id, commit: hash.slice(0, 40), subject: title, attempts: 1 })),
    proof: ['npm test'],
    audit: { findings: 0, errors: 0, warnings: 0 },
    evidence: {
      commands: executions
        .filter(({ node }) => node === 'verify')
        .slice(0, 6)
        .map(({ node, visit, state }) => ({
          ...{ node, visit, outcome: state === 'fail' ? 'fail' : 'success', what: 'verification' },
          ...{
            command: 'npm test && node bin/linkcheck.js docs',
            exit_code: 0,
            stdout_sha256: hash,
            stderr_sha256: hash,
          },
        })),
      more_commands: 3,
      inputs: {
        ...{ pipeline: hash, variables: { spec: hash }, prompts: {}, schemas: {} },
        ...{ scenarios: { sha256: hash, files: 2 }, agent_script: null, prices: null },
      },
      judged: { passed: 2, total: 2 },
      unchecked_orders: ['WO-03'],
      base_commit: null,
      commits: [],
      snapshot: null,
      chain: hash,
      journals: {},
      factory_version: '0.1.0',
    },
    verify: `factory verify ${row.run_id}`,
    run_dir: '/runs',
    workspace: '/runs/workspace',
    next: '',
  };
}

/** A run with about `orders` × 5 executions. */
export function madeView(row: RunRow, orders: number): RunView {
  const story = new Story();
  const groups = groupsOf(story, row, orders);
  const { executions } = story;
  const bad = row.status !== 'running' && row.status !== 'completed';
  return {
    ...row,
    schema_version: 1,
    agent: 'scripted',
    sandbox: {
      ...{ asked: 'auto', by: 'the default', used: 'bwrap', why: 'bubblewrap is there' },
      ...{ enforces: [], missing: [] },
    },
    not_enforced: bad ? ['network'] : [],
    spec: 'docs/link-checker.md',
    ...{ holdout: null, prices: { dated: '2026-11-01', from: 'bundled' }, nodes: [], failure: null },
    groups,
    levels: [],
    ahead: null,
    notes: [],
    accepted_weakness: null,
    branches: [],
    executions,
    graph: {
      ...{ name: 'main', direction: 'TB', regions: [], children: [], folds: [] },
      nodes: order.map((id) => {
        const own = executions.filter(({ node }) => node === id);
        const state = own.at(-1)?.state ?? ('none' as const);
        const took_ms = own.reduce((sum, one) => sum + one.took_ms, 0);
        return {
          ...{ id, type: 'tool', label: id, ends: null, state, took_ms, cost_usd: 0, calls: 0 },
          executions: own.length,
        };
      }),
      edges: order
        .slice(1)
        .map((to, at) => ({ ...{ from: order[at] ?? '', to, label: '', condition: '' }, taken: 1 })),
    },
    changed: { files: 6, names: ['src/links.js', 'src/pages.js', 'test/links.test.js', 'docs/links.md'] },
    card: bad
      ? {
          line: row.headline,
          node: `verify@${executions.filter(({ node }) => node === 'verify').length}`,
          command: 'npm test && node bin/linkcheck.js docs',
          exit_code: 1,
          place: { file: 'test/links.test.js', line: 22 },
          excerpt: {
            ...{ of: 'tool.stdout.txt', first: 12, at: 2 },
            lines: ['ok 1 - reads a page', 'ok 2 - follows a link', 'not ok 3 - finds a broken anchor'],
          },
          actions: [{ kind: 'continue', words: 'Continue', command: row.next }],
        }
      : null,
    cause: bad
      ? {
          headline: row.headline,
          lines: [why, 'WO-02 used its 3 attempts'],
          evidence: ['verify/tool.stdout.txt'],
          node: `verify@${executions.filter(({ node }) => node === 'verify').length}`,
          next: row.next,
        }
      : null,
    result: resultOf(row, executions, groups),
    last_event: 0,
    run_dir: `/home/ada/project/.factory/runs/${row.run_id}`,
  };
}

/** `count` events of the executions of a run. */
export function madeEvents({ run_id, executions }: RunView, count: number): readonly StoredEvent[] {
  const each = Math.max(2, Math.floor(count / executions.length));
  const events = executions.flatMap(({ node, visit, began_at, type }) => [
    { type: 'StageStarted', at: began_at, node_id: node, visit, node_type: type },
    ...Array.from({ length: each - 1 }, (_, at) => ({
      ...{ type: 'AgentActed', at: began_at, node_id: node, action: 'command', status: 'completed' },
      detail: `npm test -- part ${at}`,
    })),
  ]);
  return Array.from({ length: count }, (_, at) => ({
    ...(events[at] ?? { type: 'CheckpointSaved', at: iso(started), last_completed_node: 'verify' }),
    ...{ seq: at + 1, run_id, epoch: 1 },
  }));
}

/** The text of every file of every execution, in so many lines. */
export const madeOutput = (lines: number): string =>
  Array.from({ length: lines }, (_, at) =>
    at % 50 === 7
      ? `\x1b[31mnot ok ${at + 1}\x1b[0m - finds a broken anchor`
      : at % 9 === 0
        ? `10%\r60%\r\x1b[1m100%\x1b[0m step ${at + 1}`
        : `\x1b[32mok ${at + 1}\x1b[0m - \x1b[2ma line of a test\x1b[0m`,
  ).join('\n');

const proposal = JSON.stringify({
  summary: 'Reads links.',
  writes: [{ path: 'src/links.js', base_sha256: '', content: 'export const links = [];\n' }],
});

export function madeExecution(row: ExecutionRow, output: string): ExecutionView {
  const failed = row.state === 'fail';
  const text = (name: string, whole: string) => ({ name, text: whole, bytes: whole.length, from: 0 });
  return {
    schema_version: 1,
    ...row,
    question: null,
    failed: null,
    settings: [{ name: 'prompt', text: 'Propose the smallest change.' }],
    excerpt: failed ? "not ok 3 - finds a broken anchor\n    expected [ 'archive/2023.md' ]" : '',
    commands: row.usage === null ? [{ command: 'npm test', exit_code: failed ? 1 : 0 }] : [],
    prompt: row.usage === null ? null : text('prompt.md', '# Task\n\nPropose the smallest change.\n'),
    answer: row.usage === null ? null : text('response.md', proposal),
    output: row.usage === null && row.state !== 'running' ? [text('tool.stdout.txt', output)] : [],
    context: { set: { 'order.id': 'WO-02', findings: ['PLAN-12'] }, unset: ['last_error'] },
    changes: { created: [], modified: ['src/links.js'], deleted: [] },
    edges: [
      {
        to: 'commit',
        condition: 'outcome=success',
        matched: !failed,
        why_not: failed ? 'the outcome is fail' : '',
      },
      {
        to: 'rollback',
        condition: 'outcome=fail',
        matched: failed,
        why_not: failed ? '' : 'the outcome is success',
      },
    ],
    files: [{ name: 'tool.stdout.txt', bytes: output.length }],
    sandbox: 'bubblewrap',
    withheld: false,
  };
}

const patch = `diff --git a/src/links.js b/src/links.js
--- a/src/links.js
+++ b/src/links.js
@@ -1,3 +1,4 @@ export function links(text) {
 const found = [];
-for (const match of all) found.push(match[2]);
+for (const [, text, target] of all)
+  if (!target.startsWith('#')) found.push({ text, target });
 return found;
`;

export const madeChanges: ChangeList = {
  schema_version: 1,
  run_id: 'r',
  changes: [],
  from: { moment: 'the start', snapshot: 'a' },
  to: { moment: 'the end', snapshot: 'b' },
  files: [
    {
      path: 'src/links.js',
      what: 'modified',
      kind: 'file',
      patch,
      added: 2,
      removed: 1,
      cut: true,
      why_not: '',
      by: 'apply@2',
    },
    {
      path: 'logo.png',
      what: 'deleted',
      kind: 'file',
      patch: '',
      added: 0,
      removed: 0,
      cut: false,
      why_not: 'not a text',
      by: null,
    },
  ],
  more: 0,
  left_out: 2,
  withheld: false,
};
