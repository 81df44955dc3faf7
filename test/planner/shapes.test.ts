/** For JSON of any shape the plan is accepted or refused with findings. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkPlan } from '../../src/planner/compile.ts';
import { isError } from '../../src/planner/findings.ts';

const valid = () => ({
  system_overview: ['One thing.'],
  verify_contract: { command: 'bash scripts/verify.sh', requires: [{ kind: 'file_exists', path: 'a' }] },
  work_orders: [
    {
      id: 'WO-01',
      title: 'A step',
      intent: 'Do one thing.',
      preconditions: [{ kind: 'file_absent', path: 'a' }],
      postconditions: [{ kind: 'file_exists', path: 'a' }],
      allowed_files: ['a'],
      forbidden: ['b'],
      acceptance_commands: ['test -f a', 'node -e "1"'],
      context_files: ['a'],
      notes: 'n',
      verify_exempt: false,
    },
  ],
});

const list = ['work_orders', 'verify_contract.requires'];
const order = 'work_orders.0';
const lists = [
  'preconditions',
  'postconditions',
  'allowed_files',
  'forbidden',
  'acceptance_commands',
  'context_files',
];
/** The type of value required at a path. */
const typed: readonly (readonly [path: string, type: 'string' | 'list' | 'object' | 'flag'])[] = [
  ...list.map((path) => [path, 'list'] as const),
  ['', 'object'],
  ['verify_contract', 'object'],
  ['verify_contract.requires.0', 'object'],
  ['verify_contract.requires.0.path', 'string'],
  [order, 'object'],
  ...['id', 'title', 'intent', 'notes'].map((key) => [`${order}.${key}`, 'string'] as const),
  [`${order}.verify_exempt`, 'flag'],
  ...lists.map((key) => [`${order}.${key}`, 'list'] as const),
  ...['allowed_files', 'forbidden', 'acceptance_commands', 'context_files'].map(
    (key) => [`${order}.${key}.0`, 'string'] as const,
  ),
  ...['preconditions', 'postconditions'].flatMap((key) => [
    [`${order}.${key}.0`, 'object'] as const,
    [`${order}.${key}.0.kind`, 'string'] as const,
    [`${order}.${key}.0.path`, 'string'] as const,
  ]),
];

function put(root: unknown, path: string, value: unknown): unknown {
  if (path === '') return structuredClone(value);
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  let at: unknown = root;
  for (const key of keys) at = Object.getOwnPropertyDescriptor(at ?? {}, key)?.value;
  if (typeof at === 'object' && at !== null) Object.assign(at, { [last]: structuredClone(value) });
  return root;
}

const nullable = new Set(['verify_contract', `${order}.notes`]);
const isOf = (value: unknown, path: string, type: string): boolean => {
  if (value === null) return nullable.has(path);
  if (Array.isArray(value)) return type === 'list';
  return typeof value === type || (type === 'flag' && /^(?:boolean|number|string)$/.test(typeof value));
};

const odd = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, -1.5, 1e308, '', 'x', [], {}, [null], [[]], [{}], [[['a']]], {
    kind: null,
  }),
  fc.jsonValue({ maxDepth: 4 }),
);
const place = fc.constantFrom(...typed);
const surroundings = (strict: boolean) => ({ repoFiles: [], strict });

test('the plan of these tests is valid', () => {
  expect(checkPlan(JSON.stringify(valid()), surroundings(true))).toMatchObject({ findings: [], notes: [] });
});

test('a value of the wrong type anywhere is an error with a code, never a crash', () => {
  fc.assert(
    fc.property(place, odd, fc.boolean(), ([path, type], value, strict) => {
      fc.pre(!isOf(value, path, type));
      const { plan, findings } = checkPlan(JSON.stringify(put(valid(), path, value)), surroundings(strict));
      expect(plan).toBeUndefined();
      expect(findings.filter(isError).length).toBeGreaterThan(0);
      for (const { message } of findings) expect(message).toMatch(/\S/);
    }),
    { numRuns: 200 },
  );
});

test('with any two values replaced, a plan results if and only if there is no error', () => {
  fc.assert(
    fc.property(place, odd, place, odd, fc.boolean(), ([first], one, [second], other, strict) => {
      const value = put(put(valid(), first, one), second, other);
      const { plan, findings, notes } = checkPlan(JSON.stringify(value), surroundings(strict));
      expect(plan === undefined).toBe(findings.some(isError));
      expect(strict && notes.length > 0).toBe(false);
    }),
    { numRuns: 200 },
  );
});

test('a required key that is missing is an error', () => {
  for (const key of [
    ...'id title intent allowed_files forbidden acceptance_commands context_files'.split(' '),
  ]) {
    const { work_orders, ...rest } = valid();
    const orders = work_orders.map((o) =>
      Object.fromEntries(Object.entries(o).filter(([name]) => name !== key)),
    );
    const { findings } = checkPlan(JSON.stringify({ ...rest, work_orders: orders }), surroundings(false));
    expect(
      findings.map(({ code }) => code),
      key,
    ).toContain('E005');
  }
});

test.for([
  ['deep', `${'{"work_orders":'.repeat(300)}1${'}'.repeat(300)}`],
  ['very deep', '['.repeat(1_000_000)],
  ['many elements that are not objects', JSON.stringify({ work_orders: Array(100_000).fill(1) })],
  ['many empty orders', JSON.stringify({ work_orders: Array(3_000).fill({}) })],
  ['a long id', JSON.stringify({ work_orders: [{ ...valid().work_orders[0], id: 'x'.repeat(1_000_000) }] })],
  ...[
    `${'a=b '.repeat(200_000)}c`,
    'a&'.repeat(300_000),
    `node -e "${'from\\n'.repeat(100_000)}"`,
    `bash -c "${'('.repeat(90_000)}"`,
    `bash -c '${'${'.repeat(45_000)}'`,
    `bash -c '${'a;'.repeat(45_000)}'`,
    `node -e '${'`${'.repeat(30_000)}'`,
    `node -e '${'from\n"a"\n'.repeat(10_000)}'`,
    `node -e '${'import a from '.repeat(7_000)}'`,
    `${"'".repeat(80_000)}&`,
    `${'\\\\'.repeat(40_000)}"${'\\\\'.repeat(9_000)}"&`,
  ].map((command) => [
    `the command ${command.slice(0, 30)}`,
    JSON.stringify({ work_orders: [{ ...valid().work_orders[0], acceptance_commands: [command, 'a | b'] }] }),
  ]),
])('%s: a huge plan is checked quickly', ([, text]) => {
  const { findings } = checkPlan(text ?? '', surroundings(true));
  expect(findings.length).toBeGreaterThan(0);
  expect(findings.every(({ code }) => /^[EW]\d{3}$/.test(code))).toBe(true);
});
