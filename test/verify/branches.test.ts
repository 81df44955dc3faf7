/** The lines of branches against one another, in a journal whose hashes were computed again. */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { linkOf } from '../../src/run/chain.ts';
import { type Ground, ground } from './ground.ts';

let it: Ground;
beforeAll(async () => {
  it = await ground({
    'branches.dot': `digraph b { start [shape=Mdiamond]; done [shape=Msquare]; fan [shape=component, max_parallel=1]; join [shape=tripleoctagon]
      one [shape=parallelogram, tool_command="echo 1 > one.txt"]; more [shape=parallelogram, tool_command="echo 2 >> one.txt"]
      two [shape=parallelogram, tool_command="echo 2 > two.txt"]
      call [type=subgraph, graph_ref="child.dot"]
      start -> fan; fan -> one -> more -> join; fan -> two -> join; join -> call -> done }`,
    'child.dot': `digraph c { start [shape=Mdiamond]; done [shape=Msquare]
      look [shape=parallelogram, tool_command="echo 3 > three.txt"]
      start -> look -> done }`,
  });
  const started = await it.start('r', 'branches.dot');
  if (started.code !== 0) throw new Error(started.err + started.out);
}, 60_000);
afterAll(() => it[Symbol.asyncDispose]());

type Line = Record<string, unknown>;

/** The journal with one line changed, and the hashes of all that follow it. */
const rewritten = (node: string, change: (line: Line, all: readonly Line[]) => unknown) => (path: string) => {
  const lines = readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((text) => JSON.parse(text) as Line);
  const line = lines.find((one) => one['type'] === 'Visit' && one['node'] === node);
  if (line === undefined) throw new Error(`no execution of ${node}`);
  change(line, lines);
  let prev = '';
  const texts = lines.map((one) => {
    const text = JSON.stringify('prev' in one ? { ...one, prev } : one);
    prev = linkOf(prev, Buffer.from(text));
    return text;
  });
  writeFileSync(path, `${texts.join('\n')}\n`);
};

test('a run with branches and a call holds', async () => {
  expect((await it.verify('r')).problems).toEqual([]);
});

test.for<
  [what: string, node: string, change: (line: Line, all: readonly Line[]) => unknown, finding: RegExp]
>([
  [
    'before, in a branch',
    'more',
    (line, all) =>
      Object.assign(line, {
        before: all.find(({ node, type }) => node === 'two' && type === 'Visit')?.['after'],
      }),
    /more@1 did not begin with the files before it/,
  ],
  [
    'before, of the join',
    'join',
    (line) => Object.assign(line, { before: line['after'] }),
    /join@1 did not begin/,
  ],
  [
    'before, of the exit of a call',
    'call.done',
    (line, all) => Object.assign(line, { before: all.find(({ type }) => type === 'Start')?.['snapshot'] }),
    /call\.done@1 did not begin/,
  ],
  ['another branch', 'more', (line) => Object.assign(line, { branch: 'two' }), /more@1 did not begin/],
  ['no branch', 'two', (line) => delete line['branch'], /join@1 did not begin/],
  [
    'an unknown branch',
    'two',
    (line) => Object.assign(line, { branch: 'nine' }),
    /names the branch "nine", not open/,
  ],
  [
    'the branches of another fork',
    'join',
    (line) => Object.assign(line, { joined: 'start' }),
    /names branches of "start"/,
  ],
  ['no fork', 'fan', (line) => delete line['fork'], /names the branch "one", not open/],
  [
    'how a branch has ended',
    'two',
    (line) =>
      Object.assign(line, { branch_ended: { ok: false, status: 'failed', reason: 'no', class: 'product' } }),
    /"branches" is not the value/,
  ],
])('verify finds a changed line of a branch: %s', async ([, node, change, finding]) => {
  const { problems } = await it.changed('r', 'journal.jsonl', rewritten(node, change));
  expect(problems.map(({ message }) => message).join('\n')).toMatch(finding);
});
