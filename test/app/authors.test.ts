/** What authors get wrong: found in its place, alone, with a fix; what is certain is put right. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fixedPipeline } from '../../src/app/fix-pipeline.ts';
import { pipelineFindings } from '../../src/app/pipeline-findings.ts';
import { withEdits } from '../../src/core/text-edits.ts';
import { authorsMistakes, deadPipelines, fixLoop, noMistakes } from '../support/authors.ts';
import { home } from '../support/in-process.ts';

const cwd = import.meta.dirname;

async function foundIn(text: string) {
  const texts = new Map([[join(cwd, 'p.dot'), text]]);
  const { diagnostics } = await pipelineFindings('p.dot', cwd, { texts });
  const under = ({ place }: (typeof diagnostics)[number]) =>
    text.slice(place?.span.start.offset, place?.span.end.offset).split(/[\r\n]/)[0];
  return { diagnostics, told: diagnostics.map((one) => [one.code, under(one)]) };
}

const withCrlf = (text: string): string => `// 😀\n${text}`.replaceAll('\n', '\r\n');

test.for(authorsMistakes)('"$wrong" in place of "$right" is one finding, $code', async (mistake) => {
  const { right, wrong, code, under, fixed } = mistake;
  const text = fixLoop.replace(right, () => wrong);
  const { diagnostics, told } = await foundIn(text);
  expect(told).toEqual([[code, under]]);
  expect(diagnostics[0]?.fix).toMatch(/./);
  expect((await foundIn(withCrlf(text))).told).toEqual([[code, under]]);

  await using it = await home({ 'p.dot': withCrlf(text) });
  const made = await fixedPipeline('p.dot', it.path, {});
  const wanted =
    fixed === 'right' ? fixLoop : fixed === 'nothing' ? undefined : fixLoop.replace(right, () => fixed.text);
  expect(made?.after).toBe(wanted && withCrlf(wanted));
});

test.for(noMistakes)('"%s" may be written as "%s"', async ([right, other]) => {
  expect((await foundIn(fixLoop.replace(right, () => other))).told).toEqual([]);
});

test.for(deadPipelines)('a pipeline that cannot work is found: $found', async ({ text, found }) => {
  const { told, diagnostics } = await foundIn(text);
  expect(told).toEqual(found);
  for (const { fix } of diagnostics) expect(fix).toMatch(/./);
});

test('several mistakes are put right, those behind a mistake of the syntax as well', async () => {
  const text = fixLoop
    .replace('start -> test', 'start -- tset')
    .replace('"Fix it"', "'Fix it'")
    .replace('done [shape=Msquare]', 'done [shape=Msquare')
    .replace('max_retries', 'retries');
  await using it = await home({ 'p.dot': text });
  expect((await fixedPipeline('p.dot', it.path, {}))?.after).toBe(fixLoop);
});

test.for([
  ['prompt="Fix it"', 'prompt="Fix it", promt="Fix it well"', undefined],
  ['prompt="Fix it"', 'promt="Fix it", instructions="well"', 'prompt="Fix it", instructions="well"'],
] as const)(
  'a wrong name for an attribute that is there is not put right: %s, %s',
  async ([right, wrong, after]) => {
    await using it = await home({ 'p.dot': fixLoop.replace(right, wrong) });
    const fixed = after && fixLoop.replace(right, after);
    expect((await fixedPipeline('p.dot', it.path, {}))?.after).toBe(fixed);
    const { diagnostics } = await foundIn(fixed ?? fixLoop.replace(right, wrong));
    expect(diagnostics.map(({ code, fix, edits }) => [code, fix, edits])).toEqual([
      ['unknown-attribute', 'remove it, or the prompt that is there too', undefined],
    ]);
  },
);

test.for([
  [', prompt="Fix it"', '', []],
  ['test -> fix [condition="outcome=fail"]\n', '', ['\n  test -> fix [condition="outcome=fail"]']],
  ['done [shape=Msquare]', 'done', [' [shape=Msquare]']],
  ['done [shape=Msquare]', 'done [label="x"]', ['shape=Msquare, ']],
] as const)('a fix with a choice is offered, and not made: %s', async ([right, wrong, edits]) => {
  const text = fixLoop.replace(right, wrong);
  const { diagnostics } = await foundIn(text);
  expect(diagnostics.flatMap((one) => one.edits ?? []).map((one) => one.text)).toEqual(edits);
  expect(diagnostics.every(({ sure }) => sure !== true)).toBe(true);
  const [first] = diagnostics;
  if (first?.edits !== undefined) expect((await foundIn(withEdits(text, first.edits))).told).toEqual([]);
});

test.for([
  ['in one line', (text: string) => text.trim().replaceAll('\n', '; ').replace('{;', '{')],
  ['with a list over several lines', (text: string) => text.replaceAll('"outcome=', '\n    "outcome=')],
  ['before a comment', (text: string) => text.replaceAll('"]', '"]; // so')],
] as const)('a missing edge is offered behind the statement: %s', async ([, written]) => {
  const text = written(fixLoop.replace('  test -> fix [condition="outcome=fail"]\n', ''));
  const { diagnostics } = await foundIn(text);
  expect(diagnostics.map(({ code }) => code)).toEqual(['outcome-uncovered']);
  expect((await foundIn(withEdits(text, diagnostics[0]?.edits ?? []))).told).toEqual([]);
});

const forEach = `digraph g {
  workdir="none"
  start [shape=Mdiamond]
  f [shape=component, for_each="a, b"]
  w [prompt="Fix it"]
  j [shape=tripleoctagon]
  done [shape=Msquare]
  start -> f -> w -> j -> done
}
`;

test.for([
  ['unknown-class', fixLoop.replace('outcome=fail"', 'outcome=fail && failure_class=wombat"')],
  ['for-each', forEach],
] as const)('a word that means nothing known is left to its author: %s', async ([code, text]) => {
  const { diagnostics } = await foundIn(text);
  expect(diagnostics.find((one) => one.code === code)).toHaveProperty('fix');
  expect(diagnostics.flatMap(({ edits = [] }) => edits)).toEqual([]);
});
