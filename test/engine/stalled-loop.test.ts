/** When failures count as alike, and when they stop a loop. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loopOf } from '../../src/core/loop-nodes.ts';
import { failed, type Outcome, type RepeatedFailure, succeeded } from '../../src/core/outcome.ts';
import { loopStopped } from '../../src/core/stalled-loop.ts';
import { repeatedFailure } from '../../src/engine/stalled-loop.ts';
import type { Entry, Snapshot } from '../../src/workspace/snapshot.ts';
import { temp } from '../platform/temp.ts';
import { graphOf } from '../support/graph.ts';

const graph = graphOf(`
  start [shape=Mdiamond]; exit [shape=Msquare]; report; out [shape=Msquare, outcome=fail]
  judge [shape=parallelogram, tool_command="sh a.sh"]; fix; apply [shape=parallelogram, tool_command="true"]
  start -> judge; judge -> exit [condition="outcome=success"]; judge -> fix [condition="outcome=fail"]
  judge -> report; report -> out; fix -> apply -> judge`);
const node = (id: string) => {
  const found = graph.nodes.get(id);
  if (found === undefined) throw new Error(`no node ${id}`);
  return found;
};

/** A workspace as its files' contents. */
const tree = (files: Readonly<Record<string, string>>): Snapshot => ({
  id: JSON.stringify(files),
  tree: new Map(
    Object.entries(files).map(([path, hash]): [string, Entry] => [path, { kind: 'file', mode: 0o644, hash }]),
  ),
});
const kept = async (id: string): Promise<Snapshot> => tree(JSON.parse(id));
const no = failed('tool_exit_code_1', 'product', { exitCode: 1, command: 'sh a.sh' });

type Visit = {
  readonly says?: string;
  readonly outcome?: Outcome;
  readonly before: Snapshot;
  readonly after?: Snapshot;
  /** Whether an agent was at work since the visit before this one; default yes. */
  readonly agent?: boolean;
};

/** How the failures stand after each of these executions of the scenario. */
async function standing(
  dir: string,
  visits: readonly Visit[],
  snapshotOf = kept,
): Promise<(number | null | undefined)[]> {
  const nodeDir = join(dir, 'judge');
  await mkdir(nodeDir, { recursive: true });
  await writeFile(join(dir, '.gitignore'), 'dist/\n*.out\n');
  let alike: RepeatedFailure | undefined;
  const found: (number | null | undefined)[] = [];
  for (const [
    index,
    { says = 'no', outcome = no, before, after = before, agent = true },
  ] of visits.entries()) {
    await writeFile(join(nodeDir, 'tool.stderr.txt'), says);
    const step = 3 * (index + 1);
    const now = await repeatedFailure(
      'tool',
      { ...(alike === undefined ? {} : { alike: { judge: alike } }), agent_step: agent ? step - 1 : 0 },
      { node: node('judge'), nodeDir, workspace: dir, visit: index + 1, step, outcome, before, after },
      snapshotOf,
    );
    found.push(now === undefined || now === null ? now : now.count);
    if (now !== undefined) alike = now ?? undefined;
  }
  return found;
}

describe('failures of an agent count as alike', () => {
  const [same, other] = [tree({ 'src/a.js': '1' }), tree({ 'src/a.js': '2' })];
  const judged = { node: node('fix'), nodeDir: '/none', workspace: '/none', visit: 2, step: 6 };
  const count = async (outcome: Outcome, before: Snapshot, after: Snapshot) => {
    const first = await repeatedFailure(
      'codergen',
      {},
      {
        ...judged,
        visit: 1,
        step: 3,
        outcome: failed('3 of 17 are missing', 'product'),
        before: same,
        after: same,
      },
      kept,
    );
    const state = { alike: { fix: first ?? raise() }, agent_step: 3 };
    return (await repeatedFailure('codergen', state, { ...judged, outcome, before, after }, kept))?.count;
  };
  const raise = (): never => {
    throw new Error('not counted');
  };

  test.for([
    ['with the same reason, whatever its numbers', failed('4 of 18 are missing', 'product'), same, 2],
    ['not with another reason', failed('the build is red', 'product'), same, 1],
    ['not of another class', failed('3 of 17 are missing', 'agent'), same, 1],
    ['not where it changed something', failed('3 of 17 are missing', 'product'), other, 1],
    ['not where its provider is away', failed('3 of 17 are missing', 'infra'), same, undefined],
  ] as const)('%s', async ([, outcome, after, wanted]) => {
    expect(await count(outcome, same, after)).toBe(wanted);
  });
});

describe('failures count as alike', () => {
  const same = tree({ 'src/a.js': '1' });
  const visit: Visit = { before: same };
  const rows: readonly [string, readonly Visit[], (number | null | undefined)[]][] = [
    ['where nothing has changed', [visit, visit, visit], [1, 2, 3]],
    [
      'whatever numbers, times and places the message has',
      [
        { ...visit, says: 'took 12ms at 10:20:30 in /tmp/a1 (pid 77)' },
        { ...visit, says: 'took 1.5s at 11:22:33 in /tmp/b2 (pid 8123)' },
      ],
      [1, 2],
    ],
    ['but not where another thing is said', [visit, { ...visit, says: 'not that' }, visit], [1, 1, 1]],
    ['but not after a change', [visit, { before: tree({ 'src/a.js': '2' }) }], [1, 1]],
    ['but not after a new file', [visit, { before: tree({ 'src/a.js': '1', 'src/b.js': '1' }) }], [1, 1]],
    ['nor after a file has gone', [visit, { before: tree({}) }], [1, 1]],
    [
      'where only caches, logs and the engine’s own files have changed',
      [
        visit,
        {
          before: tree({ 'src/a.js': '1', 'src/__pycache__/m.pyc': '1', 'x.log': '1', '.factory/in/x': '1' }),
        },
      ],
      [1, 2],
    ],
    [
      'where only what .gitignore leaves out has changed',
      [
        { before: tree({ '.gitignore': '1', 'dist/a/b.js': '1' }) },
        { before: tree({ '.gitignore': '1', 'dist/a/b.js': '2', 'c.out': '1' }) },
      ],
      [1, 2],
    ],
    [
      'where the stage itself leaves another report each time',
      [
        { before: same, after: tree({ 'src/a.js': '1', 'report.json': '1' }) },
        {
          before: tree({ 'src/a.js': '1', 'report.json': '1' }),
          after: tree({ 'src/a.js': '1', 'report.json': '2' }),
        },
        { before: tree({ 'src/a.js': '1', 'report.json': '2' }) },
      ],
      [1, 2, 3],
    ],
    [
      'not where no agent has tried',
      [visit, { ...visit, agent: false }, { ...visit, agent: false }],
      [1, undefined, undefined],
    ],
    ['until the stage succeeds', [visit, visit, { ...visit, outcome: succeeded() }, visit], [1, 2, null, 1]],
    ['and nothing is noted of successes', [{ ...visit, outcome: succeeded() }], [undefined]],
  ];
  test.for(rows)('%s', async ([, visits, wanted]) => {
    await using dir = await temp();
    expect(await standing(dir.dir, visits)).toEqual(wanted);
  });

  test.for(['stdout', 'stderr'])('the last command of a check says it on its %s as well', async (stream) => {
    await using dir = await temp();
    const checked = async (says: string, alike: RepeatedFailure | undefined) => {
      for (const name of ['0.stdout', '0.stderr', '1.stdout', '1.stderr'])
        await writeFile(join(dir.dir, `verification.${name}.txt`), 'earlier');
      await writeFile(join(dir.dir, `verification.1.${stream}.txt`), says);
      const judged = { node: node('judge'), nodeDir: dir.dir, workspace: dir.dir, visit: 2, step: 9 };
      const state = alike === undefined ? {} : { alike: { judge: alike }, agent_step: 9 };
      const at = { ...judged, outcome: no, before: same, after: same };
      return (await repeatedFailure('verification', state, at, kept)) ?? undefined;
    };
    const first = await checked('no', undefined);
    expect((await checked('no', first))?.count).toBe(2);
    expect((await checked('not that', first))?.count).toBe(1);
  });
});

describe('a loop is stopped', () => {
  const alike = (count: number): RepeatedFailure => ({
    signature: 's',
    head: 'tool_exit_code_1: no',
    count,
    visits: [1, 2, 3, 4].slice(0, count),
    step: 9,
    after: 'x',
  });
  const stopped = (attributes: string, count: number, next = 'fix') => {
    const text = `judge [shape=parallelogram, tool_command="x"${attributes}]; fix [llm_model="a,b,c"]; other; out [shape=Msquare]
      judge -> fix -> judge; judge -> other -> judge; judge -> out`;
    const own = graphOf(text);
    const judge = own.nodes.get('judge');
    if (judge === undefined) throw new Error('no judge');
    return loopStopped(own, judge, next, alike(count));
  };
  test('at the third failure alike, and it says which', () => {
    expect(stopped('', 2, 'other')).toBeUndefined();
    expect(stopped(', breaker=3', 3)).toBe(
      'loop_stopped: node judge failed alike 3 times with no change in between (visits 1, 2, 3): tool_exit_code_1: no',
    );
  });
  test('at the number that the node says, and never at 0', () => {
    expect(stopped(', breaker=2', 2)).toMatch(/^loop_stopped: node judge failed alike 2 times/);
    expect(stopped(', breaker=4', 3)).toBeUndefined();
    expect(stopped(', breaker=0', 4)).toBeUndefined();
  });
  test('only after each model of a list has had its try, by default', () => {
    expect(stopped('', 3)).toBeUndefined();
    expect(stopped('', 4)).toMatch(/^loop_stopped/);
  });
  test('not where the run leaves the loop', () => {
    expect(stopped('', 4, 'out')).toBeUndefined();
  });
  test('at the number of the graph', () => {
    const own = graphOf(
      'breaker=2; judge [shape=parallelogram, tool_command="x"]; fix; judge -> fix -> judge',
    );
    const judge = own.nodes.get('judge');
    if (judge === undefined) throw new Error('no judge');
    expect(loopStopped(own, judge, 'fix', alike(2))).toMatch(/^loop_stopped/);
    expect(loopStopped(own, judge, 'fix', null)).toBeUndefined();
  });
});

test('a loop is what lies on a way back', () => {
  expect(loopOf(graph, 'fix', 'judge')).toEqual(expect.arrayContaining(['fix', 'apply', 'judge']));
  expect(loopOf(graph, 'fix', 'judge')).toHaveLength(3);
  expect(loopOf(graph, 'report', 'judge')).toEqual([]);
});
