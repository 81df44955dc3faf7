/** Attributes that a fork sets. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { house, treeOf } from '../support/house.ts';

const runs = '.factory/runs';
const pipeline = `digraph fix {
  workdir="none"
  vars="who=you"
  start [shape=Mdiamond]
  write [shape=box, prompt="Say it to \${var.who}", response_file="said.txt", allowed_write_paths="said.txt"]
  check [shape=parallelogram, script="grep -q Hello said.txt", timeout=30s]
  exit [shape=Msquare]
  start -> write -> check
  check -> exit [condition="outcome=success"]
}`;
const script = JSON.stringify({
  format: 'factory-script/1',
  answers: { write: [{ text: 'Good day' }, { text: 'Hello' }, { text: 'Hello again' }] },
});
const scripted = { agent: 'scripted', script: 'script.json', quiet: true };

let it: Awaited<ReturnType<typeof house>>;
beforeAll(async () => {
  it = await house({
    'fix.dot': pipeline,
    'script.json': script,
    'new.md': 'Say "Hello"\nto C:\\you, ${var.who}\n',
    'bad.md': 'First line\nhello ${var.nobody}\n',
    'at.md': '@other',
  });
  expect((await it.run('fix.dot', { ...scripted, runId: 'base' })).code).toBe(1);
});
afterAll(() => it[Symbol.asyncDispose]());

const manifest = (run: string) => it.json(`${runs}/${run}/manifest.json`);
const verified = async (run: string) => {
  const told = await it.verb(['verify', run]);
  expect(told.code, told.out + told.err).toBe(0);
};

test('a fork runs a node with another prompt and another command, and says once what was set', async () => {
  const set = ['write.prompt=@new.md', 'check.command=grep -q day said.txt && echo "fine \\t $?"'];
  const forked = await it.fork('base', { at: 'write', before: true, set, runId: 'f', quiet: true });
  expect(forked.code, forked.err).toBe(0);
  expect(it.read(`${runs}/f/write/prompt.md`)).toContain('Say "Hello"\nto C:\\you, you');
  expect(it.read(`${runs}/f/check/tool.stdout.txt`)).toMatch(/^fine (\\t|\t) 0\n$/);
  const { forked_from: from, pipeline_path: path, pipeline: kept } = manifest('f');
  expect(path).toBe('fix.dot');
  expect(from.changed).toEqual(['set write.prompt', 'set check.tool_command']);
  expect(from.set).toEqual(['write.prompt', 'check.tool_command']);
  expect(kept.text.split('grep -q day said.txt')).toHaveLength(2);
  await verified('f');
  // Its success is not the one that the pipeline of the other run would have had.
  const words = 'base before write@1, with other write.prompt, check.tool_command';
  expect((await it.verb(['show', 'f'])).out).toContain(words);
  expect((await it.verb(['runs'])).out).toContain(`fork of ${words}`);
  const [row] = JSON.parse((await it.verb(['runs', '--json'])).out).runs.filter(
    ({ run_id }: { run_id: string }) => run_id === 'f',
  );
  expect(row.forked_from.changed).toEqual(['write.prompt', 'check.tool_command']);
});

test('a fork of a fork keeps what was set, also where it is resumed with changes of the file', async () => {
  const set = ['check.tool_command=test -e ready || { touch ready; exit 1; }'];
  const first = await it.fork('base', { at: 'check', before: true, set, runId: 'g', quiet: true });
  expect(first.code, first.err).toBe(1);
  const again = await it.fork('g', { at: 'check', before: true, maxSteps: '1', runId: 'gg', quiet: true });
  expect(again.code).toBe(1);
  expect(manifest('gg').forked_from).toMatchObject({ changed: ['caps'], set: ['check.tool_command'] });
  const resumed = await it.resume('gg', { maxSteps: '90', quiet: true });
  expect(resumed.err).not.toContain('has changed');
  expect(resumed.out).toContain('tool_exit_code_1');
  // What a fork before it has set counts as well.
  expect(resumed.out).toContain('g before check@1, with other check.tool_command, limits\n');

  writeFileSync(join(it.path, 'fix.dot'), pipeline.replace('who=you', 'who=all'));
  try {
    const accepted = await it.resume('gg', { acceptChanges: true });
    expect(accepted.code, accepted.err).toBe(0);
    expect(accepted.err).toContain('check.tool_command keeps the value that the fork has set');
    expect(accepted.err).toContain('fork gg --at check --before --set check.tool_command=TEXT');
  } finally {
    writeFileSync(join(it.path, 'fix.dot'), pipeline);
  }
  expect(manifest('gg').pipeline.text).toContain('who=all');
  expect(manifest('gg').pipeline.text).toContain('touch ready');
  expect(manifest('gg').forked_from.set).toEqual(['check.tool_command']);
  await verified('gg');
});

test('another pipeline, variables and attributes are combined, and another pipeline drops what was set', async () => {
  writeFileSync(join(it.path, 'other.dot'), pipeline.replace('grep -q Hello', 'grep -q Nothing'));
  const options = { at: 'write', before: true, pipeline: 'other.dot', var: ['who=them'], quiet: true };
  const set = ['check.tool_command=true'];
  const forked = await it.fork('base', { ...options, set, runId: 'h' });
  expect(forked.code, forked.err).toBe(0);
  const { changed, set: kept } = manifest('h').forked_from;
  expect(changed).toEqual(['set check.tool_command', 'pipeline', 'var who']);
  expect(kept).toEqual(['check.tool_command']);
  expect(it.read(`${runs}/h/write/prompt.md`)).toContain('Say it to them');
  await verified('h');
  const dropped = await it.fork('h', { ...options, runId: 'hh', quiet: false });
  expect(dropped.code).toBe(1);
  expect(dropped.err).toContain('check.tool_command: set for h, and not in this fork');
  expect(manifest('hh').forked_from.set).toBe(undefined);
  rmSync(join(it.path, 'other.dot'));
});

test('a setting for a node that has run is reported: what it did stays', async () => {
  const told = await it.fork('base', { at: 'write', set: ['write.prompt=Else'], runId: 'after' });
  expect(told.code).toBe(1);
  expect(told.err).toMatch(/node \\"write\\" has run|node "write" has run/);
  expect(told.err).toContain('--at write --before');
});

test('what cannot be set is refused at its place, and nothing is created', async () => {
  const there = treeOf(it.path);
  for (const [set, words] of [
    ['wirte.prompt=x', /the pipeline has no node "wirte".*did you mean "write"/s],
    ['write.promt=x', /nodes of type codergen have no attribute "promt".*did you mean "prompt"/s],
    ['check.prompt=x', /nodes of type tool have no attribute "prompt"/],
    ['write=x', /it names no attribute.*--set write\.prompt=/s],
    ['prompt', /is not NODE\.ATTRIBUTE=TEXT/],
    ['write.prompt=@missing.md', /there is no such file/],
    ['write.prompt=@at.md', /a prompt cannot begin with "@"/],
    ['check.timeout=soon', /error\[attribute-value\].*--> --set check\.timeout:1:1/s],
    ['write.prompt=@bad.md', /--> bad\.md:2:7\n2 \| hello \$\{var\.nobody\}/],
    ['check.tool_command=cat < /etc/passwd; echo ${var.nobody}', /--> --set check\.tool_command:1:\d+/],
    ['write.shape=circle', /--> --set write\.shape:1:1/],
  ] as const) {
    const told = await it.fork('base', { at: 'write', before: true, set: [set], runId: 'no' });
    expect(told.err, set).toMatch(words);
    expect(told.code).toBe(2);
  }
  const twice = await it.fork('base', { at: 'write', set: ['check.script=a', 'check.tool_command=b'] });
  expect(twice.err).toContain('tool_command of "check" is given twice');
  expect(treeOf(it.path)).toEqual(there);
});
