import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { defaultCaps } from '../../src/engine/caps.ts';
import { openMoney } from '../../src/factory/money.ts';
import { layout } from '../../src/model/layout.ts';
import { openJournal } from '../../src/store/journal.ts';
import { realClock } from '../../src/system/clock.ts';
import { freshState } from '../support/graph.ts';
import { temp } from '../system/temp.ts';

test('who is resumed within a stage tells its caller what the runs of its own cut stage have spent', async () => {
  await using it = await temp();
  const innermost = await openJournal(join(layout(it.dir).node('a'), 'spent.jsonl'), {
    runId: 'r3',
    epoch: 1,
  });
  const about = { schema_version: 1, at: '2026-01-01T00:00:00Z', node: 'x', visit: 1, attempt: 1 };
  innermost.append({ ...about, type: 'CallEnded', ended: 'untold', usage: null, cost_usd: 2 });
  await innermost.close();
  const money = await openMoney(
    it.dir,
    { runId: 'r2', epoch: 2 },
    {
      manifest: { run_id: 'r2' },
      loaded: freshState('a'),
      resumed: true,
      caps: { ...defaultCaps, maxWallMs: undefined },
    },
    { clock: realClock, env: { FACTORY_BUDGET: it.at('budget.json') } },
  );
  await money.close();
  expect(money.books.run()).toMatchObject({ calls: 1 });
  const told = readFileSync(it.at('spent.jsonl'), 'utf8').trim().split('\n');
  expect(told.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ type: 'CallEnded', run: 'r3', run_id: 'r2', cost_usd: 2 }),
  ]);
});
