/** Which orders of a plan wait for which. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  decidesVerification,
  hasTestScript,
  type VerifyPart,
  verifyFactsOf,
  verifyPartsOf,
} from '../../../src/core/orders/verify-deciders.ts';
import { orderLevels, readyOrders } from '../../../src/core/orders/waits.ts';
import { type WorkOrder, workOrderSchema } from '../../../src/core/orders/work-order.ts';

/** The orders as the schema reads them, with ids in a row. */
const plan = (...orders: Partial<Record<keyof WorkOrder, unknown>>[]): readonly WorkOrder[] =>
  orders.map((order, at) =>
    workOrderSchema().parse({
      id: `WO-0${at + 1}`,
      title: 't',
      intent: 'i',
      allowed_files: [],
      forbidden: [],
      acceptance_commands: ['true'],
      context_files: [],
      ...order,
    }),
  );
const facts = (...paths: string[]) => verifyFactsOf(new Set(paths.flatMap(verifyPartsOf)));
const decidesWith = (...paths: string[]) => decidesVerification(facts(...paths));
const script = 'scripts/verify.sh';
const writes = (...allowed_files: string[]) => ({ allowed_files });

/** The earlier orders that the one at `at` waits for: those next to which alone it is not ready. */
function waitsFor(
  orders: readonly WorkOrder[],
  at: number,
  decides: (path: string) => boolean,
): readonly string[] {
  const [order] = orders.slice(at);
  if (order === undefined) throw new Error(`there is no order at ${at}`);
  const isWaiting = (earlier: WorkOrder) =>
    !readyOrders([earlier, order], new Set(), decides).includes(order);
  return orders
    .slice(0, at)
    .filter(isWaiting)
    .map(({ id }) => id);
}

type Row = readonly [string, ...Parameters<typeof plan>];
const meeting: readonly Row[] = [
  ['writes a file that it writes too', writes('a.js'), writes('b.js', 'a.js')],
  ['writes a file that it is shown', writes('a.js'), { context_files: ['a.js'] }],
  [
    'writes a file that must exist',
    writes('a.js'),
    { preconditions: [{ kind: 'file_exists', path: 'a.js' }] },
  ],
  [
    'writes a file that must be absent',
    writes('a.js'),
    { preconditions: [{ kind: 'file_absent', path: 'a.js' }] },
  ],
  ['writes a file below a folder that it names', writes('src/a.js'), { context_files: ['src'] }],
  ['writes a file in whose place it expects a folder', writes('src'), { context_files: ['src/a.js'] }],
  ['spells the path in another way', writes('./src//x/../a.js'), { context_files: ['src/a.js'] }],
  ['spells the path in another case', writes('Src/Ä.js'), { context_files: ['src/a\u0308.js'] }],
  ['may change checks', { ...writes('a.js'), notes: '- may_change_checks' }, writes('b.js')],
];
test.for(meeting)('an order waits for an earlier one that %s', ([, ...orders]) => {
  expect(waitsFor(plan(...orders), 1, decidesWith(script))).toEqual(['WO-01']);
  expect(waitsFor(plan(...orders), 0, decidesWith(script))).toEqual([]);
});

const apart: readonly Row[] = [
  ['is shown the same file', { context_files: ['a.js'] }, { context_files: ['a.js'] }],
  ['is shown what it writes', { context_files: ['a.js'] }, writes('a.js')],
  ['writes a name that only begins alike', writes('src/a.js'), { context_files: ['src/a.json', 'sr'] }],
  ['writes the file that its notes and intent name', writes('a.js'), { notes: 'a.js', intent: 'a.js' }],
  ['may change checks, if it is exempt', { notes: 'may_change_checks' }, { verify_exempt: true }],
];
test.for(apart)('an order waits for no earlier one that %s', ([, ...orders]) => {
  expect(waitsFor(plan(...orders), 1, decidesWith(script))).toEqual([]);
});

/** What there is, what an earlier order writes, whether a later one waits. */
const deciders: readonly (readonly [readonly string[], string, boolean])[] = [
  [[], script, true],
  [['test/a.test.js'], script, true],
  [[script], script, false],
  [[script], 'package.json', false],
  [[script], 'test/a.test.js', false],
  [[], 'package.json', true],
  [['package.json'], 'package.json', true],
  [['package.json'], 'test/a.test.js', false],
  [['test/a.test.js'], 'package.json', true],
  [[], 'src/a.js', false],
  [[], 'lib/package.json', false],
  [[], 'test/a.js', true],
  [['a.test.mjs'], 'test/b.js', false],
  [['a.test.mjs'], 'tests/test_a.py', false],
  [['a.test.mjs'], 'go.mod', false],
  [['tests/test_a.py'], 'tests/test_b.py', false],
  [['tests/test_a.py'], 'tests.py', false],
  [['tests.py'], 'tests/test_a.py', true],
  [['tests/test_a.py'], 'a.test.js', true],
  [['tests/test_a.py'], 'a_test.go', false],
  [['go.mod'], 'a_test.go', true],
  [['go.mod', 'a_test.go'], 'b/c_test.go', false],
  [['a_test.go'], 'go.mod', true],
  [['Cargo.toml'], 'Cargo.toml', false],
  [['Cargo.toml'], 'src/lib.rs', false],
  [['Cargo.toml'], 'go.mod', true],
];
test.for(deciders)(
  'in a project with %j an order that writes %s decides for later ones: %s',
  ([there, path, decides]) => {
    const orders = plan(writes(path), writes('other.txt'), { ...writes('more.txt'), verify_exempt: true });
    expect(waitsFor(orders, 1, decidesWith(...there))).toEqual(decides ? ['WO-01'] : []);
    expect(waitsFor(orders, 2, decidesWith(...there))).toEqual([]);
  },
);

test('a missing program leaves files of its rule undecided about', () => {
  // A package file whose script no npm can run: the tests of Node decide.
  const parts = new Set<VerifyPart>(['package', 'node_test']);
  const decides = decidesVerification({ parts, applies: 'node_test' });
  expect(['package.json', 'b.test.js', 'test_a.py'].map(decides)).toEqual([true, false, false]);
});

test.for<[string, boolean]>([
  ['{"scripts": {"test": "node --test"}}', true],
  ['{"scripts": {"test": " "}}', false],
  ['{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}', false],
  ['{"scripts": {}}', false],
  ['[]', false],
  ['{', false],
])('the package file %s has a test script: %s', ([text, has]) => {
  expect(hasTestScript(text)).toBe(has);
});

test.for<[string, Parameters<typeof plan>, string[], string[][]]>([
  [
    'a chain',
    [writes('a'), { ...writes('b'), context_files: ['a'] }, { ...writes('c'), context_files: ['b'] }],
    [script],
    [['WO-01'], ['WO-02'], ['WO-03']],
  ],
  [
    'orders that share nothing',
    [writes('a'), writes('b'), writes('c')],
    [script],
    [['WO-01', 'WO-02', 'WO-03']],
  ],
  [
    'one that others need, and one that needs them',
    [
      writes('a'),
      { ...writes('b'), context_files: ['a'] },
      { ...writes('c'), context_files: ['a'] },
      { ...writes('d'), context_files: ['b', 'c'] },
    ],
    [script],
    [['WO-01'], ['WO-02', 'WO-03'], ['WO-04']],
  ],
  [
    'two chains, one after the other',
    [
      writes('a'),
      { ...writes('b'), context_files: ['a'] },
      writes('c'),
      { ...writes('d'), context_files: ['c'] },
    ],
    [script],
    [['WO-01', 'WO-03'], ['WO-02'], ['WO-04']],
  ],
  [
    'a first test, which decides how the rest is verified',
    [writes('a.js', 'test/a.test.js'), writes('b.js', 'test/b.test.js'), writes('c.js', 'test/c.test.js')],
    [],
    [['WO-01'], ['WO-02', 'WO-03']],
  ],
  ['no orders', [], [], []],
])('the levels of %s', ([, orders, there, levels]) => {
  expect(orderLevels(plan(...orders), facts(...there))).toEqual(levels);
});

const path = fc.constantFrom('a', 'b', 'src', 'src/a.js', 'test/a.js', 'package.json', script, 'go.mod');
const paths = fc.uniqueArray(path, { maxLength: 3 });
const anyPlan = fc
  .array(
    fc.record({
      allowed_files: paths,
      context_files: paths,
      preconditions: fc.array(fc.record({ kind: fc.constantFrom('file_exists', 'file_absent'), path }), {
        maxLength: 1,
      }),
      verify_exempt: fc.boolean(),
    }),
    { maxLength: 9 },
  )
  .map((orders) => plan(...orders));
const anyFacts = paths.map((some) => facts(...some));

test('an order is ready once all that it waits for is done, and the first that is not done always is', () => {
  fc.assert(
    fc.property(anyPlan, anyFacts, fc.func(fc.boolean()), (orders, there, isDone) => {
      const decides = decidesVerification(there);
      const ids = orders.map(({ id }) => id);
      const done = new Set(ids.filter((id) => isDone(id)));
      const ready = readyOrders(orders, done, decides).map(({ id }) => id);
      const open = ids.filter((id) => !done.has(id));
      expect(ready.slice(0, 1)).toEqual(open.slice(0, 1));
      expect(ready).toEqual(
        open.filter((id) => waitsFor(orders, ids.indexOf(id), decides).every((other) => done.has(other))),
      );
    }),
  );
});

test("each order is on one level, in the plan's order, and on no level with one that it waits for", () => {
  fc.assert(
    fc.property(anyPlan, anyFacts, (orders, there) => {
      const levels = orderLevels(orders, there);
      const ids = orders.map(({ id }) => id);
      expect(levels.flat().toSorted()).toEqual(ids);
      // By files alone: what decides about the verification changes from level to level.
      const levelOf = new Map(levels.flatMap((level, at) => level.map((id) => [id, at] as const)));
      for (const level of levels) expect(level).toEqual(ids.filter((id) => level.includes(id)));
      for (const [at, id] of ids.entries())
        for (const other of waitsFor(orders, at, () => false))
          expect(levelOf.get(other)).toBeLessThan(levelOf.get(id) ?? 0);
    }),
  );
});
