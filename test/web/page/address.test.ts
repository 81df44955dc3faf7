import { expect, test } from 'vitest';
import { type Address, addressOf, lineOf, pathOf } from '../../../src/web/page/text/address.ts';

const shown: readonly (readonly [string, Address])[] = [
  ['/', { view: 'runs' }],
  ['/new', { view: 'new' }],
  ['/queue', { view: 'queue' }],
  ['/compare/01M8', { view: 'compare', a: '01M8' }],
  ['/compare/01M8/a%20b', { view: 'compare', a: '01M8', b: 'a b' }],
  ['/runs/01M8', { view: 'run', run: '01M8', tab: 'graph' }],
  ['/runs/01M8?tab=timeline', { view: 'run', run: '01M8', tab: 'timeline' }],
  ['/runs/01M8/nodes/verify@3', { view: 'run', run: '01M8', tab: 'graph', node: { id: 'verify', visit: 3 } }],
  [
    '/runs/01M8/nodes/a%20b?tab=cost&show=prompt',
    { view: 'run', run: '01M8', tab: 'cost', node: { id: 'a b', tab: 'prompt' } },
  ],
  ['/runs/01M8?tab=changes&of=WO-02', { view: 'run', run: '01M8', tab: 'changes', of: 'WO-02' }],
  ['/runs/01M8/orders/WO-02', { view: 'run', run: '01M8', tab: 'graph', group: 'WO-02' }],
];

test.for(shown)('%s is the address of what it shows', ([path, address]) => {
  const [name = '', search] = path.split('?');
  expect(addressOf(name, search === undefined ? '' : `?${search}`)).toEqual(address);
  expect(pathOf(address)).toBe(path);
});

test.for([
  '/x',
  '/runs/01M8/x',
  '/runs/01M8/x/y',
  '/new/x',
  '/compare',
  '/compare/a/b/c',
  '/runs/a/nodes/b/c',
])('%s shows nothing', (path) => {
  expect(addressOf(path, '')).toEqual({ view: 'none' });
});

test('an unknown tab is the first one, and a broken escape is text', () => {
  expect(addressOf('/runs/%E0', '?tab=x')).toEqual({ view: 'run', run: '%E0', tab: 'graph' });
});

test('a fragment names a line', () => {
  expect(['#L120', '#L', '#main', ''].map((hash) => lineOf(hash))).toEqual([
    120,
    undefined,
    undefined,
    undefined,
  ]);
  expect([lineOf('#2L7', '2'), lineOf('#2L7'), lineOf('#L7', '2')]).toEqual([7, undefined, undefined]);
});
