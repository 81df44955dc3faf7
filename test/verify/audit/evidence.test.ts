import { mkdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mostAgentOutput } from '../../../src/engine/agent-process.ts';
import { artifacts } from '../../../src/verify/audit/evidence.ts';
import { home } from '../../support/cli.ts';

test('the beginning of agent output is searched even if the output is huge', async () => {
  await using it = await home({ 'run/work/stage.json': '{"visit": 1}' });
  const path = join(it.path, 'run/work/codex.stdout.txt');
  await writeFile(path, 'the first words');
  // A note about the omitted size is added to it.
  await truncate(path, mostAgentOutput + 100);
  await mkdir(join(it.path, 'run/work/report.txt'));
  const found: string[] = [];
  for await (const { where, text } of artifacts(join(it.path, 'run'), () => true))
    found.push(`${where}: ${text.subarray(0, 15).toString()}`);
  expect(found).toEqual(['work/codex.stdout.txt: the first words']);
});
