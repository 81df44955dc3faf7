/** Runs that nobody touched hold, however they came to their end; and nothing is claimed that was not looked at. */
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { treeOf } from '../support/house.ts';
import { ground } from './ground.ts';

test('completed, failed, stopped, resumed, forked, replayed and copied runs hold', async () => {
  await using it = await ground();
  const holds = async (id: string) => {
    const { problems, notes } = await it.verify(id);
    expect({ id, problems, notes }).toEqual({ id, problems: [], notes: [] });
  };
  expect((await it.start('done')).code).toBe(0);
  await holds('done');
  expect((await it.start('failed', 'fails.dot')).code).toBe(1);
  await holds('failed');
  let seen = 0;
  const second = (line: string) => line.includes('stage started node=check') && ++seen === 2;
  expect((await it.start('cut', 'p.dot', second)).code).toBe(130);
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

test('a verification changes nothing, counts what it has checked and names what it could not', async () => {
  await using it = await ground();
  await it.start('r');
  const before = treeOf(it.path);
  const { checked, unchecked } = await it.verify('r');
  expect(treeOf(it.path)).toEqual(before);
  expect(unchecked).toEqual([]);
  expect(checked).toMatchObject({ visits: 8, exchanges: 2, commands: 3, inputs: 3 });
  expect(checked['artifacts']).toBeGreaterThan(30);
});

test('sources outside that are other texts by now are noted, and are no fault of the run', async () => {
  await using it = await ground();
  await it.start('r');
  writeFileSync(join(it.path, 'spec.md'), 'Another spec.\n');
  const { problems, notes } = await it.verify('r');
  expect(problems).toEqual([]);
  expect(notes).toMatchObject([{ code: 'source', where: join(it.path, 'spec.md') }]);
});

test('the hash of the visits that somebody has noted is compared', async () => {
  await using it = await ground();
  await it.start('r');
  const { chain } = it.json('.factory/runs/r/result.json').evidence;
  expect((await it.verify('r', { chain: chain.slice(0, 12) })).problems).toEqual([]);
  expect((await it.verify('r', { chain: 'abcdef012345' })).problems).toMatchObject([
    { code: 'changed', where: 'visits.jsonl' },
  ]);
});

test('a run that an earlier version made is checked as far as it can be, and the gaps are told', async () => {
  await using it = await ground();
  await it.start('r');
  const put = (file: string, text: string) => writeFileSync(join(it.dir('r'), file), text);
  const without = (file: string, ...names: string[]) => {
    const value = it.json(`.factory/runs/r/${file}`);
    for (const name of names) delete value[name];
    put(file, `${JSON.stringify(value, null, 2)}\n`);
  };
  without('manifest.json', 'files');
  without('checkpoint.json', 'visits_sha256', 'manifest_sha256', 'journals', 'sha256');
  without('result.json', 'evidence', 'verify', 'sha256');
  const old = it
    .records('.factory/runs/r/visits.jsonl')
    .map(({ artifacts: _, commands: __, ...rest }) => rest);
  put('visits.jsonl', old.map((record) => `${JSON.stringify(record)}\n`).join(''));
  const { problems, unchecked } = await it.verify('r');
  expect(problems).toEqual([]);
  expect(unchecked.join('\n')).toMatch(/manifest\.json as a whole[\s\S]*artifacts of write@1/);
});

test('what carries the verdict is told: commands with exit codes and hashes of all inputs', async () => {
  await using it = await ground();
  const { out } = await it.start('r');
  expect(out).toMatch(/checked +3 commands of 3 nodes passed, no scenarios/);
  expect(out).toMatch(/check it +factory verify r\n/);
  const { evidence } = it.json('.factory/runs/r/result.json');
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
  const failed = await it.start('f', 'fails.dot');
  expect(failed.out).not.toContain('checked');
  expect(it.json('.factory/runs/f/result.json').evidence.commands).toMatchObject([
    { node: 'check', exit_code: 3 },
  ]);
});

test('a run that no command has checked says so', async () => {
  await using it = await ground({
    'bare.dot': 'digraph b { start [shape=Mdiamond]; done [shape=Msquare]; start -> done }',
  });
  const { out } = await it.start('r', 'bare.dot');
  expect(out).toMatch(/checked +nothing was checked by a command/);
});
