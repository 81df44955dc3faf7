import { expect, test } from 'vitest';
import { groupsOf } from '../../../src/app/inspect/groups.ts';
import { checkPipeline } from '../../../src/app/read-pipeline.ts';
import type { VisitRecord } from '../../../src/core/records/visit.ts';

const text = `digraph g { start; exit; brief [type=tool, tool_command="factory plan prompt --spec x"]; plan [prompt=p]
  next [type=tool, tool_command="factory order next"]; apply [type=tool, tool_command="factory order apply"]
  proof [type=tool, tool_command="factory order proof"]; judge [type=tool, tool_command="factory scenario run s"]
  start -> brief -> plan -> next -> apply -> proof -> judge -> exit }`;
const { graph } = checkPipeline('p.dot', text);

/** Orders that are done, the current one and its attempt, and its failure. */
type State = { done: string[]; id?: string; attempt?: number; failed?: string };
type Step = readonly [node: string, state?: State, outcome?: 'fail'];

function stepsOf(steps: readonly Step[]) {
  const counts = new Map<string, number>();
  const rows = steps.map(([node, , state = 'success']) => {
    const visit = 1 + (counts.get(node) ?? 0);
    counts.set(node, visit);
    const type = node === 'plan' ? 'codergen' : node === 'exit' || node === 'start' ? node : 'tool';
    return {
      node,
      visit,
      type,
      state,
      reason: state === 'fail' ? `${node} failed` : '',
      notes: '',
      took_ms: 10,
    };
  });
  const visits = steps.map(([node, state]) => ({
    node,
    ...(state === undefined ? {} : { tool_state: { order: build(state) } }),
  }));
  return {
    rows: rows as unknown as Parameters<typeof groupsOf>[0]['rows'],
    visits: visits as unknown as readonly VisitRecord[],
  };
}

const build = ({ done, id, attempt = 0, failed }: State) => ({
  version: 1,
  digests: { 'WO-01': 'a', 'WO-02': 'b', 'WO-03': 'c' },
  head: null,
  done: done.map((one) => ({ id: one, commit: `${one}c`, subject: `${one}: did ${one}`, attempts: 1 })),
  current:
    id === undefined
      ? null
      : {
          ...{ id, attempt, snapshot: null, touched: [], brief: null },
          failed: failed === undefined ? null : { stage: 'verify_failed', reason: failed },
        },
});

const steps: readonly Step[] = [
  ['start'],
  ['brief'],
  ['plan'],
  ['next', { done: [], id: 'WO-01' }],
  ['apply', { done: [], id: 'WO-01', attempt: 1, failed: 'npm test' }, 'fail'],
  ['apply', { done: [], id: 'WO-01', attempt: 2 }],
  ['commit', { done: ['WO-01'] }],
  ['next', { done: ['WO-01'], id: 'WO-02' }],
];

test('executions belong to the order that is current, by its attempts; start to the plan, orders that wait are listed', () => {
  const { groups, of } = groupsOf({
    ...stepsOf(steps),
    ...{ graph, title: 'T', titles: new Map([['WO-03', 'Later']]), ended: true },
  });
  expect(groups.map(({ id, title, state, commit }) => [id, title, state, commit])).toEqual([
    ['plan', 'Plan', 'done', null],
    ['WO-01', 'did WO-01', 'done', 'WO-01c'],
    ['WO-02', 'WO-02', 'failed', null],
    ['WO-03', 'Later', 'waiting', null],
  ]);
  expect(groups[0]?.attempts[0]?.executions).toEqual(['start@1', 'brief@1', 'plan@1']);
  expect(groups[1]?.attempts).toEqual([
    {
      ...{ number: 1, state: 'failed', why: 'verification failed: npm test' },
      executions: ['next@1', 'apply@1'],
    },
    { number: 2, state: 'done', why: '', executions: ['apply@2', 'commit@1'] },
  ]);
  expect(of.get('commit@1')).toBe('WO-01');
});

test('after the orders come the proof and the scenarios, with the last look for an order and the exit', () => {
  const done = { done: ['WO-01', 'WO-02', 'WO-03'] };
  const more: readonly Step[] = [['commit', done], ['next', done], ['proof'], ['judge'], ['exit']];
  const { groups } = groupsOf({
    ...stepsOf([...steps, ...more]),
    ...{ graph, title: 'T', titles: new Map(), ended: false },
  });
  expect(groups.slice(-2)).toMatchObject([
    { id: 'proof', state: 'done', attempts: [{ executions: ['next@3', 'proof@1'] }] },
    { id: 'scenarios', state: 'done', attempts: [{ executions: ['judge@1', 'exit@1'] }] },
  ]);
});
