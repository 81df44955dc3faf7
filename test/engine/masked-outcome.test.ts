/** What a failed stage says of itself is kept without the secrets of the engine's environment. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { executeHere } from '../../src/engine/layers/index.ts';
import { run } from '../../src/engine/run.ts';
import { failed } from '../../src/model/outcome.ts';
import { exit } from '../../src/nodes/exit.ts';
import { start } from '../../src/nodes/start.ts';
import { graphOf } from '../support/graph.ts';
import { temp } from '../system/temp.ts';
import { prepared, work } from './prepared-run.ts';

const secret = 'tok-4711-verysecret';

const textBelow = (folder: string): string =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path, 'utf8'))
    .join('\n');

test.for(['fail', 'retry'] as const)('of a stage that ends with %s, in every word', async (status) => {
  await using it = await temp();
  const told = `said ${secret}`;
  const attribution = { class: 'infra', how: 'words', why: told } as const;
  const words = { label: told, suggested: [told], notes: told, updates: { [told]: [{ deep: told }] } };
  const outcome = failed(told, 'infra', { ...words, command: told, attribution, exitCode: 1 });
  const { label, suggested, notes, updates } = outcome;
  const said = { label, suggested, notes, updates };
  const ends = work(() => (status === 'fail' ? outcome : { ...said, status, reason: told }));
  const text = `start [shape=Mdiamond]; a [shape=parallelogram]; other [shape=Msquare]
    start -> a; a -> other [condition="outcome=fail"]`;
  const seen: unknown[] = [];
  const ready = await prepared(it.dir, graphOf(text), {
    kinds: [start, exit, ends],
    setting: { env: { SERVICE_TOKEN: secret } },
    execute: async (context) => {
      const executed = await executeHere(context);
      seen.push(executed.outcome);
      return executed;
    },
  });
  await run(ready);
  await ready.close();
  expect(JSON.stringify(seen)).toContain('said ');
  expect(JSON.stringify(seen)).not.toContain(secret);
  const kept = textBelow(it.dir);
  expect(kept).toContain('said ');
  expect(kept).not.toContain(secret);
});
