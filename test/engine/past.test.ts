/** What prompts are given of the run so far: no secret, no name of the run and no line of the holdout, wherever it was. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PreambleKind } from '../../src/core/preamble.ts';
import type { VisitRecord } from '../../src/core/records/visit.ts';
import { preambleFor } from '../../src/engine/past.ts';
import type { Run } from '../../src/engine/run-context.ts';
import { freshState, graphOf } from '../support/graph.ts';

const [secret, dir, sealed] = ['tok-4711-verysecret', '/home/me/runs/01ABC', 'the ninth drawer opens twice'];
const sealedWithName = `the tenth in ${dir} is locked`;
const graph = graphOf('goal="Ship."; a; b; a -> b');
const node = graph.nodes.get('b') ?? raise();
function raise(): never {
  throw new Error('no node b');
}

const visit = (notes: string, more: object = {}): VisitRecord =>
  ({
    ...{
      type: 'Visit',
      node: 'a',
      node_type: 'codergen',
      visit: 1,
      steps: 1,
      context: { set: {}, unset: [] },
    },
    outcome: {
      status: 'fail',
      class: 'product',
      reason: notes,
      notes,
      label: notes,
      suggested: [],
      updates: {},
    },
    ...more,
  }) as unknown as VisitRecord;

const exchange = (text: string, attributes: object) => ({
  ...{
    node: 'a',
    visit: 1,
    report: JSON.stringify({ kind: 'answered', text: `${text}\nSaid.` }),
    attributes,
  },
  files: { changes: [{ path: text, change: 'created', kind: 'file' }] },
});

/** The preamble of node `b` after one execution whose texts are all this one. */
const after = (text: string, kind: PreambleKind, round_step?: number, attributes = {}) => {
  const run = {
    graph,
    leaks: {
      printable: async (of: string) =>
        of
          .split('\n')
          .filter((line) => !line.includes(sealed) && !line.includes(sealedWithName))
          .join('\n'),
    },
    past: {
      history: () => ({
        records: [
          visit(text),
          visit(text, { node_type: 'tool', steps: 2, context: { set: { 'tool.output': text }, unset: [] } }),
        ],
        exchanges: [exchange(text, attributes)],
      }),
      withoutNames: (of: string) => of.replaceAll(dir, '<run>'),
    },
  };
  const state = { ...freshState('b'), ...(round_step === undefined ? {} : { round_step }) };
  const mask = (of: string) => of.replaceAll(secret, '***');
  return preambleFor(kind, { run: run as unknown as Run, node, state }, mask);
};

const kinds = ['truncate', 'compact', 'summary:low', 'summary:medium', 'summary:high'] as const;
const pieces = [
  'word ',
  'line\n',
  'x'.repeat(5000),
  '🙂',
  secret,
  `${dir}/a.ts `,
  `- ${sealed} -\n`,
  `\n${sealed}`,
  `\n${sealedWithName}\n`,
];

test('no text of the run tells a secret, the name of the run or a line of the holdout, also where it is cut', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...pieces), { maxLength: 30 }),
      fc.constantFrom(...kinds),
      async (some, kind) => {
        const text = await after(some.join(''), kind);
        for (const word of [secret, dir, sealed, 'is locked', secret.slice(0, 9), sealed.slice(0, 14)])
          expect(text).not.toContain(word);
        expect(await after(some.join(''), kind)).toBe(text);
      },
    ),
    { numRuns: 100 },
  );
});

test('only executions of this round are named', async () => {
  const text = await after('did it', 'compact', 1);
  expect(text).toContain('a@1 (tool)');
  expect(text).not.toContain('a@1 (codergen)');
});

test('what an agent said that could read the scenarios stays out, though its node may not read them any more', async () => {
  const could = { 'codex.allow_read_scenarios': 'true' };
  const texts = [{}, could].map((attributes) =>
    after('In other words.\nOf it.', 'summary:high', 0, attributes),
  );
  expect((await Promise.all(texts)).map((text) => text.includes('  answer:'))).toEqual([true, false]);
});

test('a branch is given what it has done itself, with its own outputs, and nothing of its siblings', async () => {
  const printed = (text: string) => ({
    node_type: 'tool',
    context: { set: { 'tool.output': text }, unset: [] },
  });
  const same = { node_type: 'tool', context: { set: {}, unset: [] } };
  const fork = { fork: { join: 'j', branches: [{ id: 'c' }, { id: 'd' }] } };
  const records = [
    visit('', { node: 'before', steps: 1, ...printed('printed before') }),
    visit('', { node: 'fan', steps: 2, node_type: 'parallel', ...fork }),
    visit('', { node: 'd', steps: 3, branch: 'd', ...printed('printed by d') }),
    // As before the fork: it is no change of the context.
    visit('', { node: 'c', steps: 4, branch: 'c', ...same }),
    visit('', { node: 'a', steps: 5, joined: 'fan', ...same }),
  ];
  const told = (branch: string | undefined, count: number) => {
    const past = {
      history: () => ({ records: records.slice(0, count), exchanges: [] }),
      withoutNames: (of: string) => of,
    };
    const run = { graph, past, ...(branch === undefined ? {} : { branch }) };
    return preambleFor(
      'summary:high',
      { run: run as unknown as Run, node, state: freshState('b') },
      (of) => of,
    );
  };
  const lines = (text: string) => text.match(/(?<=- )\w+(?=@)|printed \w+(?: \w+)?/g);
  expect(lines(await told('c', 4))).toEqual(['before', 'printed before', 'c', 'printed before']);
  expect(lines(await told('d', 4))).toEqual(['before', 'printed before', 'd', 'printed by d']);
  expect(lines(await told(undefined, 5))).toEqual(
    'before:printed before:c:printed before:d:printed by d:a:printed before'.split(':'),
  );
});
