/** The prompt of an order that waits for nothing: it is the same before and after earlier orders. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { preflightProblem } from '../../src/builder/build-state.ts';
import { keptCommands } from '../../src/builder/kept-checks.ts';
import { renderPrompt } from '../../src/builder/prompt.ts';
import { foretold, type Probe, verifyCommands, verifyFacts } from '../../src/builder/verify.ts';
import { decidesVerification } from '../../src/core/orders/verify-deciders.ts';
import { readyOrders } from '../../src/core/orders/waits.ts';
import type { WorkOrder } from '../../src/core/orders/work-order.ts';
import { folder, put } from './support.ts';

const files = [
  ...[
    'a.txt',
    'src/a.js',
    'src/b.js',
    'test/a.test.js',
    'test/b.test.js',
    'package.json',
    'scripts/verify.sh',
  ],
  ...['go.mod', 'm_test.go', 'n_test.go', 'tests/test_a.py', 'tests/test_b.py', 'tests.py', 'Cargo.toml'],
];
const some = (pool: readonly string[], maxLength: number) =>
  fc.uniqueArray(fc.constantFrom(...pool), { maxLength });
const content = (path: string, at: number): string =>
  path === 'package.json' && at % 2 === 1 ? '{"scripts": {"test": "x"}}' : `${at}\n`;

const anyOrder = fc.record({
  allowed_files: some(files, 2),
  context_files: some([...files, 'src', 'tests', 'none.txt'], 3),
  preconditions: fc.array(
    fc.record({
      kind: fc.constantFrom('file_exists' as const, 'file_absent' as const),
      path: fc.constantFrom(...files),
    }),
    { maxLength: 1 },
  ),
  notes: fc.constantFrom(null, null, null, 'may_change_checks'),
  verify_exempt: fc.constantFrom(false, false, true),
});
const anyPlan = fc.array(anyOrder, { minLength: 2, maxLength: 4 }).map((orders) =>
  orders.map(
    (order, at): WorkOrder => ({
      ...{ id: `WO-0${at + 1}`, title: 't', intent: 'i', postconditions: [], forbidden: [] },
      ...{ acceptance_commands: ['true'], ...order },
    }),
  ),
);
const template = '{{INTENT}}{{ALLOWED_FILES}}{{NOTES}}{{VERIFY_COMMANDS}}{{CONTEXT_FILES}}';

/** What a build does for the prompt of an order, where `verified` ran before its first order. */
async function promptOf(order: WorkOrder, at: string, probe: Probe, verified?: readonly string[]) {
  const now = await verifyCommands(at, { verify_exempt: false }, { files: [], probe });
  const kept = keptCommands(order, { now, first: verified ?? now });
  const verify = await foretold(at, order, probe, kept);
  const text = await renderPrompt(template, at, { order, attempt: 1, verify, brief: null });
  return { text, unmet: await preflightProblem(at, order), now };
}

test('what earlier orders write that an order does not wait for leaves its prompt unchanged', async () => {
  const programs = fc.subarray(['npm', 'python3', 'pytest', 'go', 'cargo']);
  const begun = fc.option(fc.constantFrom<readonly string[]>([], ['npm test'], ['bash scripts/verify.sh']));
  const writes = fc.array(fc.nat(2), { minLength: 8, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(
      anyPlan,
      some(files, 4),
      programs,
      begun,
      writes,
      async (orders, there, has, first, does) => {
        using it = folder(Object.fromEntries(there.map((path) => [path, content(path, does[0] ?? 0)])));
        const have = async (name: string) => has.includes(name);
        const probe: Probe = { has: have, imports: have };
        const decides = decidesVerification(await verifyFacts(it.path, probe));
        let verified = first ?? undefined;
        const ready = readyOrders(orders, new Set(), decides);
        const asked = new Map<string, Awaited<ReturnType<typeof promptOf>>>();
        for (const order of ready) asked.set(order.id, await promptOf(order, it.path, probe, verified));
        for (const [at, order] of orders.entries()) {
          const turn = await promptOf(order, it.path, probe, verified);
          const { text, unmet } = asked.get(order.id) ?? turn;
          expect({ text: turn.text, unmet: turn.unmet }).toEqual({ text, unmet });
          verified ??= turn.now;
          for (const [nth, path] of order.allowed_files.entries()) {
            const version = does[at * 2 + nth] ?? 0;
            if (version > 0) put(it.path, { [path]: content(path, version) });
          }
          if (order.notes !== null) verified = [];
        }
      },
    ),
    { numRuns: 100 },
  );
});
