/** Run with `node --test`. The node alone, then in a run. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { nodeTools, plainFlags, plainHost, readPipeline, startRun } from 'dotfactory';
import jsonCheck from './json-check.mjs';

/** The node with these files in its workspace. */
const checked = async (files, settings) =>
  (await jsonCheck(nodeTools)).run(settings, {
    workspace: { read: async (path) => files[path] },
    files: { keep: async () => {} },
  });

test('a file without a key is a failure of the product', async () => {
  const settings = { json_files: ['a.json'], json_keys: ['name'] };
  const outcome = await checked({ 'a.json': '{}' }, settings);
  assert.equal(outcome.status, 'fail');
  assert.equal(outcome.class, 'product');
  assert.equal(outcome.reason, 'a.json has no "name"');
  assert.equal((await checked({ 'a.json': '{"name": 1}' }, settings)).status, 'success');
});

test('the pipeline repairs what the node finds', async (t) => {
  const runsDir = await mkdtemp(join(tmpdir(), 'custom-node-'));
  t.after(() => rm(runsDir, { recursive: true }));
  const { graph, found } = await readPipeline(join(import.meta.dirname, 'pipeline.dot'), process.cwd());
  assert.ok(graph, JSON.stringify(found, null, 2));
  const ended = await startRun(graph, { runsDir, runId: 'r1' }, plainFlags(), plainHost());
  assert.equal(ended.result?.status, 'completed', JSON.stringify(ended, null, 2));
  const problems = join(runsDir, 'r1', 'check', 'visits', '1', 'problems.txt');
  assert.equal(await readFile(problems, 'utf8'), 'config.json has no "version"\n');
});
