/** Runs of pipelines that call others. */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { house } from '../support/house.ts';

const ends = 'start [shape=Mdiamond]; done [shape=Msquare];';
const tool = (id: string, command: string, more = '') =>
  `${id} [shape=parallelogram, ${more}tool_command="${command}"];`;
const sets = (updates: object) =>
  `echo '${JSON.stringify({ context_updates: updates }).replaceAll('"', '\\"')}' > $FACTORY_OUTPUT`;
const then = (...ids: readonly string[]) =>
  ids
    .slice(1)
    .map((id, at) => `${ids[at]} -> ${id} [condition="outcome=success"];`)
    .join(' ');
const pipeline = (body: string, more = '') => `digraph g { workdir="none"; ${more} ${ends} ${body} }`;

const at = '.factory/runs/r1';
type House = Awaited<ReturnType<typeof house>>;
const run = (it: House, more = {}) => it.run('p.dot', { runId: 'r1', quiet: true, json: true, ...more });
const context = (it: House, node: string): Record<string, unknown> =>
  JSON.parse(it.read(`${at}/${node}/tool.stdout.txt`));
type Line = {
  readonly type: string;
  readonly node: string;
  readonly visit: number;
  readonly branch?: string;
  readonly joined?: string;
  readonly outcome: { readonly status: string; readonly class?: string; readonly reason?: string };
};
const visits = (it: House, id = 'r1'): readonly Line[] =>
  it
    .read(`.factory/runs/${id}/journal.jsonl`)
    .trim()
    .split('\n')
    .map((line): Line => JSON.parse(line))
    .filter(({ type }) => type === 'Visit');
/** `node outcome`, of those that are no starts. */
const walked = (it: House, id = 'r1') =>
  visits(it, id)
    .filter(({ node }) => !/start$/.test(node))
    .map(({ node, outcome }) => `${node} ${outcome.status}`);

test('a called pipeline sees its inputs and the workspace, its caller what it returns', async () => {
  await using it = await house({
    'p.dot': pipeline(
      `${tool('prep', `echo one > file.txt; ${sets({ secret_plan: 'x', head: 'abc' })}`)}
       CALL [type=subgraph, graph_ref="sub/child.dot", var.diff="\${var.base}..$context.head of $goal", returns="verdict, nothing"];
       ${tool('show', 'cat $FACTORY_CONTEXT')} ${then('start', 'prep', 'CALL', 'show', 'done')}`,
      'goal=outer; agent_script="agent.json"; vars="base=main";',
    ),
    'sub/child.dot': pipeline(
      `look [prompt="@look.md", fidelity=compact]; ${tool('work', 'cat file.txt > seen.txt; echo ${node.look.outcome} >> file.txt; cat $FACTORY_CONTEXT')}
       start -> look; look -> work [condition="outcome=success && context.lens=all"]; work -> done [condition="outcome=success"];`,
      'goal="review $diff"; vars="diff, lens=all";',
    ),
    'sub/look.md': 'Goal: $goal. Diff: ${var.diff}. Lens: $lens. Of the caller: $base $context.secret_plan.',
    'agent.json': JSON.stringify({
      format: 'factory-script/1',
      answers: {
        'CALL.look': [
          { json: { outcome: 'success', notes: 'looked', context_updates: { verdict: 'good', inner: 1 } } },
        ],
      },
    }),
  });
  const ran = await run(it);
  expect(ran.code, ran.err.slice(-800)).toBe(0);
  expect(it.read(`${at}/CALL.look/prompt.md`)).toBe(
    '<run_so_far>\nGoal: review main..abc of outer\n</run_so_far>\n\n' +
      'Goal: review main..abc of outer. Diff: main..abc of outer. Lens: all. Of the caller: $base $context.secret_plan.\n',
  );
  expect(context(it, 'CALL.work')).toEqual({
    'var.diff': 'main..abc of outer',
    'var.lens': 'all',
    'graph.goal': 'review main..abc of outer',
    current_node: 'work',
    outcome: 'success',
    verdict: 'good',
    inner: 1,
  });
  const after = context(it, 'show');
  expect(after).toMatchObject({ verdict: 'good', secret_plan: 'x', head: 'abc', 'graph.goal': 'outer' });
  expect(Object.keys(after).filter((key) => /inner|nothing|var\./.test(key))).toEqual([]);
  expect(it.read(`${at}/workspace/file.txt`)).toBe('one\nsuccess\n');
});

test('an agent cannot change an input of the pipeline in which it works', async () => {
  await using it = await house({
    'p.dot': pipeline(
      `CALL [type=subgraph, graph_ref="c.dot", var.check="true"]; ${then('start', 'CALL', 'done')}`,
    ),
    'c.dot': pipeline(
      `${tool('a', sets({ 'var.check': 'false' }))} ${then('start', 'a', 'done')}`,
      'vars=check;',
    ),
  });
  expect((await run(it)).code).toBe(1);
  expect(visits(it).find(({ node }) => node === 'CALL.a')?.outcome).toMatchObject({
    status: 'fail',
    class: 'config',
    reason: expect.stringContaining('var.check'),
  });
});

test('a call fails with the class, the reason and the output of the failure in its pipeline, and begins anew when it runs again', async () => {
  await using it = await house({
    'p.dot': pipeline(
      `CALL [type=subgraph, graph_ref="c.dot"]; ${tool('fix', 'cat $FACTORY_CONTEXT; touch fixed')}
       ${then('start', 'CALL', 'done')} CALL -> fix [condition="failure_class=product"]; fix -> CALL;`,
    ),
    // Each node may run once in a call, and what it did in an earlier call is no success in this one.
    'c.dot': pipeline(
      `${tool('prep', 'true')} ${tool('check', 'echo broken wheel >&2; test -e fixed', 'requires_tool_success=true, required_tool_node=prep, ')} ${then('start', 'prep', 'check', 'done')}`,
      'default_max_visits=1;',
    ),
  });
  const ran = await run(it);
  expect(ran.code, ran.err.slice(-800)).toBe(0);
  expect(walked(it)).toEqual([
    ...['CALL success', 'CALL.prep success', 'CALL.check fail', 'CALL.done fail', 'fix success'],
    ...['CALL success', 'CALL.prep success', 'CALL.check success', 'CALL.done success', 'done success'],
  ]);
  expect(context(it, 'fix')).toMatchObject({
    'last_failure.node_id': 'CALL',
    'last_failure.class': 'product',
    'last_failure.reason': 'no route from node CALL.check for outcome fail: tool_exit_code_1',
    'last_failure.summary': expect.stringMatching(/failed_node=CALL\.check\n[\s\S]*broken wheel/),
  });
  expect(existsSync(join(it.path, at, 'CALL.check/visits/1/tool.stderr.txt'))).toBe(true);
});

type Row = readonly [what: string, child: string, outcome: string, reason: RegExp];
const rows: readonly Row[] = [
  [
    'an exit with outcome=fail',
    `bad [shape=Msquare, outcome=fail]; ${tool('a', 'true')} start -> a -> bad; a -> done [condition="outcome=fail"];`,
    'product',
    /^CALL\.bad$/,
  ],
  [
    'a failure that walks into an exit',
    `${tool('a', 'exit 3')} start -> a -> done;`,
    'product',
    /CALL\.a failed and reached the exit "CALL\.done" by an unconditional edge/,
  ],
  [
    'a failure that an edge forgives',
    `${tool('a', 'exit 3')} start -> a; a -> done [condition="outcome=fail"];`,
    'success',
    /^$/,
  ],
  [
    'a node at its limit',
    `${tool('a', 'true', 'max_visits=2, ')} start -> a; a -> a [condition="outcome=success"]; a -> done [condition="outcome=fail"];`,
    'budget',
    /^max_visits: node "CALL\.a"/,
  ],
  [
    'a goal gate that stays unmet',
    `${tool('a', 'exit 3', 'goal_gate=true, retry_target=a, max_visits=9, ')} max_goal_gate_redirects=2; start -> a; a -> done [condition="outcome=fail"];`,
    'product',
    /goal gate CALL\.a is not satisfied/,
  ],
  [
    'a goal gate that is met at last',
    `${tool('a', 'test $FACTORY_VISIT = 3', 'goal_gate=true, retry_target=b, ')} ${tool('b', 'true')} start -> b -> a; a -> done [condition="outcome=fail"]; a -> done [condition="outcome=success"];`,
    'success',
    /^$/,
  ],
  [
    'its own restart',
    `${tool('a', `test $FACTORY_VISIT = 2`)} start -> a; a -> a [condition="outcome=fail", loop_restart=true]; a -> done [condition="outcome=success && context.way=on"];`,
    'success',
    /^$/,
  ],
];

test.for(rows)('%s in a called pipeline decides how the call ends', async ([, child, outcome, reason]) => {
  await using it = await house({
    'p.dot': pipeline(
      `CALL [type=subgraph, graph_ref="c.dot", var.way=on]; ${tool('after', 'true')} ${then('start', 'CALL', 'after', 'done')} CALL -> done [condition="outcome=fail"];`,
    ),
    'c.dot': pipeline(child, 'vars="way";'),
  });
  const ran = await run(it);
  expect(ran.code, ran.err.slice(-800)).toBe(0);
  const call = visits(it).find(({ joined }) => joined === 'CALL');
  const { status, class: of, reason: why = '' } = call?.outcome ?? {};
  expect([of ?? status, why]).toEqual([outcome, expect.stringMatching(reason)]);
  expect(walked(it).includes('after success')).toBe(outcome === 'success');
});

test('a changed child is refused by a resume, and taken with --accept-changes', async () => {
  const child = (command: string) => pipeline(`${tool('a', command)} ${then('start', 'a', 'done')}`);
  await using it = await house({
    'p.dot': pipeline(`CALL [type=subgraph, graph_ref="c.dot"]; ${then('start', 'CALL', 'done')}`),
    'c.dot': child('exit 3'),
  });
  expect((await run(it)).code).toBe(1);
  writeFileSync(join(it.path, 'c.dot'), child('true'));
  const refused = await it.resume('r1', { quiet: true });
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('the file c.dot')]);
  const resumed = await it.resume('r1', { quiet: true, acceptChanges: true });
  expect(resumed.code, resumed.err.slice(-800)).toBe(0);
  expect(JSON.parse(it.read(`${at}/manifest.json`)).pipelines['c.dot'].text).toBe(child('true'));
});

test('a manager ends its pipeline when its condition holds, and fails it past its cycles', async () => {
  const files = (attrs: string) => ({
    'p.dot': pipeline(
      `M [shape=house, stack.child_dotfile="c.dot", returns=n, ${attrs}]; ${then('start', 'M', 'done')} M -> done [condition="outcome=fail"];`,
    ),
    'c.dot': pipeline(
      `${tool('a', 'echo \'{\\"context_updates\\":{\\"n\\":\'$FACTORY_VISIT\'}}\' > $FACTORY_OUTPUT')} start -> a; a -> a [condition="outcome=success"]; a -> done [condition="outcome=fail"];`,
    ),
  });
  const end = async (attrs: string) => {
    await using it = await house(files(attrs));
    const ran = await run(it);
    expect(ran.code, ran.err.slice(-800)).toBe(0);
    const { outcome } = visits(it).find(({ joined }) => joined === 'M') ?? {};
    return { ...outcome, times: walked(it).filter((one) => one.startsWith('M.a')).length };
  };
  expect(await end('manager.stop_condition="context.n>=3"')).toMatchObject({
    status: 'success',
    times: 3,
    updates: { n: 3 },
  });
  expect(await end('manager.stop_condition="stack.child.outcome=fail", manager.max_cycles=4')).toMatchObject({
    status: 'fail',
    class: 'budget',
    reason: expect.stringContaining('manager.max_cycles'),
    times: 3,
  });
});

test('a fork, show, why, explain, simulate, replay and a script know nodes of called pipelines by their ids', async () => {
  await using it = await house({
    'p.dot': pipeline(
      `CALL [type=subgraph, graph_ref="c.dot"]; ${then('start', 'CALL', 'done')}`,
      'agent_script="agent.json";',
    ),
    'c.dot': pipeline(
      `look [prompt="look"]; ${tool('w', 'echo $FACTORY_VISIT > w.txt; exit 4')} ${then('start', 'look', 'w', 'done')}`,
    ),
    'agent.json': JSON.stringify({
      format: 'factory-script/1',
      answers: { 'CALL.look': [{ json: { outcome: 'success' } }] },
    }),
  });
  expect((await run(it)).code).toBe(1);
  expect((await it.verb(['show', 'r1', 'CALL.w@1'])).out).toContain('CALL.w');
  // The call stands as its pipeline has ended, not as it has begun.
  expect((await it.verb(['show', 'r1'])).out).toMatch(/^CALL +subgraph +1 .*✗ fail/m);
  expect((await it.verb(['why', 'r1'])).out).toContain('CALL.w');
  expect((await it.verb(['explain', 'CALL.w'], { pipeline: 'p.dot' })).out).toContain('c.dot:');
  expect((await it.verb(['simulate', 'p.dot'], { outcome: ['CALL.w=fail'] })).out).toContain('CALL.w');
  expect((await it.exported('r1')).out).toContain('"CALL.look"');
  const forked = await it.fork('r1', { at: 'CALL.look@1', runId: 'r2', quiet: true });
  expect(forked.code).toBe(1);
  expect(walked(it, 'r2')).toEqual(walked(it));
  const replayed = await it.replay('r1', { runId: 'r3', quiet: true });
  expect(replayed.code).toBe(1);
  expect(walked(it, 'r3')).toEqual(walked(it));
});
test('a gate in a called pipeline suspends the run; its answer and a resume can do without its file', async () => {
  await using it = await house({
    'p.dot': pipeline(`CALL [type=subgraph, graph_ref="sub/c.dot"]; ${then('start', 'CALL', 'done')}`),
    'sub/c.dot': pipeline(
      `ask [shape=hexagon, label="Go?", human.default_choice=fix]; ${tool('fix', 'touch fixed')}
       ${then('start', 'ask')} ask -> done [label=Yes]; ask -> fix [label="[F] Fix first"]; ${then('fix', 'done')}`,
    ),
  });
  expect((await run(it)).code).toBe(75);
  rmSync(join(it.path, 'p.dot'));
  rmSync(join(it.path, 'sub'), { recursive: true });
  expect(await it.verb(['answer', 'r1', 'CALL.ask@1'], { choice: 'fix' })).toMatchObject({ code: 0 });
  const resumed = await it.resume('r1', { quiet: true, acceptChanges: true });
  expect(resumed.code, resumed.err.slice(-800)).toBe(0);
  expect(walked(it)).toEqual(
    ['CALL', 'CALL.ask', 'CALL.fix', 'CALL.done', 'done'].map((node) => `${node} success`),
  );
});

test('calls stand in calls, in branches and around them, and twice in one pipeline', async () => {
  await using it = await house({
    'p.dot': pipeline(
      `fan [shape=component]; one [type=subgraph, graph_ref="mid.dot", var.n=1, returns=seen]; two [type=subgraph, graph_ref="mid.dot", var.n=2]; join [shape=tripleoctagon];
       start -> fan; fan -> one; fan -> two; one -> join; two -> join; join -> again [condition="outcome=success"];
       again [type=subgraph, graph_ref="leaf.dot", var.n=3]; ${then('again', 'done')}`,
    ),
    'mid.dot': pipeline(
      `deep [type=subgraph, graph_ref="leaf.dot", var.n="\${var.n}0", returns=seen]; fork [shape=component]; ${tool('a', 'echo ${var.n} > a${var.n}.txt')} ${tool('b', 'true')} meet [shape=tripleoctagon];
       ${then('start', 'deep', 'fork')} fork -> a; fork -> b; a -> meet; b -> meet; ${then('meet', 'done')}`,
      'vars=n;',
    ),
    'leaf.dot': pipeline(
      `${tool('w', `echo \${var.n} > w\${var.n}.txt; ${sets({ seen: 'yes' })}`)} ${then('start', 'w', 'done')}`,
      'vars=n;',
    ),
  });
  const ran = await run(it);
  expect(ran.code, ran.err.slice(-800)).toBe(0);
  for (const name of ['a1.txt', 'a2.txt', 'w10.txt', 'w20.txt', 'w3.txt'])
    expect(it.read(`${at}/workspace/${name}`)).toBe(`${/\d+/.exec(name)?.[0]}\n`);
  expect(visits(it).find(({ node }) => node === 'one.deep.w')?.branch).toBe('one.deep.start');
});
