/** Whole runs with a branch for each item of a list. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { verifyRun } from '../../src/verify/index.ts';
import { house } from '../support/house.ts';
import { call } from '../support/verb.ts';

const run = '.factory/runs/r1';
const tool = (id: string, command: string, more = '') =>
  `${id} [shape=parallelogram, tool_command=${JSON.stringify(command)}${more}]`;

/** A run whose tool `list` sets the context key `l` to this value; `branch`: nodes and edges from `each` to `all`. */
async function eachOf(list: string, branch: string, more = '', stop?: (line: string) => boolean) {
  const set = JSON.stringify({ context_updates: { l: JSON.parse(list) as unknown } });
  const dot = `digraph g { start [shape=Mdiamond]; done [shape=Msquare]; all [shape=tripleoctagon]
    ${tool('list', `cp list.json "$FACTORY_OUTPUT"`)}
    each [shape=component, for_each="\${ctx.l}", item_key=it${more}]
    ${branch}
    start -> list -> each; all -> done [condition="outcome!=fail"] }`;
  const it = await house({ 'p.dot': dot, 'work/list.json': set });
  const told = await it.run('p.dot', { runId: 'r1', workdir: 'work', agent: 'fake' }, stop);
  return {
    ...it,
    ...told,
    nodes: () =>
      it.records(`${run}/journal.jsonl`).flatMap(({ type, node }) => (type === 'Visit' ? [node] : [])),
    workspace: (path: string) => it.read(`${run}/workspace/${path}`),
    context: () => it.json(`${run}/checkpoint.json`).context as Record<string, unknown>,
    held: async () => (await verifyRun({ runDir: join(it.path, run), env: {} })).problems,
  };
}

const write = `${tool('w', 'printf %s ${item} > out-${index}; test ${item} != bad', ', allowed_write_paths="out-${index}"')}
  ${tool('check', 'test -s out-${index} && echo ${node.w.outcome} >> out-${index}')}
  each -> w -> check -> all`;

test('each item of a list has its own nodes, values, workspace and result', async () => {
  await using it = await eachOf('["a b", "$(x)", "bad"]', write);
  expect(it.code).toBe(0);
  expect([it.workspace('out-1'), it.workspace('out-2')]).toEqual(['a bsuccess\n', '$(x)success\n']);
  expect(it.nodes().sort()).toEqual([
    'all',
    'check.1',
    'check.2',
    'check.3',
    'done',
    'each',
    'list',
    'start',
    'w.1',
    'w.2',
    'w.3',
  ]);
  const context = it.context();
  expect(context['parallel.results']).toMatchObject([
    { id: 'w.1', status: 'success', item: 'a b', files: { created: ['out-1'] } },
    { id: 'w.2', status: 'success', item: '$(x)' },
    { id: 'w.3', status: 'success', item: 'bad' },
  ]);
  expect(context).not.toHaveProperty('it');
  const { out } = await call(['graph', 'r1'], { format: 'mermaid', output: '-' }, { cwd: it.path, env: {} });
  expect(out).toContain('each: a branch for each item');
  expect(out).toMatch(/^ {2}w\[\/"w<br\/>×3 · .*"\/\]:::fail$/m);
  expect(out).toMatch(/^ {2}w ==>.*×3.* check$/m);
  expect(await it.held()).toEqual([]);
});

test.for([
  ['an empty list', '[]', /all outcome=success/, 0],
  ['lines', '"a\\n\\nb"', /branches=w\.1,w\.2/, 0],
  ['a text that begins as a list and is none', '"[1"', /do not begin: the text begins as a JSON list/, 1],
  ['a key that nothing has set', 'null', /branches=""/, 0],
] as const)('%s is taken for what it is', async ([, list, says, code]) => {
  await using it = await eachOf(list, write);
  expect(it.err).toMatch(says);
  expect(it.code).toBe(code);
});

test('an item with which a path would leave the workspace fails the fan-out', async () => {
  const scoped = `${tool('w', 'true', ', allowed_write_paths="src/${item}"')}; each -> w -> all`;
  await using it = await eachOf('["a", "../../x"]', scoped);
  expect(it.code).toBe(1);
  expect(it.err).toMatch(/do not begin: item 2: allowed_write_paths of \\"w\\" is \\"src\/..\/..\/x\\"/);
});

test('a gate in the branch of an item sends back within it, and another item does not notice', async () => {
  const meets = 'test ${item} != twice || test `wc -l < tries` -gt 1';
  const gated = `${tool('w', 'echo x >> tries')}; ${tool('g', meets, ', goal_gate=true, retry_target=w')}
    each -> w -> g -> all`;
  await using it = await eachOf('["once", "twice"]', gated, ', merge=none');
  expect(it.code).toBe(0);
  expect(
    it
      .nodes()
      .filter((node) => String(node).startsWith('w.'))
      .sort(),
  ).toEqual(['w.1', 'w.2', 'w.2']);
});

test('an agent after the join reads of the items, also in a pipeline that calls another one', async () => {
  await using it = await house({
    'c.dot': 'digraph c { start [shape=Mdiamond]; done [shape=Msquare]; start -> done }',
    'p.dot': `digraph g { workdir="none"; start [shape=Mdiamond]; done [shape=Msquare]; all [shape=tripleoctagon]
      each [shape=component, for_each="a\\nb"]; ${tool('w', 'true')}; review [type=subgraph, graph_ref="c.dot"]
      say [prompt="Say.", fidelity=compact]
      start -> each -> w -> all -> review -> say -> done }`,
  });
  await it.run('p.dot', { runId: 'r1', agent: 'fake' });
  expect(it.read(`${run}/say/prompt.md`)).toMatch(/w\.1.*w\.2.*review/s);
});

test('a list in the branch of a list has branches in branches', async () => {
  const inner = `inner [shape=component, for_each="\${item}"]; ${tool('w', 'echo ${item} ${ctx.it} > out-$FACTORY_NODE')}
    meet [shape=tripleoctagon]; each -> inner -> w -> meet -> all`;
  await using it = await eachOf('[["a", "b"], ["c"]]', inner);
  expect(it.code).toBe(0);
  expect(it.nodes()).toEqual(
    expect.arrayContaining(['inner.1', 'w.1.1', 'w.1.2', 'meet.1', 'inner.2', 'w.2.1', 'meet.2']),
  );
  const { out } = await call(['show', 'r1'], { json: true }, { cwd: it.path, env: {} });
  expect(out).toContain('"title": "w: a"');
  expect(await it.held()).toEqual([]);
});

test('an interrupted run continues with the items that have not ended', async () => {
  const slow = `${tool('w', 'test ${index} = 1 || sleep 1; echo ${item} > out-${index}')}; each -> w -> all`;
  await using it = await eachOf('["a", "b", "c"]', slow, ', max_parallel=1', (line) =>
    /branch completed .*w\.1/.test(line),
  );
  expect(it.code).toBe(130);
  const resumed = await it.resume('r1', { timeout: undefined });
  expect(resumed.code).toBe(0);
});
