/** `factory ask` and `build --ask`: a person is asked what the spec leaves open, and the plan is made of the answers. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { home } from '../support/in-process.ts';

const spec =
  '# Links\n\nReport broken links [NEEDS CLARIFICATION: within how many seconds?].\n\nSort the report.\n';
const asked = (...questions: object[]) => ({ json: { questions } });
const byName = { quotation: 'Sort the report.', question: 'By what?', proposal: 'By name.' };
const seconds = {
  quotation: '[NEEDS CLARIFICATION: within how many seconds?]',
  question: 'How long may a link take?',
  proposal: 'Ten seconds.',
};
const invented = { quotation: 'Print a sum.', question: 'Which?', proposal: 'None.' };
const plan = {
  json: {
    system_overview: ['small'],
    verify_contract: { command: 'true', requires: [{ kind: 'file_exists', path: 'a.txt' }] },
    work_orders: [
      {
        ...{ id: 'WO-01', title: 'Make a.txt', intent: 'Do it.', preconditions: [], notes: null },
        postconditions: [{ kind: 'file_exists', path: 'a.txt' }],
        ...{ allowed_files: ['a.txt'], forbidden: [], acceptance_commands: ['test -f a.txt'] },
        context_files: ['a.txt'],
      },
    ],
  },
};
const files = (answers: object) => ({
  'spec.md': spec,
  's.json': JSON.stringify({ format: 'factory-script/1', answers }),
});
const inRun = (path: string, file: string) => readFileSync(join(path, '.factory/runs/r1', file), 'utf8');

test('questions come one after the other in a gate; an answer changes one, and the plan has them all', async () => {
  await using it = await home(files({ 'clarify.ask': [asked(byName, invented, seconds)], plan: [plan] }));
  const flags = ['--var', 'spec=spec.md', '--script', 's.json', '--run-id', 'r1'];
  const first = await it.factory(['run', 'compile', ...flags, '--var', 'ask=true']);
  expect(first.code, first.stderr).toBe(75);
  const text = `${first.stdout}${first.stderr}`;
  expect(text).toContain('1. How long may a link take?');
  expect(text).toContain('2. By what?');
  expect(text).not.toContain('Print a sum');
  const unclear = await it.factory(['answer', 'r1', 'clarify.gate@1', '--text', '7: no', '--no-resume']);
  expect(unclear.code, unclear.stderr).toBe(0);
  const again = await it.factory(['resume', 'r1']);
  expect(again.code, again.stderr).toBe(75);
  expect(`${again.stdout}${again.stderr}`).toContain('There is no question 7');
  const answered = [
    'answer',
    'r1',
    'clarify.gate@2',
    '--text',
    '2: by the time',
    '--by',
    'ada',
    '--no-resume',
  ];
  expect((await it.factory(answered)).code).toBe(0);
  const done = await it.factory(['resume', 'r1']);
  expect(done.code, done.stderr).toBe(0);
  const prompt = inRun(it.path, 'workspace/.factory/plan/prompt.md');
  expect(prompt).toContain('Sort the report.\n\n## Answers to what the specification leaves open (ada, ');
  expect(prompt).toContain('Answer: Ten seconds. (as proposed)');
  expect(prompt).toContain('Answer: by the time\n');
  const verified = await it.factory(['verify', 'r1']);
  expect(verified.code, verified.stdout).toBe(0);
});

test('without --ask nothing is asked, and a spec that leaves nothing open is planned at once', async () => {
  const sure = 'Report broken links.\n';
  await using it = await home({
    ...files({ 'clarify.ask': [asked(invented)], plan: [plan, plan] }),
    'sure.md': sure,
  });
  const run = (id: string, ...more: string[]) =>
    it.factory(['run', 'compile', '--var', 'spec=sure.md', '--script', 's.json', '--run-id', id, ...more]);
  const plain = await run('r1');
  expect(plain.code, plain.stderr).toBe(0);
  const clear = await run('r2', '--var', 'ask=true');
  expect(clear.code, clear.stderr).toBe(0);
  const promptOf = (id: string) =>
    readFileSync(join(it.path, '.factory/runs', id, 'workspace/.factory/plan/prompt.md'), 'utf8');
  expect(promptOf('r2')).toBe(promptOf('r1'));
});

test('factory ask only asks, and leaves a copy of the spec with the answers', async () => {
  await using it = await home(files({ ask: [asked(seconds)] }));
  const flags = ['--script', 's.json', '--run-id', 'r1', '--auto-answer', 'first'];
  const ran = await it.factory(['ask', 'spec.md', ...flags]);
  expect(ran.code, `${ran.stdout}${ran.stderr}`).toBe(0);
  const copy = inRun(it.path, 'workspace/.factory/plan/spec.md');
  expect(copy.startsWith(spec.trimEnd())).toBe(true);
  expect(copy).toContain('Answer: Ten seconds. (as proposed)');
});

test('the bundled example asks without a key, and its answers build it', async () => {
  await using it = await home({});
  const first = await it.factory(['run', 'compile', '--var', 'ask=true', '--run-id', 'r1']);
  expect(first.code, first.stderr).toBe(75);
  expect(`${first.stdout}${first.stderr}`).toMatch(/1\. [\s\S]*proposal: [\s\S]*2\. [\s\S]*proposal: /);
  const answered = await it.factory(['answer', 'r1', 'clarify.gate@1', '--choice', 'K', '--no-resume']);
  expect(answered.code, answered.stderr).toBe(0);
  const planned = await it.factory(['resume', 'r1']);
  expect(planned.code, planned.stderr).toBe(0);
  expect(inRun(it.path, 'workspace/.factory/plan/prompt.md')).toContain('(as proposed)');
});
