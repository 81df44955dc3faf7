import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openRunBudget } from '../../src/app/run/budget.ts';
import { startRun } from '../../src/app/run/index.ts';
import { layout } from '../../src/core/records/layout.ts';
import { realClock } from '../../src/platform/clock.ts';
import { openJournal } from '../../src/run/journal.ts';
import { temp } from '../platform/temp.ts';
import { defaultCaps } from '../support/caps.ts';
import { freshState } from '../support/graph.ts';
import { pipelineIn, plainFlags, quietDoors } from '../support/host.ts';

// Every object seems to have a `constructor`.
test.each(['a', 'constructor'])(
  'a run that is resumed within a node %s reports to its caller what the nested runs of that node have spent',
  async (node) => {
    await using it = await temp();
    const innermost = await openJournal(join(layout(it.dir).node(node), 'spent.jsonl'), {
      runId: 'r3',
      epoch: 1,
    });
    const about = { schema_version: 1, at: '2026-01-01T00:00:00Z', node: 'x', visit: 1, attempt: 1 };
    innermost.append({ ...about, type: 'CallEnded', ended: 'untold', usage: null, cost_usd: 2 });
    await innermost.close();
    const money = await openRunBudget(
      it.dir,
      { note: () => {} },
      {
        manifest: { run_id: 'r2' },
        calls: [],
        loaded: freshState(node),
        resumed: true,
        caps: defaultCaps,
      },
      { clock: realClock, env: { FACTORY_BUDGET: it.at('budget.json') } },
    );
    await money.close();
    expect(money.costs.run()).toMatchObject({ calls: 1 });
    const told = readFileSync(it.at('spent.jsonl'), 'utf8').trim().split('\n');
    expect(told.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ type: 'CallEnded', run: 'r3', run_id: 'r2', node, visit: 1, cost_usd: 2 }),
    ]);
  },
);

test('a node that reports a negative amount gives nothing back, and the run continues', async () => {
  await using it = await temp();
  const told = [2, -5].map((cost_usd, n) => ({
    ...{ schema_version: 1, at: '2026-01-01T00:00:00Z', node: 'x', visit: 1, attempt: 1 },
    ...{ type: 'CallEnded', ended: 'told', cost_usd, run_id: 'r3', seq: n + 1, epoch: 1 },
    usage: { model: 'm', input_tokens: cost_usd, output_tokens: 1, cost_usd },
  }));
  writeFileSync(it.at('told'), told.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const graph = await pipelineIn(
    it.dir,
    `digraph g { workdir="none"; start [shape=Mdiamond]; exit [shape=Msquare]
       a [shape=parallelogram, tool_command="cp $TOLD $FACTORY_NODE_DIR/spent.jsonl"]; start -> a -> exit }`,
  );
  const doors = quietDoors(it.dir, { FACTORY_SANDBOX: 'none', TOLD: it.at('told') });
  const ended = await startRun(graph, { runsDir: it.at('runs'), runId: 'r1' }, plainFlags, doors);
  expect(ended).toMatchObject({
    code: 0,
    result: { spent: { calls: 2, cost_usd: 2, input_tokens: 2, output_tokens: 2 } },
  });
});
