/** Fixed defects, each in the shortest run that shows it. */
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { home } from '../support/in-process.ts';

const one = (attributes: string, edges = 'start -> t -> exit', more = '') =>
  `digraph g { ${more} start [shape=Mdiamond] t [${attributes}] exit [shape=Msquare] ${edges} }`;
const status = (it: Awaited<ReturnType<typeof home>>, node = 't') =>
  it.json(`.factory/runs/r1/${node}/status.json`);
const run = (
  it: Awaited<ReturnType<typeof home>>,
  args: readonly string[] = [],
  env: Record<string, string> = {},
) => it.factory(['run', 'p.dot', '--workdir', 'w', '--run-id', 'r1', ...args], { env });

test('of two runs that start with the same id one gets it and the other is refused', async () => {
  await using it = await home({ 'p.dot': one('shape=parallelogram, tool_command="true"'), 'w/a': 'a' });
  const both = await Promise.all([run(it), run(it)]);
  expect(both.map((ran) => ran.code).sort()).toEqual([0, 2]);
  expect(await it.list('.factory/runs')).toEqual(['r1']);
  expect(await it.list('.factory/runs/r1/workspace')).toEqual(['a']);
});

test('a pipe instead of a file does not hang the run, and is not an answer', async () => {
  await using it = await home({
    'p.dot': one('shape=parallelogram, tool_command="mkfifo $FACTORY_OUTPUT"'),
    'w/a': '',
  });
  expect((await run(it)).code).toBe(1);
  expect(await status(it, 't')).toMatchObject({
    failure_class: 'config',
    failure_reason: expect.stringContaining('$FACTORY_OUTPUT is not a regular file'),
  });
});

describe('a node cannot break the engine', () => {
  test('with a folder in place of an artifact', async () => {
    await using it = await home({
      'p.dot': one(
        'shape=parallelogram, tool_command="mkdir $FACTORY_NODE_DIR/status.json $FACTORY_OUTPUT; exit 1", retry_on=fail, max_retries=1, retry_delay=1ms',
        'start -> t; t -> exit [condition="failure_class=config"]',
      ),
      'w/a': '',
    });
    expect((await run(it)).code).toBe(0);
    expect(await status(it)).toMatchObject({ outcome: 'fail' });
  });
});

test('a secret in the name of a file is masked in the records', async () => {
  await using it = await home({
    'p.dot': one(
      'shape=parallelogram, env_pass="MY_TOKEN", allowed_write_paths="out/", tool_command="touch f-$MY_TOKEN"',
      'start -> t; t -> exit [condition="outcome=fail"]',
    ),
    'w/a': '',
  });
  expect((await run(it, [], { MY_TOKEN: 'sekretvalue99' })).code).toBe(0);
  for (const file of [
    'events.jsonl',
    'trace.jsonl',
    'checkpoint.json',
    't/status.json',
    't/workspace.diff.json',
  ]) {
    expect(await it.read(`.factory/runs/r1/${file}`), file).not.toContain('sekretvalue99');
  }
});

test('a resumed run uses the agents that it began with', async () => {
  const text = one('agent.backend=stub', 'start -> a -> t -> exit', 'a [agent.backend=stub]');
  await using it = await home({ 'p.dot': text, 'w/x': '' });
  const stop = { ATTRACTION_TEST_STOP_AFTER_NODE: 'a' };
  const byFake = async (id: string) =>
    (await it.read(`.factory/runs/${id}/t/status.json`)).includes('fake backend');
  await run(it, [], { ...stop, ATTRACTION_BACKEND: 'fake' });
  expect((await it.factory(['resume', 'r1'])).code).toBe(0);
  expect(await byFake('r1')).toBe(true);
  await it.factory(['run', 'p.dot', '--workdir', 'w', '--run-id', 'r2'], { env: stop });
  await it.factory(['resume', 'r2'], { env: { ATTRACTION_BACKEND: 'fake' } });
  expect(await byFake('r2')).toBe(false);
});

test('the command that started a run also resumes it, whether or not a node uses its flags', async () => {
  const text = one(
    'agent.backend=stub',
    'start -> a -> t -> exit',
    'a [shape=parallelogram, tool_command="true"]',
  );
  const script = '{"format":"factory-script/1","answers":{"t":[{"text":"x"}]}}';
  await using it = await home({ 'p.dot': text, 'w/x': '', 's.json': script });
  await symlink('w', join(it.path, 'link'));
  const flags = ['--agent', 'fake', '--model', 'm', '--effort', 'low', '--script', 's.json'];
  await run(it, flags, { ATTRACTION_TEST_STOP_AFTER_NODE: 'a' });
  const again = ['run', 'p.dot', '--resume', '--run-id', 'r1', '--workdir', 'link', ...flags];
  const other = await it.factory([...again, '--agent', 'codex', '--model', 'n']);
  expect(other.stderr).toMatch(/--agent codex differs.*--model n differs/s);
  const ran = await it.factory(again);
  expect(ran.code, ran.stderr).toBe(0);
});

describe('accepted changes', () => {
  const text = one(
    'shape=parallelogram, tool_command="echo ${var.k} >> log"',
    'start -> a -> t -> exit',
    'vars="k=one" a [shape=parallelogram, tool_command="true"]',
  );
  const stop = { ATTRACTION_TEST_STOP_AFTER_NODE: 'a' };
  test('are applied, and the next resume compares with them', async () => {
    await using it = await home({ 'p.dot': text, 'w/x': '' });
    await run(it, [], stop);
    await writeFile(join(it.path, 'p.dot'), text.replace('>> log', '> log; echo new >> log'));
    expect(
      (
        await it.factory(['resume', 'r1', '--var', 'k=two', '--accept-changes'], {
          env: { ATTRACTION_TEST_STOP_AFTER_NODE: 't' },
        })
      ).code,
    ).toBe(1);
    expect(await it.read('.factory/runs/r1/workspace/log')).toBe('two\nnew\n');
    expect((await it.factory(['resume', 'r1'])).code).toBe(0);
  });
  test('include the limits and the goal of the graph, but no other value of a variable', async () => {
    const text = (limit: string, goal: string, vars: string) =>
      one(
        'shape=parallelogram, tool_command="cat ${var.spec} > t; echo ${ctx.graph.goal} >> t"',
        'start -> a -> t -> exit',
        `max_steps=${limit} goal="${goal}" vars="spec=@spec.md${vars}" a [shape=parallelogram, tool_command="true"]`,
      );
    await using it = await home({ 'p.dot': text('2', 'old', ', n=1'), 'w/x': '', 'spec.md': 'old text ' });
    expect((await run(it)).code).toBe(1);
    await writeFile(join(it.path, 'p.dot'), text('9', 'new', ''));
    await writeFile(join(it.path, 'spec.md'), 'another');
    const ran = await it.factory(['resume', 'r1', '--accept-changes', '--env-pass', 'A_KEY']);
    expect(ran.code, ran.stderr).toBe(0);
    expect(await it.read('.factory/runs/r1/workspace/t')).toBe('old text new\n');
    expect(await it.json('.factory/runs/r1/manifest.json')).toMatchObject({
      goal: 'new',
      caps: { max_steps: 9 },
      env_pass: ['A_KEY'],
    });
    expect((await it.factory(['verify', 'r1'])).code).toBe(0);
  });
  test('that remove the current node of the run are refused', async () => {
    await using it = await home({ 'p.dot': text, 'w/x': '' });
    await run(it, [], stop);
    await writeFile(join(it.path, 'p.dot'), text.replaceAll(/\bt\b/g, 'u'));
    const refused = await it.factory(['resume', 'r1', '--accept-changes']);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('"t"');
  });
});

test('a run is resumed from anywhere by its id and runs directory', async () => {
  await using it = await home({
    'p.dot': one('shape=parallelogram, tool_command="true"'),
    'w/a': '',
    'elsewhere/x': '',
  });
  await run(it, [], { ATTRACTION_TEST_STOP_AFTER_NODE: 't' });
  const ran = await it.factory(['resume', 'r1', '--runsdir', join(it.path, '.factory/runs')], {
    cwd: join(it.path, 'elsewhere'),
  });
  expect(ran.code, ran.stderr).toBe(0);
});

test('a run never writes through a link that the workdir has instead of .factory', async () => {
  await using it = await home({
    'p.dot': one('shape=parallelogram, tool_command="true"', 'start -> t -> exit', 'vars="spec=@s.md"'),
    's.md': 'text',
    'w/a': '',
  });
  await mkdir(join(it.path, 'mine'));
  await symlink(join(it.path, 'mine'), join(it.path, 'w/.factory'));
  const ran = await run(it);
  expect(ran.code).toBe(2);
  expect(ran.stderr).toContain('.factory');
  expect(await it.list('mine')).toEqual([]);
});

test.each([
  ['away', 'rm -rf "$FACTORY_WORKSPACE"'],
  ['a link to somewhere else', 'rm -rf "$FACTORY_WORKSPACE"; ln -s "$ELSEWHERE" "$FACTORY_WORKSPACE"'],
  ['a file', 'rm -rf "$FACTORY_WORKSPACE"; echo x > "$FACTORY_WORKSPACE"'],
])(
  'after a node that replaced the whole workspace by %s, the next node has an empty workspace',
  async (_, command) => {
    await using it = await home({
      'p.dot': one(
        `shape=parallelogram, tool_command="${command.replaceAll('"', '\\"')}"`,
        'start -> t -> u -> exit',
        'u [shape=parallelogram, tool_command="echo new > file"]',
      ),
      'w/a': '',
      'elsewhere/kept': '',
    });
    expect((await run(it, [], { ELSEWHERE: join(it.path, 'elsewhere') })).code).toBe(0);
    expect(await it.list('.factory/runs/r1/workspace')).toEqual(['file']);
    expect(await it.list('elsewhere')).toEqual(['kept']);
  },
);

test('prepared answers are the same before and after a resume, even if their files have changed', async () => {
  const pipeline = one(
    'shape=parallelogram, tool_command="rm \\"$ANSWER\\""',
    'start -> t -> m; m -> n [condition="outcome=success"]; n -> exit [condition="failure_class=config"]',
    'agent_script="s.json"; m [prompt="p", response_file="m.txt"] n [prompt="p"]',
  );
  const script = JSON.stringify({ format: 'factory-script/1', answers: { m: [{ file: 'a.txt' }] } });
  await using it = await home({ 'p.dot': pipeline, 's.json': script, 'a.txt': 'kept', 'w/a': '' });
  const env = { ANSWER: join(it.path, 'a.txt') };
  const told: unknown[] = [];
  for (const stop of ['', 't', 'm']) {
    await writeFile(env.ANSWER, 'kept');
    const ran = await run(it, ['--runsdir', `runs${stop}`], {
      ...env,
      ATTRACTION_TEST_STOP_AFTER_NODE: stop,
    });
    const ended = stop === '' ? ran : await it.factory(['resume', 'r1', '--runsdir', `runs${stop}`], { env });
    expect(ended.code, ended.stderr).toBe(0);
    expect(await it.read(`runs${stop}/r1/workspace/m.txt`)).toBe('kept');
    told.push(await it.json(`runs${stop}/r1/n/status.json`));
  }
  expect(told).toEqual([told[0], told[0], told[0]]);
  expect(told[0]).toMatchObject({ failure_reason: expect.stringContaining(join(it.path, 's.json')) });
});
