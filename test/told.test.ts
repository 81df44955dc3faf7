/** What a pipeline may say, what a stage is told and what is written down of a run can be read about somewhere. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agentNames } from '../src/agents/index.ts';
import { moneyWords } from '../src/engine/shared-budget.ts';
import { withOwnWords } from '../src/engine/stage-environment.ts';
import { edgeAttributes, graphAttributes } from '../src/lint/words.ts';
import { RunEvent } from '../src/model/event.ts';
import type { Node } from '../src/model/graph.ts';
import { bundledPrices } from '../src/model/prices.ts';
import { kinds } from '../src/nodes/index.ts';
import { home, root } from './support/cli.ts';

const pages = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => join('docs', name))]
  .map((name) => readFileSync(join(root, name), 'utf8'))
  .join('\n');
const untold = (names: readonly string[]): readonly string[] =>
  names.filter((name) => !new RegExp(`(?<![\\w.])${name.replaceAll('.', '\\.')}(?!\\w)`).test(pages));

test('every attribute of graphs, edges and nodes is in the docs', () => {
  const tables = [graphAttributes, edgeAttributes, ...kinds.map((kind) => kind.attributes)];
  expect(untold([...new Set(tables.flatMap((table) => Object.keys(table)))])).toEqual([]);
});

test('every event is in the docs', () => {
  expect(untold(RunEvent.options.flatMap((option) => [...option.shape.type.values]))).toEqual([]);
});

test('every variable that a stage gets is in the docs', () => {
  const node = { id: 'a', attrs: new Map([['access', { value: { text: 'run' } }]]) } as unknown as Node;
  const run = {
    runId: 'r',
    runDir: '/r',
    workspace: '/w',
    factoryBin: '/b',
    node: '/n',
    processMarker: 'm',
    epoch: 1,
  };
  const desk = { words: (dir: string) => moneyWords(dir, { ...bundledPrices, from: 'a file' }) };
  const given = withOwnWords({}, run, { node, visit: 1, attempt: 1, snapshotId: 's', desk }, '/r/a');
  // By these we find what a stage has left running, count what its runs spend, and know our own program.
  const ours = /^FACTORY_(?:RUN_MARKER|RUN_EPOCH_.*|BUDGET|NODE_EXEC)$/;
  const names = Object.keys(given).filter((name) => name.startsWith('FACTORY_') && !ours.test(name));
  expect(untold(names)).toEqual([]);
});

test.for([['run'], ['plan'], ['order', 'run'], ['order', 'run-all']])(
  '%s --help names every agent',
  async (verb) => {
    await using it = await home();
    const { stdout } = await it.factory([...verb, '--help']);
    const flag = /--agent <name>([\s\S]*?)\n {2}-/.exec(stdout)?.[1] ?? '';
    expect(agentNames.filter((name) => !flag.includes(name))).toEqual([]);
  },
);
