/** Whole runs as golden folders: what a story leaves on disk. `npx vitest run test/golden.test.ts -u` writes them anew. */
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readPipeline, startRun } from '../src/factory.ts';
import type { Clock } from '../src/system/clock.ts';

const folder = join(import.meta.dirname, 'golden');
const stories = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);

/** Time stands still, and nobody waits. */
const clock: Clock = {
  now: () => new Date('2026-01-02T03:04:05.000Z'),
  monotonic: () => 0,
  sleep: async () => {},
};

test.for(stories)('%s', async (story) => {
  const at = join(folder, story);
  const home = await realpath(await mkdtemp(join(tmpdir(), 'golden-')));
  try {
    const workdir = existsSync(join(at, 'workdir')) ? join(at, 'workdir') : join(home, 'empty');
    await mkdir(workdir, { recursive: true });
    const { graph, found } = await readPipeline(join(at, 'pipeline.dot'), home);
    if (graph === undefined) throw new Error(found.map((d) => d.message).join('\n'));
    const runsDir = join(home, 'runs');
    const ended = await startRun(
      graph,
      { runsDir, runId: 'golden' },
      { vars: {}, workdir, agent: 'fake', envPass: [], allowDirty: false, acceptChanges: false },
      {
        cwd: home,
        // The same on every machine, whatever it can confine.
        env: { PATH: process.env['PATH'], HOME: home, FACTORY_SANDBOX: 'none' },
        clock,
        signal: new AbortController().signal,
        watcher: { event: () => {}, streamed: () => {}, spent: () => {} },
        log: () => {},
      },
    );
    if ('problems' in ended) throw new Error(ended.problems.map((d) => d.message).join('\n'));
    const run = join(runsDir, 'golden');
    const plain = (text: string) =>
      text
        .replaceAll(home, '<home>')
        .replaceAll(at, '<story>')
        .replace(/"[0-9a-f]{64}"/g, '"<sha256>"');
    for (const name of ['events.jsonl', 'trace.jsonl', 'result.json']) {
      await expect(plain(await readFile(join(run, name), 'utf8'))).toMatchFileSnapshot(
        join(at, 'expected', name),
      );
    }
    const files = (await readdir(run, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(run.length + 1))
      .filter((name) => !/^(snapshots|lock)\//.test(name))
      .sort();
    await expect(`${files.join('\n')}\n`).toMatchFileSnapshot(join(at, 'expected', 'tree.txt'));
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});
