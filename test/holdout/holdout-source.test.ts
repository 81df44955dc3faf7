/** Where the holdout comes from: the flag, the graph, or the folder next to a file. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { holdoutSource } from '../../src/holdout/seal.ts';
import { home } from '../support/cli.ts';
import { graphOf } from '../support/graph.ts';

test('the flag comes before the graph, and the graph before the folder next to a file', async () => {
  await using it = await home({
    'docs/spec.md': 'x',
    'docs/scenarios/a.sh': '',
    'bare/spec.md': 'x',
    'odd/scenarios': '',
    'specs/1/spec.md': 'x',
    'specs/1/scenarios/a.sh': '',
    'specs/2/spec.md': 'x',
    'specs/scenarios/a.sh': '',
  });
  const at = (path: string) => join(it.path, path);
  const of = (source: string) => ({
    spec: { value: 'v', file: { source: at(source), sha256: '', stored: '' } },
  });
  const ask = (attributes: string, source: string, flag?: string) =>
    holdoutSource(graphOf(attributes), of(source), at('p/p.dot'), flag);
  const byFolder = 'vars="spec=@x"; holdout_beside=spec;';
  const both = `${byFolder} holdout_from="../judge";`;
  expect(ask(both, 'docs/spec.md', at('mine'))).toEqual({ folder: at('mine'), setting: 'flag' });
  expect(ask(both, 'docs/spec.md')).toEqual({ folder: at('judge'), setting: 'graph' });
  expect(ask(byFolder, 'docs/spec.md')).toEqual({
    folder: at('docs/scenarios'),
    setting: expect.stringMatching(/^beside$/),
  });
  // A spec that is a folder has them next to its files, or next to the folder.
  expect(ask(byFolder, 'specs/1')).toHaveProperty('folder', at('specs/1/scenarios'));
  expect(ask(byFolder, 'specs/2')).toHaveProperty('folder', at('specs/scenarios'));
  // Another spec is never judged by the scenarios of the first.
  expect(ask(byFolder, 'bare/spec.md')).toBeUndefined();
  expect(ask(byFolder, 'odd/spec.md')).toBeUndefined();
  expect(ask('', 'docs/spec.md')).toBeUndefined();
  expect(
    holdoutSource(graphOf(byFolder), { spec: { value: 'text' } }, at('p/p.dot'), undefined),
  ).toBeUndefined();
});
