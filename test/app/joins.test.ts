/** Whole runs with branches: what their join makes of files, failures and answers. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { realClock } from '../../src/platform/clock.ts';
import { verifyRun } from '../../src/verify/index.ts';
import { house, treeOf } from '../support/house.ts';

const run = '.factory/runs/r1';

/** A run of the fan-out `fan` with these branches, each a tool with this command, in a workdir with these files. `rest`: the nodes after
 *  the fan-out; they begin with the join `meet`. */
async function joined(
  branches: Readonly<Record<string, string>>,
  {
    fanOut = '',
    rest = 'meet [shape=tripleoctagon]; meet -> done',
    files = {},
  }: {
    readonly fanOut?: string;
    readonly rest?: string;
    readonly files?: Readonly<Record<string, string>>;
  } = {},
) {
  const nodes = Object.entries(branches).map(
    ([id, command]) =>
      `${id} [shape=parallelogram, tool_command=${JSON.stringify(command)}]; fan -> ${id} -> meet`,
  );
  const dot = `digraph g { start [shape=Mdiamond]; done [shape=Msquare]; fan [shape=component ${fanOut}]
    start -> fan; ${nodes.join('\n')}
    ${rest} }`;
  const work = Object.fromEntries(Object.entries(files).map(([path, text]) => [`work/${path}`, text]));
  const it = await house({ 'p.dot': dot, 'work/keep': '', ...work });
  const told = await it.run('p.dot', { runId: 'r1', workdir: 'work', agent: 'fake' });
  return {
    ...it,
    ...told,
    of: (path: string) => it.json(`${run}/${path}`),
    /** The workspace, without modes and hashes: what was at each path first. */
    tree: () => treeOf(join(it.path, run, 'workspace')),
    workspace: (path: string) => it.read(`${run}/workspace/${path}`),
    held: async () => (await verifyRun({ runDir: join(it.path, run), env: {} })).problems,
  };
}

test('changes of two branches to different paths, and alike ones to the same, are all in the workspace', async () => {
  await using it = await joined(
    {
      one: 'echo 1 > a; rm gone; mv old new; chmod 755 mode; ln -s a link; mkdir -p empty/in; printf "\\0x" > bin; echo same > same; sed -i 1d text',
      two: 'echo 2 > b; echo two > d/two; echo same > same; sed -i "\\$d" text; rm -r deep; mkdir __pycache__; echo 2 > __pycache__/x; echo 2 > z.log',
      three: 'mkdir __pycache__; echo 3 > __pycache__/x; echo 3 > z.log; rm d/x; chmod 700 text',
    },
    {
      files: {
        ...{ gone: 'x', old: 'o', mode: 'm', 'd/x': 'x', 'deep/er/x': 'x', '.gitignore': '*.log\n' },
        text: '1\n2\n3\n4\n5\n',
      },
    },
  );
  expect(it.code).toBe(0);
  expect(Object.keys(it.tree())).toEqual([
    ...[
      '.gitignore',
      '__pycache__',
      '__pycache__/x',
      'a',
      'b',
      'bin',
      'd',
      'd/two',
      'empty',
      'empty/in',
      'keep',
      'link',
    ],
    ...['mode', 'new', 'same', 'text', 'z.log'],
  ]);
  expect(it.workspace('text')).toBe('2\n3\n4\n');
  expect([it.tree()['text']?.slice(0, 3), it.tree()['mode']?.slice(0, 3), it.tree()['link']]).toEqual([
    '700',
    '755',
    '-> a',
  ]);
  expect([it.workspace('z.log'), it.workspace('__pycache__/x')]).toEqual(['2\n', '2\n']);
  expect(it.of('meet/join.json')).toMatchObject({ kept_first: ['__pycache__/x', 'z.log'], conflicts: [] });
  expect(it.of('meet/workspace.diff.json').deleted).toEqual(['d/x', 'deep/er/x', 'gone', 'old']);
  expect(await it.held()).toEqual([]);
});

test('every conflict of two branches is listed, nothing is merged, and an edge leads to what resolves it', async () => {
  const files = { edit: '1\n', del: '1\n', kind: '1\n', bin: '\0a', ren: '1\n', mode: '1\n', 'dir/in': '1' };
  await using it = await joined(
    {
      one: 'echo a > edit; rm del; rm kind; mkdir kind; echo > kind/in; printf "\\0b" > bin; mv ren moved; chmod 755 mode; rm -r dir; echo > dir; ln -s a link; echo n > fresh; echo fine > fine',
      two: 'echo b > edit; echo b > del; echo b > kind; printf "\\0c" > bin; echo b > ren; chmod 700 mode; echo b > dir/in; ln -s b link; echo m > fresh',
    },
    {
      files,
      rest: `meet [shape=tripleoctagon]; meet -> done [condition="outcome=success"]; meet -> solve [condition="outcome=fail && failure_class=product"]
        solve [shape=box, prompt="Resolve \${ctx.parallel.conflicts}"]; solve -> done`,
    },
  );
  expect(it.code).toBe(0);
  const paths = ['bin', 'del', 'dir', 'edit', 'fresh', 'kind', 'link', 'mode', 'ren'];
  const conflicts = it
    .of('meet/join.json')
    .conflicts.map((one: { path: string; kind: string }) => [one.path, one.kind]);
  expect(conflicts).toEqual([
    ...[
      ['bin', 'binary'],
      ['del', 'deleted'],
      ['dir', 'kind'],
      ['edit', 'lines'],
      ['fresh', 'lines'],
    ],
    ...[
      ['kind', 'kind'],
      ['link', 'link'],
      ['mode', 'mode'],
      ['ren', 'deleted'],
    ],
  ]);
  for (const [path, text] of Object.entries(files)) expect(it.workspace(path)).toBe(text);
  expect(Object.keys(it.tree())).not.toContain('fine');
  expect(it.read(`${run}/solve/prompt.md`)).toContain(`Resolve ${JSON.stringify(paths)}`);
  const sides = Object.keys(treeOf(join(it.path, run, 'meet', 'conflicts'))).filter((path) =>
    path.endsWith('edit'),
  );
  expect(sides).toEqual(['fan/edit', 'one/edit', 'two/edit']);
  expect(await it.held()).toEqual([]);
});

const policies: readonly (readonly [string, number, string])[] = [
  ['', 0, 'failed: bad (product: tool_exit_code_1); succeeded: good, fine'],
  ['join_policy=all_success, error_policy=continue', 1, ''],
  [
    'join_policy=k_of_n, k=2, error_policy=continue',
    0,
    'failed: bad (product: tool_exit_code_1); succeeded: good, fine',
  ],
  ['join_policy=QUORUM, quorum_fraction=0.9, error_policy=continue', 1, ''],
  ['error_policy=fail_fast, max_parallel=1', 1, ''],
];

test.for(policies)(
  'a fan-out with %s and a branch that fails gives exit code %i',
  async ([fanOut, code, notes]) => {
    const branches = { good: 'echo 1 > good', bad: 'exit 1', fine: 'echo 1 > fine' };
    await using it = await joined(branches, { fanOut: fanOut === '' ? '' : `, ${fanOut}` });
    expect(it.code).toBe(code);
    const status = it.of('meet/status.json');
    if (code === 0) expect(status.notes).toBe(notes);
    else expect(status.failure_reason).toContain('failed: bad (product: tool_exit_code_1)');
    expect(Object.keys(it.tree())).toEqual(code === 0 ? ['fine', 'good', 'keep'] : ['keep']);
  },
);

test('the first success cancels the branches that still run, and only its files come back', async () => {
  const began = realClock.monotonic();
  const branches = { bad: 'exit 1', quick: 'echo 1 > quick', slow: 'echo 1 > slow; sleep 600' };
  await using it = await joined(branches, { fanOut: ', join_policy=first_success' });
  expect(it.code).toBe(0);
  expect(realClock.monotonic() - began).toBeLessThan(300_000);
  expect(it.of('meet/status.json').notes).toBe(
    'failed: bad (product: tool_exit_code_1); cancelled: slow; succeeded: quick',
  );
  expect(Object.keys(it.tree())).toEqual(['keep', 'quick']);
});

test('a tool in which branches meet works with their files and finds their results in the context', async () => {
  const set = (json: object) => `echo '${JSON.stringify({ context_updates: json })}' > $FACTORY_OUTPUT`;
  const branches = { one: `echo 1 > one; ${set({ plan: 'P', size: 3 })}`, two: 'echo 2 > two' };
  await using it = await joined(branches, {
    fanOut: ', merge_context=plan',
    rest: `meet [shape=parallelogram, tool_command="cat one two; echo \${ctx.plan} \${ctx.parallel.results.one.size} > seen"]
      meet -> done [condition="outcome=success && context.parallel.results.two.outcome=success"]`,
  });
  expect(it.code).toBe(0);
  expect(it.workspace('seen')).toBe('P 3\n');
  expect(it.of('meet/workspace.diff.json')).toMatchObject({ created: ['one', 'seen', 'two'] });
  const line = it
    .records(`${run}/journal.jsonl`)
    .find(({ type, node }) => type === 'Visit' && node === 'meet');
  expect(line).toMatchObject({ joined: 'fan', origins: { set: { plan: 'tool' } } });
});

test('a diamond in which branches meet leads on by what became of them, and agents know of their failure', async () => {
  await using it = await joined(
    { one: 'echo the tests of one fail; exit 1', two: 'echo 2 > two; exit 1' },
    {
      rest: `meet [shape=diamond]; meet -> done [condition="outcome=success"]; meet -> fix [condition="outcome=fail"]
        fix [shape=box, prompt="Fix it."]; fix -> after; after [shape=box, prompt="Go on."]; after -> done`,
    },
  );
  expect(it.code).toBe(0);
  const prompt = it.read(`${run}/fix/prompt.md`);
  expect(prompt).toContain(
    '- failed_node: meet\n- failure_reason: none of 2 branches succeeded; failed: one (product: tool_exit_code_1)',
  );
  expect(prompt).toContain(
    'Results of the branches that met in meet:\n- one: fail (product)\n  reason: tool_exit_code_1\n  output: the tests of one fail',
  );
  expect(it.read(`${run}/after/prompt.md`)).not.toContain('Results of the branches');
});

test('a join that no edge can leave joins the same branches again when the run is resumed', async () => {
  await using it = await joined(
    { one: 'echo 1 > x', two: 'echo 2 > x' },
    { rest: 'meet [shape=tripleoctagon]; meet -> done [condition="outcome=success"]' },
  );
  expect(it.code).toBe(1);
  const again = await it.resume('r1');
  expect(again.code).toBe(1);
  const visits = it.records(`${run}/journal.jsonl`).filter(({ type }) => type === 'Visit');
  expect(visits.map(({ node }) => node).filter((node) => node !== 'one' && node !== 'two')).toEqual([
    'start',
    'fan',
    'meet',
    'meet',
  ]);
  expect(it.of('meet/join.json').conflicts).toHaveLength(1);
});

test.each([
  ['a gate with options', 'meet [shape=hexagon, label="Ship?"]; meet -> on [label="Approve"]'],
  ['an agent', 'meet [shape=box, prompt="Go on."]; meet -> on'],
  ['a tool', 'meet [shape=parallelogram, tool_command="true"]; meet -> on'],
  [
    'a fan-out',
    'meet [shape=component]; meet -> x; meet -> y [condition="outcome=fail"]; x -> on; y -> on; x [shape=parallelogram, tool_command="true"]; y [shape=parallelogram, tool_command="true"]',
  ],
])('%s in which branches that failed meet takes no edge that asks for no failure', async (_, meet) => {
  await using it = await joined(
    { one: 'exit 1', two: 'exit 1' },
    { rest: `${meet}; on [shape=parallelogram, tool_command="touch on"]; on -> done` },
  );
  expect(it.code).toBe(1);
  expect(Object.keys(it.tree())).toEqual(['keep']);
  expect(await it.held()).toEqual([]);
});

const gate = (more = '') =>
  `a [shape=parallelogram, goal_gate=true, ${more}]; a -> b -> meet; b [shape=parallelogram, tool_command="true"]`;
test.each([
  [
    'of a list, without a target',
    'for_each="x\ny"',
    gate('tool_command="test ${item} = y"'),
    'goal gate a.1 is not satisfied',
  ],
  [
    'of a list, whose redirects are spent',
    'for_each="x\ny"',
    gate('retry_target=a, tool_command="test ${item} = y"'),
    'goal gate a.1 is not satisfied',
  ],
  [
    'of a list, which is a gate by its item',
    `for_each="[{\\"must\\":true},{\\"must\\":false}]"`,
    gate('tool_command="exit 1"').replace('goal_gate=true', 'goal_gate="${item.must}"'),
    'goal gate a.1 is not satisfied',
  ],
  [
    'of a list in a branch of a list',
    'for_each="[1]"',
    `f2 [shape=component, for_each="y\nz"]; m2 [shape=tripleoctagon]; f2 -> a; m2 -> meet; ${gate('tool_command="exit 1"').replace('b -> meet', 'b -> m2')}`,
    'goal gate a.1.1 is not satisfied',
  ],
])('a goal gate in a branch %s fails the run at its exit', async (_, fanOut, branch, why) => {
  await using it = await house({
    'work/keep': '',
    'p.dot': `digraph g { start [shape=Mdiamond]; done [shape=Msquare]; fan [shape=component, ${fanOut}]; max_goal_gate_redirects=1
      meet [shape=tripleoctagon]; start -> fan -> ${branch.startsWith('f2') ? 'f2' : 'a'}; meet -> done; ${branch} }`,
  });
  const told = await it.run('p.dot', { runId: 'r1', workdir: 'work', agent: 'fake' });
  expect(told).toMatchObject({ code: 1 });
  expect(it.json(`${run}/result.json`).reason).toContain(why);
  expect((await verifyRun({ runDir: join(it.path, run), env: {} })).problems).toEqual([]);
});

test('gates of items that a later round of the list does not have count no more', async () => {
  await using it = await house({
    'work/keep': '',
    'p.dot': `digraph g { start [shape=Mdiamond]; done [shape=Msquare]
      list [shape=parallelogram, tool_command="if [ -e again ]; then echo x; else touch again; printf 'x\\\\nbad\\\\n'; fi"]
      fan [shape=component, for_each="\${ctx.tool.output}", join_policy=all_success]
      a [shape=parallelogram, goal_gate=true, tool_command="test \${item} = x"]
      meet [shape=tripleoctagon]; start -> list -> fan -> a -> meet
      meet -> done [condition="outcome=success"]; meet -> list [condition="outcome=fail"] }`,
  });
  expect(await it.run('p.dot', { runId: 'r1', workdir: 'work', agent: 'fake' })).toMatchObject({ code: 0 });
});

test('a goal gate in a branch of a called pipeline fails the call at its exit', async () => {
  await using it = await house({
    'work/keep': '',
    'child.dot': `digraph c { start [shape=Mdiamond]; done [shape=Msquare]; fan [shape=component]
      meet [shape=tripleoctagon]; start -> fan; meet -> done; fan -> c -> meet; c [shape=parallelogram, tool_command="true"]
      fan -> a; ${gate('tool_command="exit 1"')} }`,
    'p.dot':
      'digraph g { start [shape=Mdiamond]; done [shape=Msquare]; call [type=subgraph, graph_ref="child.dot"]; start -> call -> done }',
  });
  const told = await it.run('p.dot', { runId: 'r1', workdir: 'work', agent: 'fake' });
  expect(told).toMatchObject({ code: 1 });
  expect(it.json(`${run}/result.json`).reason).toContain('goal gate call.a is not satisfied');
});

test('a manager does not stop a pipeline with an unmet goal gate as a success', async () => {
  await using it = await house({
    'work/keep': '',
    'child.dot':
      'digraph c { start [shape=Mdiamond]; done [shape=Msquare]; a [shape=parallelogram, goal_gate=true, tool_command="exit 1"]; b [shape=parallelogram, tool_command="true"]; c [shape=parallelogram, tool_command="true"]; start -> a -> b -> c -> done }',
    'p.dot':
      'digraph g { start [shape=Mdiamond]; done [shape=Msquare]; call [shape=house, stack.child_dotfile="child.dot", manager.stop_condition="outcome=success && context.current_node=b"]; start -> call -> done }',
  });
  expect(await it.run('p.dot', { runId: 'r1', workdir: 'work', agent: 'fake' })).toMatchObject({ code: 1 });
  expect(it.json(`${run}/result.json`).reason).toContain('goal gate call.a is not satisfied');
  expect((await verifyRun({ runDir: join(it.path, run), env: {} })).problems).toEqual([]);
});

test('a fan-out in which branches meet has its join_policy for its own branches alone', async () => {
  const tool = (id: string) => `${id} [shape=parallelogram, tool_command="true"]`;
  await using it = await joined(
    { good: 'true', bad: 'false' },
    {
      rest: `meet [shape=component, join_policy=all_success]; ${tool('c')}; ${tool('d')}; last [shape=tripleoctagon]
        meet -> {c d} -> last -> done`,
    },
  );
  expect(it.code).toBe(0);
  expect(await it.held()).toEqual([]);
});
