/** A resume that takes over other texts, and is cut anywhere while it does. */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { resumeRun, startRun } from '../../src/app/run/index.ts';
import { restoreWorkspace } from '../../src/app/run/restore-workspace.ts';
import { type ResumeChange, storeResumeChange } from '../../src/app/run/resume-changes.ts';
import { nothingSpent } from '../../src/core/budget/usage.ts';
import { layout } from '../../src/core/records/layout.ts';
import { sha256 } from '../../src/core/sha256.ts';
import { fence } from '../../src/platform/files/fence.ts';
import { installManifest, storedText } from '../../src/run/inputs.ts';
import { openRun, type StoredRun } from '../../src/run/open-run.ts';
import { openRunJournal } from '../../src/run/run-journal.ts';
import { verifyRun } from '../../src/verify/index.ts';
import { temp } from '../platform/temp.ts';
import { pipelineIn, plainFlags, quietDoors } from '../support/host.ts';

const pipeline = `digraph g { workdir="none"; vars="spec=@spec.txt"
  start [shape=Mdiamond]; a [prompt="x"]; b [shape=parallelogram, tool_command="cat .factory/in/spec.txt >said"]; exit [shape=Msquare]
  start -> a -> b -> exit }`;

const scriptOf = (answer: string) =>
  `${JSON.stringify({ format: 'factory-script/1', answers: { a: [{ text: answer }] } }, null, 2)}\n`;

/** A run that was stopped after its start, or after another node, with the texts `old`. */
async function stopped(it: Awaited<ReturnType<typeof temp>>, dot = pipeline, after = 'start') {
  writeFileSync(it.at('spec.txt'), 'old\n');
  writeFileSync(it.at('script.json'), scriptOf('old'));
  const graph = await pipelineIn(it.dir, dot);
  const vars = { spec: '@spec.txt' };
  const doors = quietDoors(it.dir, { FACTORY_SANDBOX: 'none' });
  const stop = { ...doors, env: { ...doors.env, ATTRACTION_TEST_STOP_AFTER_NODE: after } };
  const flags = { ...plainFlags, agent: 'scripted', agent_script: 'script.json', vars };
  const started = await startRun(graph, { runsDir: it.at('runs'), runId: 'r1' }, flags, stop);
  expect(started).toHaveProperty('result');
  const dir = it.at('runs', 'r1');
  return { graph, vars, doors, dir, at: layout(dir) };
}

/** Changes the texts of the run as a resume does. */
async function changed(dir: string, { manifest, history }: StoredRun, change: ResumeChange): Promise<void> {
  const restored = await restoreWorkspace(dir, history.checkpoint, { resumed: true, change });
  if ('problems' in restored) throw new Error('the workspace cannot be restored');
  const { at, elapsed_ms } = history.checkpoint;
  const former = { manifest, sha256: history.manifestSha256 };
  const sha256 = await storeResumeChange(dir, change, former, at);
  const journal = await openRunJournal(dir, { runId: 'r1', epoch: history.epoch }, history);
  const line = { type: 'Resumed', at, elapsed_ms, spent: nothingSpent } as const;
  await journal
    .commit({ ...line, snapshot: restored.snapshot.id, manifest_sha256: sha256 }, history.checkpoint)
    .finally(() => journal.close());
  await installManifest(dir, sha256);
}

test('after a crash at any write the run continues with all old texts or with all new ones', async () => {
  await using it = await temp();
  const { graph, doors, dir, at } = await stopped(it);
  cpSync(dir, it.at('begun'), { recursive: true });
  const ends = new Set<string>();
  for (let cutAt = 0, whole = false; !whole; cutAt++) {
    rmSync(dir, { recursive: true, force: true });
    cpSync(it.at('begun'), dir, { recursive: true });
    const stands = await openRun(dir).stored();
    if ('problems' in stands) throw new Error('the run cannot be read');
    const { manifest } = stands;
    const { spec } = manifest.variables;
    if (spec?.file === undefined || manifest.agent.script === undefined)
      throw new Error('both texts are kept');
    const next = {
      ...manifest,
      variables: { spec: { ...spec, file: { ...spec.file, sha256: sha256('new\n') } } },
      agent: {
        ...manifest.agent,
        script: { ...manifest.agent.script, sha256: sha256(scriptOf('new')) },
      },
    };
    let writes = 0;
    const open = fence(dir, () => {
      if (writes++ >= cutAt) throw new Error('cut');
    });
    const change = { manifest: next, files: { spec: 'new\n' }, script: scriptOf('new') };
    whole = await changed(dir, stands, change).then(
      () => true,
      () => false,
    );
    open();
    const { problems } = await verifyRun({ runDir: dir, env: {} });
    expect({ cutAt, wrong: problems.filter(({ where }) => /^(contents|manifest)/.test(where)) }).toEqual({
      cutAt,
      wrong: [],
    });
    // With another limit, which changes the manifest again.
    const resumed = await resumeRun(dir, graph, { ...plainFlags, max_steps: 50 }, doors);
    expect(resumed).toMatchObject({ code: 0 });
    const after = await openRun(dir).manifest();
    const kept = storedText(dir, (after.ok && after.manifest.variables['spec']?.file?.sha256) || '') ?? '';
    const said = [
      kept,
      readFileSync(`${at.workspace}/said`, 'utf8'),
      `${readFileSync(`${at.node('a')}/response.md`, 'utf8').trim()}\n`,
    ];
    expect({ cutAt, said: new Set(said).size }).toEqual({ cutAt, said: 1 });
    expect((await verifyRun({ runDir: dir, env: {} })).problems).toEqual([]);
    ends.add(kept);
    const changes = after.ok ? (after.manifest.changes ?? []) : [];
    const accepted = kept === 'new\n' ? [['variable spec', 'agent script']] : [];
    const limit = { what: 'limit max_steps', before: '10000', after: '50' };
    expect(changes.map(({ changed }) => changed.map(({ what }) => what))).toEqual([
      ...accepted,
      [limit.what],
    ]);
    expect(changes.at(-1)?.changed).toEqual([limit]);
  }
  expect([...ends]).toEqual(['old\n', 'new\n']);
});

test('a change by the user is not a change of the next node', async () => {
  await using it = await temp();
  const { graph, vars, doors, dir, at } = await stopped(it);
  writeFileSync(it.at('spec.txt'), 'new\n');
  const accepting = { ...plainFlags, vars, acceptChanges: true };
  expect(await resumeRun(dir, graph, accepting, doors)).toMatchObject({ code: 0 });
  expect(readFileSync(`${at.workspace}/said`, 'utf8')).toBe('new\n');
  const diff = JSON.parse(readFileSync(`${at.node('a')}/workspace.diff.json`, 'utf8'));
  expect(diff).toMatchObject({ created: [], modified: [], deleted: [] });
});

test.for([
  ['an attribute of it', (dot: string) => dot.replace('prompt="x"', 'prompt="y"'), ['a']],
  ['the file of its prompt', (dot: string) => dot, ['a']],
  ['only the next node', (dot: string) => dot.replace('>said', '>told'), []],
] as const)(
  'a resume that accepts a changed pipeline says how to run a finished node again: %s',
  async ([what, edit, wanted]) => {
    await using it = await temp();
    const dot =
      what === 'the file of its prompt' ? pipeline.replace('prompt="x"', 'prompt="@x.md"') : pipeline;
    const isFile = dot !== pipeline;
    writeFileSync(it.at('x.md'), 'do it\n');
    const { vars, doors, dir } = await stopped(it, dot, 'a');
    if (isFile) writeFileSync(it.at('x.md'), 'do it better\n');
    const changed = await pipelineIn(it.dir, edit(dot));
    const said: string[] = [];
    const log = (_: string, message: string) => said.push(message);
    const accepting = { ...plainFlags, vars, acceptChanges: true };
    expect(await resumeRun(dir, changed, accepting, { ...doors, log })).toMatchObject({ code: 0 });
    const told = said.filter((message) => message.includes('ran before the change'));
    expect(told.map((message) => /^node "(\w+)"/.exec(message)?.[1])).toEqual(wanted);
    for (const message of told) expect(message).toMatch(/fork r1 .*--at a --before --pipeline /);
  },
);
