/** Views of the journal after a crash or a power cut; test/run/views.test.ts tears events and trace. */
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { layout } from '../../src/core/records/layout.ts';
import { openRun } from '../../src/run/open-run.ts';
import { rebuildViews } from '../../src/run/rebuild.ts';
import { verifyRun } from '../../src/verify/index.ts';
import { house } from '../support/house.ts';

const pipeline = `digraph e { workdir="none"; start [shape=Mdiamond]; done [shape=Msquare]
  a [shape=parallelogram, tool_command="true"]
  b [shape=parallelogram, tool_command="exit 1"]
  start -> a -> b; b -> done [condition="outcome=fail"] }`;
const input = () => ({ node_type: '', node_shape: 'box', node_attrs: {}, workspace: '/w' });

/** A run that has ended, and a function that rebuilds its files and answers what it has said. */
async function ran() {
  const it = await house({ 'p.dot': pipeline }, () => ({ FACTORY_SANDBOX: 'none' }));
  await it.run('p.dot', { runId: 'r' });
  const dir = join(it.path, '.factory/runs/r');
  const rebuild = async () => {
    const history = openRun(dir).history();
    if (!history.ok) throw new Error(history.why);
    const places = { runDir: dir, input };
    const { events, trace, rewritten } = await rebuildViews(
      { manifest: {}, history },
      { runId: 'r', epoch: 1 },
      places,
    );
    for (const one of [events, trace]) one.close();
    return rewritten;
  };
  return { it, dir, at: layout(dir), rebuild };
}

test('nothing of a whole run is rewritten', async () => {
  const { it, at, rebuild } = await ran();
  await using _ = it;
  const before = readFileSync(at.events, 'utf8');
  expect(await rebuild()).toEqual([]);
  expect(readFileSync(at.events, 'utf8')).toBe(before);
});

test('a late or torn checkpoint and a torn status are written again; a changed event is left for verify to name', async () => {
  const { it, dir, at, rebuild } = await ran();
  await using _ = it;
  const before = readFileSync(at.checkpoint, 'utf8');
  truncateSync(at.checkpoint, 100);
  writeFileSync(`${at.node('b')}/status.json`, '');
  const status = ['b/status.json rewritten from the journal', 'checkpoint.json rewritten from the journal'];
  expect(await rebuild()).toEqual(status);
  expect(readFileSync(at.checkpoint, 'utf8')).toBe(before);
  expect((await verifyRun({ runDir: dir, env: {} })).problems).toEqual([]);
  const events = readFileSync(at.events, 'utf8');
  writeFileSync(at.events, events.replace('"node_id":"a"', '"node_id":"x"'));
  expect(await rebuild()).toEqual([]);
  const { problems } = await verifyRun({ runDir: dir, env: {} });
  expect(problems.map(({ where }) => where)).toContain('events.jsonl');
});
