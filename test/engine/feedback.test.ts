/** What the nodes after a failed one receive about it. */
import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { failed, type RepeatedFailure } from '../../src/core/outcome.ts';
import { feedback, latestValues, toolOutput, wholeLinesOf } from '../../src/engine/feedback.ts';
import { repeatedFailure } from '../../src/engine/stalled-loop.ts';
import type { Snapshot } from '../../src/workspace/snapshot.ts';
import { temp } from '../platform/temp.ts';
import { graphOf } from '../support/graph.ts';

/** As many checks with much to say leave behind: escaped, a quoted stream takes up to six times its bytes. */
const resultsOf = (last: string) => ({
  checked_files: [],
  commands: [
    ...Array.from({ length: 8 }, (_, n) => ({
      command: `npm run check${n}`,
      exit_code: 0,
      stdout: '\u001b'.repeat(256 * 1024),
      stderr: '',
    })),
    { command: 'npm test', exit_code: 1, stdout: '', stderr: last },
  ],
});
const no = failed('verification command failed: npm test (exit=1)', 'product', { exitCode: 1 });

test('the output of the failed check among many is reported, however much the others printed', async () => {
  await using it = await temp();
  await writeFile(it.at('verification.results.json'), JSON.stringify(resultsOf('1 of 7 is wrong')));
  const told = await feedback(it.dir, { node: 'check', type: 'verification', at: '' }, no);
  expect(told['last_failure.summary']).toContain('1 of 7 is wrong');
});

test('two failures of it that say different things are not alike', async () => {
  await using it = await temp();
  const node = graphOf('start [shape=Mdiamond]; exit [shape=Msquare]; start -> exit').nodes.get('start');
  if (node === undefined) throw new Error('no node');
  const same: Snapshot = { id: 'same', tree: new Map() };
  let alike: RepeatedFailure | null | undefined;
  for (const said of ['the sum is wrong', 'no such column']) {
    await writeFile(it.at('verification.8.stdout.txt'), '');
    await writeFile(it.at('verification.8.stderr.txt'), said);
    const judged = { node, nodeDir: it.dir, workspace: it.dir, visit: 1, step: 3, outcome: no };
    alike = await repeatedFailure(
      'verification',
      { ...(alike == null ? {} : { alike: { start: alike } }), agent_step: 4 },
      { ...judged, before: same, after: same },
      async () => same,
    );
  }
  expect(alike?.count).toBe(1);
});

test('the output of a tool is its end, at most 4 KiB, without half a character', async () => {
  await using it = await temp();
  expect(await toolOutput(it.dir, undefined)).toBe('');
  await writeFile(it.at('tool.stdout.txt'), `${'é'.repeat(4000)} all-done\n`);
  const output = await toolOutput(it.dir, undefined);
  expect(output).toMatch(/^é+ all-done\n$/);
  expect(Buffer.byteLength(output)).toBeLessThanOrEqual(4096);
});

test('lines of the holdout in it are left out, also where only their end is in the last 4 KiB', async () => {
  await using it = await temp();
  const guard = { printable: async (text: string) => text.replace(/secret[^\n]*/g, '(left out)') };
  await writeFile(it.at('tool.stdout.txt'), `one\nsecret ${'x'.repeat(5000)}\nlast\n`);
  expect(await toolOutput(it.dir, guard)).toBe('one\n(left out)\nlast\n');
  await writeFile(it.at('tool.stdout.txt'), `secret ${'x'.repeat(70_000)}\nlast\n`);
  expect(await toolOutput(it.dir, guard)).toBe('last\n');
});

test('an answer in the context is its end of 4 KiB at a character boundary, without lines of the holdout', async () => {
  await using it = await temp();
  await writeFile(it.at('response.md'), `sealed\n${'é'.repeat(3000)}\n`);
  const guard = { printable: async (text: string) => text.replace('sealed', '(left out)') };
  const stage = { node: 'a', type: 'codergen', executable: true };
  const named = new Set(['last_response', 'response.a', 'tool_stderr', 'last_stage']);
  const values = await latestValues(stage, it.dir, named, guard);
  expect(values).toEqual({
    last_stage: 'a',
    last_response: `${'é'.repeat(2047)}\n`,
    'response.a': values['last_response'],
  });
  expect(await latestValues({ ...stage, type: 'tool' }, it.dir, named, guard)).toEqual({
    last_stage: 'a',
    tool_stderr: '',
  });
  const early = await latestValues(stage, it.dir, new Set(['last_response']), {
    printable: async (text) => text.replace(/é+/, ''),
  });
  expect(early).toEqual({ last_response: 'sealed\n\n' });
});

test('an output that was cut begins with a whole line: the end of a path tells where the run was', () => {
  const lines = 'a.c: error\n'.repeat(400);
  expect(wholeLinesOf(`uns/01ABC/${lines}`.slice(0, 4096))).toMatch(/^a\.c: error\n/);
  expect(wholeLinesOf(`uns/01ABC/${lines}`.slice(0, 4000))).toMatch(/^uns/);
});
