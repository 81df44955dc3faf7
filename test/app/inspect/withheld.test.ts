/** Texts that may contain the holdout are not shown before the run has reached an exit. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inspectExecution } from '../../../src/app/inspect/execution.ts';
import { readOverview } from '../../../src/app/inspect/overview.ts';
import { inspectRow } from '../../../src/app/inspect/rows.ts';
import { inspectRun } from '../../../src/app/inspect/run.ts';
import { realClock } from '../../../src/platform/clock.ts';
import { house } from '../../support/house.ts';
import { base, inDot, judge, pipeline, script, wrote } from '../../support/sealed-run.ts';

const secret = '# canary: zx81-blue-heron';
const answer = { outcome: 'fail', notes: secret, failure_reason: secret, context_updates: { found: secret } };
// No edge takes the failure: the reason of the run names it.
const tool = 'cat scripts/scenarios/judge.sh >&2; cp scripts/scenarios/answer.json $FACTORY_OUTPUT; exit 1';

test('of a node that sees the holdout nothing that it wrote is shown while the run is unfinished', async () => {
  await using it = await house({
    ...base,
    'w/scripts/scenarios/answer.json': JSON.stringify(answer),
    'p.dot': pipeline({ tool: inDot(tool) }).replace('tool -> work [condition="outcome=fail"]', ''),
    'agent.json': script(wrote('out.txt', 'nothing')),
  });
  const ran = await it.run('p.dot', { runId: 'r', workdir: 'w', quiet: true });
  const dir = join(it.path, '.factory/runs/r');
  const doors = { cwd: it.path, clock: realClock, env: {} };
  expect(it.read('.factory/runs/r/tool/tool.stderr.txt'), ran.err).toContain(secret);
  expect(it.json('.factory/runs/r/result.json').reason).toBe(
    'no route from node tool for outcome fail: [a line of the scenario itself is left out]',
  );
  const shown = await inspectExecution(dir, 'tool', undefined, doors);
  expect(shown).toMatchObject({ withheld: true, output: [], state: 'fail', class: 'product' });
  const all = JSON.stringify([
    shown,
    await inspectRow(dir, doors),
    await inspectRun(dir, doors),
    await readOverview(dir, doors),
  ]);
  for (const line of [secret, ...judge.split('\n').filter((one) => one.length > 30)])
    expect(all).not.toContain(line);
  // An agent does not see it: its texts are shown.
  const work = await inspectExecution(dir, 'work', undefined, doors);
  expect(work).toMatchObject({ withheld: false, prompt: { text: expect.stringContaining('Do it') } });
});

test('after an exit the output is shown', async () => {
  const good = 'kittiwake berthed at quay 4821\nand gone\n';
  await using it = await house({
    ...base,
    'p.dot': pipeline({ tool: 'sh scripts/scenarios/judge.sh; echo judged' }),
    'agent.json': script(wrote('out.txt', good)),
  });
  const ran = await it.run('p.dot', { runId: 'r', workdir: 'w', quiet: true });
  const dir = join(it.path, '.factory/runs/r');
  const shown = await inspectExecution(dir, 'tool', undefined, { cwd: it.path, clock: realClock, env: {} });
  expect(shown, ran.err).toMatchObject({ withheld: false, output: [{ text: 'judged\n' }] });
});
