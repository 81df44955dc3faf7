/** Unchanged runs pass, however they ended, and parts that were not checked are reported. */
import { cpSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withOwnHash } from '../../src/run/chain.ts';
import { type Told, treeOf } from '../support/house.ts';
import { files, type Ground, ground } from './ground.ts';

let it: Ground;
let done: Told;
let failed: Told;
beforeAll(async () => {
  it = await ground({
    'loops.dot': `digraph l { start [shape=Mdiamond]; done [shape=Msquare]
      check [shape=parallelogram, max_visits=2, tool_command="exit 3"]
      start -> check; check -> check [condition="outcome=fail"]; check -> done [condition="outcome=success"] }`,
    'inner.dot': `digraph i { start [shape=Mdiamond]; done [shape=Msquare]
      fan [shape=component, join_policy=first_success]; join [shape=tripleoctagon]
      fast [shape=parallelogram, tool_command="sleep 0.3"]
      inner [shape=component]; meet [shape=tripleoctagon]
      ask [shape=hexagon]; slow [shape=parallelogram, tool_command="while true; do sleep 0.1; done"]
      start -> fan; fan -> fast -> join; fan -> inner; inner -> ask -> meet; inner -> slow -> meet; meet -> join
      join -> done [condition="outcome=success"] }`,
    'bare.dot': 'digraph b { start [shape=Mdiamond]; done [shape=Msquare]; start -> done }',
  });
  done = await it.start('done');
  failed = await it.start('failed', 'fails.dot');
}, 60_000);
afterAll(() => it[Symbol.asyncDispose]());

/** Interrupts a run when the second execution of `check` starts. */
async function cut(id: string): Promise<void> {
  let seen = 0;
  const ended = await it.start(
    id,
    'p.dot',
    (line) => line.includes('node started node=check') && ++seen === 2,
  );
  expect(ended.code).toBe(130);
}

test('completed, failed, stopped, resumed, forked, replayed and copied runs pass', async () => {
  const holds = async (id: string) => {
    const { problems, notes } = await it.verify(id);
    expect({ id, problems, notes }).toEqual({ id, problems: [], notes: [] });
  };
  expect(done.code).toBe(0);
  await holds('done');
  expect(failed.code).toBe(1);
  await holds('failed');
  await cut('cut');
  await holds('cut');
  expect((await it.verify('cut')).unchecked.join()).toContain('workspace/');
  expect((await it.resume('cut')).code).toBe(0);
  await holds('cut');
  expect((await it.fork('done', { at: 'check@1', runId: 'forked' })).code).toBe(0);
  await holds('forked');
  expect((await it.replay('done', { runId: 'again' })).code).toBe(0);
  await holds('again');
  cpSync(it.dir('done'), it.dir('copied'), { recursive: true, preserveTimestamps: true });
  await holds('copied');
});

test('nothing of a run is left open whose cancelled branch had branches itself', async () => {
  expect((await it.start('inner', 'inner.dot')).code).toBe(0);
  const { problems, unchecked } = await it.verify('inner');
  expect({ problems, unchecked }).toEqual({ problems: [], unchecked: [] });
  const ends = readFileSync(join(it.dir('inner'), 'journal.jsonl'), 'utf8')
    .split('\n')
    .filter((line) => line.includes('"type":"BranchStopped"') && line.includes('"status":"cancelled"'))
    .map((line) => JSON.parse(line).branch);
  expect(ends.sort()).toEqual(['ask', 'inner', 'slow']);
});

test('an execution whose stage.json a power cut destroyed does not hide artifacts of the one before', async () => {
  await cut('torn');
  const stage = join(it.dir('torn'), 'check/stage.json');
  expect(JSON.parse(readFileSync(stage, 'utf8')).visit).toBe(2);
  // Its name was flushed with other files but its content was not, or neither was.
  for (const tear of [() => writeFileSync(stage, ''), () => rmSync(stage)]) {
    tear();
    expect((await it.verify('torn')).problems).toEqual([]);
  }
  expect((await it.resume('torn')).code).toBe(0);
  expect((await it.verify('torn')).problems).toEqual([]);
  // If no execution can have begun, the file must name the owner of the folder.
  rmSync(stage);
  const [problem] = (await it.verify('torn')).problems;
  expect(problem?.where).toBe('check/stage.json');
});

test('an execution whose files were being moved at a crash is complete', async () => {
  await cut('moving');
  const folder = join(it.dir('moving'), 'check');
  for (const name of readdirSync(folder))
    if (name !== 'visits') rmSync(join(folder, name), { recursive: true });
  // stage.json is moved last.
  for (const name of ['stage.json', 'status.json'])
    renameSync(join(folder, 'visits/1', name), join(folder, name));
  expect((await it.verify('moving')).problems).toEqual([]);
  rmSync(join(folder, 'status.json'));
  expect((await it.verify('moving')).problems.map(({ where }) => where)).toEqual(['check/status.json']);
});

test('a recorded execution is finished, even if a crash lost the event of its end', async () => {
  expect((await it.start('capped', 'loops.dot')).code).toBe(1);
  // The state after a crash right after the last execution was committed.
  const at = (name: string) => join(it.dir('capped'), name);
  for (const [name, type] of [
    ['events.jsonl', 'StageStarted'],
    ['trace.jsonl', 'NodeInputCaptured'],
  ] as const) {
    const lines = readFileSync(at(name), 'utf8').trimEnd().split('\n');
    const last = lines.findLastIndex((line) => JSON.parse(line).type === type);
    writeFileSync(at(name), `${lines.slice(0, last + 1).join('\n')}\n`);
  }
  const journal = readFileSync(at('journal.jsonl'), 'utf8').trimEnd().split('\n');
  writeFileSync(at('journal.jsonl'), `${journal.slice(0, -1).join('\n')}\n`);
  rmSync(at('result.json'));
  expect((await it.resume('capped')).code).toBe(1);
  const { problems, unchecked, checked } = await it.verify('capped');
  expect({ problems, unchecked }).toEqual({ problems: [], unchecked: [] });
  expect(checked['workspace files']).toBeGreaterThan(0);
});

test.each(['done', 'failed'])(
  'after a power cut right before the result of a run that has %s only that is reported',
  async (id) => {
    const copy = `${id}-cut`;
    cpSync(it.dir(id), it.dir(copy), { recursive: true, preserveTimestamps: true });
    rmSync(join(it.dir(copy), 'result.json'));
    writeFileSync(join(it.dir(copy), 'workspace/keep.txt'), '');
    const { problems, unchecked } = await it.verify(copy);
    expect(problems).toMatchObject([{ code: 'missing', where: 'result.json' }]);
    expect(unchecked.join()).toContain('the files in workspace/');
  },
);

test.each(['done', 'failed'])(
  'an outdated result of a run that has %s does not hide changes of its workspace',
  async (id) => {
    const changed = `${id}-changed`;
    cpSync(it.dir(id), it.dir(changed), { recursive: true, preserveTimestamps: true });
    writeFileSync(join(it.dir(changed), 'workspace/keep.txt'), 'changed');
    const { sha256: _, ...result } = it.json(`.factory/runs/${id}/result.json`);
    const found = async (instead: object) => {
      writeFileSync(join(it.dir(changed), 'result.json'), withOwnHash(instead));
      const { problems } = await it.verify(changed);
      return problems.map(({ code, where }) => `${code} ${where}`);
    };
    expect(await found({ ...result, stages: result.stages - 1 })).toEqual(['missing result.json']);
    const { evidence: _evidence, ...old } = result;
    expect(await found(old)).toContain('changed workspace/keep.txt');
  },
);

test('a resume that was killed or lost power does not change the earlier result', async () => {
  await cut('halted');
  const at = (name: string) => join(it.dir('halted'), name);
  const kept = [
    'manifest.json',
    'checkpoint.json',
    'result.json',
    'journal.jsonl',
    'events.jsonl',
    'trace.jsonl',
  ];
  const before = new Map(kept.map((name) => [name, readFileSync(at(name), 'utf8')]));
  const back = (...names: string[]) => {
    for (const name of names) writeFileSync(at(name), before.get(name) ?? '');
  };
  const holds = async () => {
    const { problems, unchecked } = await it.verify('halted');
    // Folders of nodes that the resume created are not reported.
    expect(problems.filter(({ where }) => /\.jsonl?$/.test(where) && !where.includes('/'))).toEqual([]);
    return unchecked.join();
  };
  // The first line of the resume is torn.
  writeFileSync(at('events.jsonl'), `${before.get('events.jsonl')}{"schema_version":1,"ty`);
  await holds();
  back('events.jsonl');
  // It had accepted changes, and only these are left of it.
  writeFileSync(join(it.path, 'p.dot'), `${files['p.dot']}\n`);
  expect((await it.resume('halted', { acceptChanges: true })).code).toBe(0);
  writeFileSync(join(it.path, 'p.dot'), files['p.dot']);
  const after = readFileSync(at('journal.jsonl'), 'utf8').slice(before.get('journal.jsonl')?.length);
  const resumed = after.split('\n').find((line) => line.includes('"type":"Resumed"')) ?? '';
  back(...kept);
  writeFileSync(at('journal.jsonl'), `${before.get('journal.jsonl')}${resumed}\n`);
  expect(await holds()).toContain('what result.json says');
});

test('a verification is read-only, counts the checked items and names the unchecked ones', async () => {
  const before = treeOf(it.path);
  const { checked, unchecked } = await it.verify('done');
  expect(treeOf(it.path)).toEqual(before);
  expect(unchecked).toEqual([]);
  expect(checked).toMatchObject({ visits: 8, exchanges: 2, commands: 3, inputs: 4 });
  expect(checked['artifacts']).toBeGreaterThan(30);
});

test('a noted hash of the executions is compared', async () => {
  const { chain } = it.json('.factory/runs/done/result.json').evidence;
  expect((await it.verify('done', chain.slice(0, 12))).problems).toEqual([]);
  expect((await it.verify('done', chain.toUpperCase())).problems).toEqual([]);
  expect((await it.verify('done', 'abcdef012345')).problems).toMatchObject([
    { code: 'changed', where: 'journal.jsonl' },
  ]);
});

test('without a readable journal the manifest as a whole is not checked', async () => {
  cpSync(it.dir('done'), it.dir('unread'), { recursive: true, preserveTimestamps: true });
  writeFileSync(join(it.dir('unread'), 'journal.jsonl'), '{');
  const { problems, unchecked } = await it.verify('unread');
  expect(problems.map(({ where }) => where)).toEqual(['journal.jsonl']);
  expect(unchecked.join('\n')).toMatch(
    /manifest\.json as a whole: the journal, which has its hash, cannot be read/,
  );
});

test('the result lists its evidence: commands with exit codes and hashes of all inputs', async () => {
  const { out } = done;
  expect(out).toMatch(/checked +3 commands of 3 nodes passed, no scenarios/);
  expect(out).toMatch(/check it +factory verify done\n/);
  const { evidence } = it.json('.factory/runs/done/result.json');
  expect(
    evidence.commands.map(({ node, what, exit_code }: Record<string, unknown>) => [node, what, exit_code]),
  ).toEqual([
    ['check', 'tool', 0],
    ['plan', 'tool', 0],
    ['verify', 'verification', 0],
  ]);
  expect(evidence.commands[2].command).toBe('grep -c good out.txt');
  expect(evidence.commands[0].visit).toBe(2);
  const hash = expect.stringMatching(/^[0-9a-f]{64}$/);
  expect(evidence.inputs).toMatchObject({
    pipeline: hash,
    variables: { spec: hash },
    agent_script: hash,
    scenarios: null,
  });
  expect(failed.out).not.toContain('checked');
  expect(it.json('.factory/runs/failed/result.json').evidence.commands).toMatchObject([
    { node: 'check', exit_code: 3 },
  ]);
});

test('the summary of a run without checking commands reports that', async () => {
  const { out } = await it.start('bare', 'bare.dot');
  expect(out).toMatch(/checked +nothing was checked by a command/);
});
