/** What the form for a new run sends, and what it says of earlier runs. */
import { expect, test } from 'vitest';
import type { Estimate } from '../../../src/app/estimate.ts';
import { startApi } from '../../../src/web/api/start.ts';
import {
  earlierText,
  emptyForm,
  formVariables,
  isBelowMedian,
  type StartForm,
  startBodyOf,
} from '../../../src/web/page/text/start-form.ts';
import type { StartSettings } from '../../../src/web/start-contract.ts';

const { settings } = (await startApi.settings({} as never)) as StartSettings;
const variable = (name: string, file: boolean, value: string | null) => ({
  ...{ name, file, default: value, required: value === null, label: name },
});
const pipeline = {
  ...{ name: 'p.dot', workdir: null },
  variables: [variable('spec', true, 'spec.md'), variable('who', false, null), variable('tries', false, '3')],
};

test.for<[what: string, form: Partial<StartForm>, body: object]>([
  ['nothing', {}, { vars: {}, limits: {} }],
  ['another project', { project: '/w/b' }, { project: '/w/b', vars: {}, limits: {} }],
  ['the project as workdir', { onProject: true }, { on_project: true, vars: {}, limits: {} }],
  ['a file', { vars: { spec: 'a.md', who: ' ', other: 'x' } }, { vars: { spec: 'a.md' }, limits: {} }],
  [
    'a text in place of a file',
    { typed: ['spec'], vars: { spec: 'a.md' }, texts: { spec: '# A' } },
    { vars: {}, texts: { spec: '# A' }, limits: {} },
  ],
  ['a text that is not chosen', { texts: { spec: '# A' } }, { vars: {}, limits: {} }],
  [
    'settings',
    { settings: { agent: ' codex ', sandbox: '', max_cost_usd: '2.50', max_wall: '2h', max_tokens: '1e3' } },
    { agent: 'codex', vars: {}, limits: { max_cost_usd: 2.5, max_wall: '2h', max_tokens: 1000 } },
  ],
  [
    'a limit that is no number',
    { settings: { max_steps: 'many' } },
    { vars: {}, limits: { max_steps: 'many' } },
  ],
  [
    'waiting, notices, changes',
    { wait: true, notify: ' https://x.example ', allowDirty: true },
    { vars: {}, limits: {}, wait: true, notify: 'https://x.example', allow_dirty: true },
  ],
])('a form with %s sends what it says and nothing else', ([, form, body]) => {
  expect(startBodyOf({ ...emptyForm('/w/a'), ...form }, pipeline, settings, '/w/a')).toEqual({
    pipeline: 'p.dot',
    ...body,
  });
});

test('a pipeline that works on the project anyway is not asked to', () => {
  const form = { ...emptyForm('/w/a'), onProject: true };
  expect(startBodyOf(form, { ...pipeline, workdir: '/w/a' }, settings, '/w/a')).not.toHaveProperty(
    'on_project',
  );
});

test('required variables and the spec come first', () => {
  const { first, rest } = formVariables(pipeline.variables);
  expect([first.map(({ name }) => name), rest.map(({ name }) => name)]).toEqual([['spec', 'who'], ['tries']]);
});

const estimate: Estimate = {
  ...{ schema_version: 1, pipeline: '/p.dot', runs: 3, others: 0, unknown_cost: 1 },
  cost_usd: { median: 1.5, least: 0.3, most: 4 },
  tokens: null,
  elapsed_ms: { median: 61_000, least: 61_000, most: 61_000 },
};

test.for([
  ['max_cost_usd', '1', 'earlier runs: 1.50 USD (0.30 USD to 4.00 USD), unknown for 1 of 3', true],
  ['max_cost_usd', '1.5', 'earlier runs: 1.50 USD (0.30 USD to 4.00 USD), unknown for 1 of 3', false],
  ['max_cost_usd', '', 'earlier runs: 1.50 USD (0.30 USD to 4.00 USD), unknown for 1 of 3', false],
  ['max_tokens', '5', 'earlier runs: unknown', false],
  ['max_wall', '1s', 'earlier runs: 1m01s', false],
  ['max_steps', '1', '', false],
] as const)('the limit %s of %s is next to "%s"', ([name, value, text, below]) => {
  expect([earlierText(name, estimate), isBelowMedian(name, value, estimate)]).toEqual([text, below]);
});
