/** What ran in a graph, where nodes have instances or call other pipelines. */
import { expect, test } from 'vitest';
import type { ExecutionRow } from '../../../src/app/inspect/execution-shapes.ts';
import { graphOfRun } from '../../../src/app/inspect/graph.ts';
import { checkPipeline } from '../../../src/app/read-pipeline.ts';

const { anyGraph } = checkPipeline(
  'g.dot',
  `digraph g { start [shape=Mdiamond]; exit [shape=Msquare]; call [type=subgraph, graph_ref="child.dot"]
  each [shape=component, for_each="[1, 2, 3]"]; work [shape=parallelogram, tool_command="make \${item}"]; all [shape=tripleoctagon]
  start -> each -> work -> all -> call -> exit }`,
);
if (anyGraph === undefined) throw new Error('the test pipeline cannot be read');
const graph = anyGraph;

/** `work success ×3 30`, from `work.1 success`. */
function drawn(...rows: readonly string[]): readonly string[] {
  const executions = rows.map((row) => {
    const [node, state] = row.split(' ');
    return { node, state, took_ms: 10, cost_usd: 0 } as Omit<ExecutionRow, 'group'>;
  });
  return graphOfRun(graph, { executions, visits: [], calls: [] })
    .nodes.filter(({ state }) => state !== 'none')
    .map(({ id, state, executions: times, took_ms }) => `${id} ${state} ×${times} ${took_ms}`);
}

test.for<[what: string, rows: readonly string[], expected: readonly string[]]>([
  [
    'instances count as executions of their node',
    ['work.1 success', 'work.2 success'],
    ['work success ×2 20'],
  ],
  ['one that failed is seen among the others', ['work.1 fail', 'work.2 success'], ['work fail ×2 20']],
  ['one that succeeds later is no failure', ['work.1 fail', 'work.1 success'], ['work success ×2 20']],
  ['one that runs comes first', ['work.1 fail', 'work.2 running', 'work.3 success'], ['work running ×3 30']],
  [
    'each item has a call of its own',
    ['call.1 success', 'call.1.bad fail', 'call.2 success'],
    ['call fail ×2 30'],
  ],
  ['a call runs while its pipeline does', ['call success', 'call.look running'], ['call running ×1 20']],
  [
    'a call has the state in which it ends',
    ['call success', 'call.look success', 'call.bad fail'],
    ['call fail ×1 30'],
  ],
])('%s', ([, rows, expected]) => {
  expect(drawn(...rows)).toEqual(expected);
});
