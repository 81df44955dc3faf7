/** The changes of a run: the tree of files, what can be chosen, and the prompt behind a change. */
import { expect, test } from 'vitest';
import { changeScopes } from '../../../src/web/page/text/change-scopes.ts';
import { changeTree } from '../../../src/web/page/text/change-tree.ts';
import { promptSource } from '../../../src/web/page/text/prompt-source.ts';
import { madeRuns, madeView } from '../../browser/runs.ts';

test('changed files are a tree, folders first, with the sums of what is in them', () => {
  const file = (path: string, added: number, removed: number) => ({ path, added, removed });
  const rows = changeTree([
    file('README.md', 1, 0),
    file('src/web/page/a.ts', 5, 2),
    file('src/web/page/text/b.ts', 3, 0),
    file('src/web/page/text/c.ts', 0, 4),
    file('test/constructor/x.ts', 1, 1),
  ]);
  expect(rows.map((row) => `${' '.repeat(row.depth)}${row.name} +${row.added} -${row.removed}`)).toEqual([
    'src/web/page +8 -6',
    ' text +3 -4',
    '  b.ts +3 -0',
    '  c.ts +0 -4',
    ' a.ts +5 -2',
    'test/constructor +1 -1',
    ' x.ts +1 -1',
    'README.md +1 -0',
  ]);
  expect(rows.map(({ path }) => path).slice(0, 3)).toEqual([
    'src/web/page',
    'src/web/page/text',
    'src/web/page/text/b.ts',
  ]);
});

const [run] = madeRuns(1);
if (run === undefined) throw new Error('no run');
const view = madeView({ ...run, status: 'completed' }, 3);

test('the changes of a work order are those of its last attempt, after what came before it', () => {
  expect(changeScopes(view).map(({ id, query, attempts }) => [id, query, attempts])).toEqual([
    ['', {}, 0],
    ['WO-01', { from: 'check@1', to: 'commit@1' }, 1],
    ['WO-02', { from: 'rollback@1', to: 'commit@2' }, 2],
    ['WO-03', { from: 'commit@2', to: 'commit@3' }, 1],
  ]);
});

test.for([
  ['apply@3', 'propose@3', 'a tool writes what the last agent before it has proposed'],
  ['propose@2', 'propose@2', 'an agent that wrote is its own source'],
  ['check@1', 'plan@1', 'each part has its own agents'],
  ['start@1', undefined, 'before any agent there is none'],
  ['nobody@1', undefined, 'of an unknown execution there is none'],
])('the prompt of %s is that of %s: %s', ([by, source]) => {
  const found = promptSource(view, by ?? '');
  expect(found && `${found.node}@${found.visit}`).toBe(source);
});

test('an order that was asked ahead has the prompt of the branch that asked for it', () => {
  const [group] = view.groups;
  const executions = view.executions
    .filter(({ node, visit }) => node !== 'propose' || visit !== 1)
    .map((one) => (one.node === 'plan' ? { ...one, group: 'ask.0', branch: 'ask.0' } : one));
  if (group === undefined) throw new Error('no group');
  const asked = { ...group, kind: 'branch' as const, id: 'ask.0', title: 'Propose file writes for WO-01' };
  expect(promptSource({ executions, groups: [...view.groups, asked] }, 'apply@1')?.node).toBe('plan');
  expect(promptSource({ executions, groups: view.groups }, 'apply@1')).toBeUndefined();
});
