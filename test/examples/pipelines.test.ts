/** The example pipelines run as their comments say. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { readPipeline } from '../../src/app/read-pipeline.ts';
import { startRun } from '../../src/app/run/index.ts';
import type { RunFlags } from '../../src/app/types.ts';
import { layout } from '../../src/core/records/layout.ts';
import { present } from '../../src/core/settings/types.ts';
import { seesHoldout } from '../../src/holdout/mount.ts';
import { realClock } from '../../src/platform/clock.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const noFlags: RunFlags = { vars: {}, allowDirty: false, acceptChanges: false };

test.for(['hello', 'fix-loop', 'approve'])('%s has no findings, not even a warning', async (name) => {
  expect((await readPipeline(`pipelines/${name}.dot`, root)).found).toEqual([]);
});

test('hello greets the world, or the name in --var', async () => {
  const world = await run('hello', {});
  expect(world).toMatchObject({ code: 0, stages: ['start', 'greet', 'done'] });
  expect(await world.file('hello.txt')).toBe('Hello, world!\n');

  const ada = await run('hello', { vars: { name: "Ada's cat" } });
  expect(await ada.file('hello.txt')).toBe("Hello, Ada's cat!\n");
});

test('fix-loop runs two rounds with the prepared answers and then verifies', async () => {
  const { code, stages, file } = await run('fix-loop', {});
  const round = ['fix', 'apply', 'check'];
  expect(stages).toEqual(['start', 'draft', 'check', ...round, ...round, 'verify', 'done']);
  expect(code).toBe(0);
  expect(await file('greeting.txt')).toBe('Hello, world!\n');
});

test('fix-loop shows the failure to the agent', async () => {
  const { prompt } = await run('fix-loop', {});
  expect(await prompt('fix')).toMatch(
    /^greeting\.txt says what wanted\.txt says\. .*\n[\s\S]*< Hello, wrold!\n[\s\S]*> Hello, world!/,
  );
});

test('fix-loop gives up if no agent answers', async () => {
  const { code, stages, reason } = await run('fix-loop', { agent_script: await scriptWith([]) });
  expect(stages).toEqual(['start', 'draft', 'check', 'fix', 'gave_up']);
  expect({ code, reason }).toEqual({ code: 1, reason: expect.stringContaining('gave_up') });
});

test('approve asks until the note is published or discarded', async () => {
  const published = await run('approve', {}, [{ text: "It's $HOME" }, { choice: 'p' }]);
  expect(published).toMatchObject({
    code: 0,
    stages: ['start', 'write', 'ask', 'ask', 'change', 'ask', 'ask', 'publish', 'done'],
  });
  expect(await published.file('public/note.txt')).toBe("It's $HOME\n");
  expect(await run('approve', {}, [{ choice: 'Discard' }])).toMatchObject({ code: 1 });
  expect(await run('approve', {}, [])).toMatchObject({ code: 75 });
});

/** An agent script with these answers for `fix`. */
async function scriptWith(answers: readonly string[]): Promise<string> {
  const path = join(await temporary(), 'agent.json');
  const fix = answers.map((text) => ({ text }));
  await writeFile(path, JSON.stringify({ format: 'factory-script/1', answers: { fix } }));
  return path;
}

test.for(['build', 'compile-and-build'])(
  'the checks of %s run code that a model wrote, with the holdout hidden',
  async (name) => {
    const { graph } = await readPipeline(`pipelines/${name}.dot`, root);
    const checks = [...(graph?.nodes.values() ?? [])].filter(
      (node) => present(node.attrs, 'verification.allowed_commands')?.value.text === '@plan',
    );
    expect(checks).toHaveLength(3);
    for (const node of checks) expect(seesHoldout(node, 'verification'), node.id).toBe(false);
  },
);

async function temporary(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'factory-pipelines-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Runs a pipeline in a separate runs folder, without a key; a person gives `answers` to its questions. */
async function run(
  name: string,
  flags: Partial<RunFlags>,
  answers: readonly { readonly choice?: string; readonly text?: string }[] = [],
) {
  const left = [...answers];
  const runsDir = await temporary();
  const { graph, found } = await readPipeline(`pipelines/${name}.dot`, root);
  if (graph === undefined) throw new Error(JSON.stringify(found, null, 2));
  const stages: string[] = [];
  const ended = await startRun(
    graph,
    { runsDir, runId: 'run' },
    { ...noFlags, ...flags },
    {
      cwd: root,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'] },
      clock: realClock,
      signal: new AbortController().signal,
      watcher: {
        event: (event) => {
          if (event.type === 'StageStarted') stages.push(event.node_id);
        },
        streamed: () => {},
        output: () => {},
        spent: () => {},
      },
      log: () => {},
      ask: async () => left.shift(),
    },
  );
  if ('problems' in ended) throw new Error(JSON.stringify(ended.problems, null, 2));
  const at = layout(join(runsDir, 'run'));
  return {
    code: ended.code,
    reason: ended.result.reason,
    stages,
    file: (path: string) => readFile(join(at.workspace, path), 'utf8'),
    prompt: (node: string) => readFile(join(at.node(node), 'prompt.md'), 'utf8'),
  };
}
