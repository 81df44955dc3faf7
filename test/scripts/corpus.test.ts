/** `npm run corpus` counts what pipeline files of a directory use that this build does not know. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, test } from 'vitest';

const script = join(import.meta.dirname, '../../scripts/corpus.mjs');
const files = {
  'fine.dot': 'digraph a { start [shape=Mdiamond]; end [shape=Msquare]; a [prompt=x]; start -> a -> end }',
  'idle.gv':
    'digraph a { start [shape=Mdiamond]; end [shape=Msquare]; a [prompt=x, temperature=1]; start -> a -> end }',
  'word.dot':
    'digraph a { start [shape=Mdiamond]; end [shape=Msquare]; a [prompt=x]; start -> a; a -> end [condition="outcome=ready"] }',
  'shape.dot':
    'digraph a { start [shape=Mdiamond]; end [shape=Msquare]; a [shape=circle]; start -> a -> end }',
  'text.dot': 'no pipeline',
  'notes.md': 'no pipeline either',
};

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'corpus-test-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('the corpus of a directory is counted, with the reasons for what is missing', async () => {
  const json = join(folder, 'out.json');
  const { stdout } = await execa('node', [script, folder, '--json', json]);
  const { results: _, ...counted } = JSON.parse(readFileSync(json, 'utf8'));
  expect(counted).toMatchObject({
    files: 5,
    parsed: 4,
    valid: 3,
    without_no_effect: 2,
    simulated_to_an_exit: 2,
    reasons: {
      not_valid: [{ files: ['shape.dot'] }, { files: ['text.dot'] }],
      no_effect: [{ files: ['idle.gv'] }],
      no_exit: [{ files: ['word.dot'] }],
    },
  });
  expect(stdout).toMatch(/^valid +3$/m);
  expect(stdout).toContain('no-effect: the attribute "temperature" has no effect here\n         idle.gv');
});

test('a directory without pipelines is refused', async () => {
  const run = await execa('node', [script, join(folder, 'nowhere')], { reject: false });
  expect(run).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('there is no directory') });
});
