/** Variables named as what every object has, and inputs that are no plain files. */
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, symlinkSync, writeFileSync, writeSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { readInputs } from '../../src/app/inputs.ts';
import { readPipeline } from '../../src/app/read-pipeline.ts';
import type { Graph } from '../../src/core/graph.ts';
import { chooseHoldout } from '../../src/holdout/seal.ts';
import { realClock } from '../../src/platform/clock.ts';
import { type Temp, temp } from '../platform/temp.ts';

const pipeline = (words: string) =>
  `digraph g { workdir="none"; ${words}; start [shape=Mdiamond]; exit [shape=Msquare]; start -> exit }`;

async function graphOf(it: Temp, text: string): Promise<Graph> {
  writeFileSync(it.at('p.dot'), text);
  const { graph } = await readPipeline('p.dot', it.dir);
  if (graph === undefined) throw new Error('the pipeline is valid');
  return graph;
}

test.each(['constructor', 'toString', 'valueOf'])(
  'a variable %s that nobody gives has its default',
  async (name) => {
    await using it = await temp();
    const graph = await graphOf(it, pipeline(`vars="${name}=abc"`));
    const read = await readInputs(graph, {}, it.dir);
    expect('inputs' in read && Object.entries(read.inputs.variables)).toEqual([[name, { value: 'abc' }]]);
  },
);

test('a device is no text, however much comes out of it', async () => {
  await using it = await temp();
  const graph = await graphOf(it, pipeline('vars="spec=@spec.md"'));
  const read = await readInputs(graph, { spec: '@/dev/zero' }, it.dir);
  expect(read).toMatchObject({
    problems: [{ code: 'var-file', message: expect.stringContaining('device') }],
  });
});

test.each([
  ['a link that leads to itself', 'loop'],
  ['a name that no folder can have', 'x'.repeat(300)],
])('a holdout named by %s is refused', async (_, name) => {
  await using it = await temp();
  symlinkSync('loop', it.at('loop'));
  const graph = await graphOf(it, pipeline('goal="x"'));
  const where = { cwd: it.dir, workdir: undefined, runsDir: it.at('runs'), env: {} };
  expect(await chooseHoldout(graph, { ...where, flag: name })).toMatchObject({
    problem: { code: 'holdout' },
  });
});

test.each([
  ['Latin-1', Buffer.from('caf\xe9', 'latin1'), 'save it as UTF-8'],
  ['UTF-16 without a mark', Buffer.from('cafe', 'utf16le'), 'save it as UTF-8'],
  ['nothing at all', Buffer.from(' \n'), 'write the text into it'],
])('a text that is %s is refused with a fix', async (_, bytes, fix) => {
  await using it = await temp();
  writeFileSync(it.at('t.md'), bytes);
  const graph = await graphOf(it, pipeline('vars="spec=@t.md"; a [prompt="@t.md"]; start -> a -> exit'));
  expect(await readInputs(graph, {}, it.dir)).toMatchObject({
    problems: [
      { code: 'var-file', fix: expect.stringContaining(fix) },
      { code: 'prompt-file', fix: expect.stringContaining(fix) },
    ],
  });
});

test('a pipe without a writer is not waited for', async () => {
  await using it = await temp();
  const graph = await graphOf(it, pipeline('vars="spec=@spec.md"'));
  execFileSync('mkfifo', [it.at('spec.md')]);
  expect(await readInputs(graph, {}, it.dir)).toMatchObject({ problems: [{ code: 'var-file' }] });
});

/** The result of reading a pipe whose writer calls `write` in each wait of the reader. */
async function readPiped(write: (pipe: number) => void) {
  await using it = await temp();
  const graph = await graphOf(it, pipeline('vars="spec=@spec.md"'));
  execFileSync('mkfifo', [it.at('spec.md')]);
  const pipe = openSync(it.at('spec.md'), 'r+');
  const waits = vi.spyOn(realClock, 'sleep').mockImplementation(async () => write(pipe));
  try {
    return await readInputs(graph, {}, it.dir);
  } finally {
    waits.mockRestore();
  }
}

test('a pipe is waited for until its writer has closed it', async () => {
  const pieces = ['a ', 'spec\n'];
  const read = await readPiped((pipe) => {
    writeSync(pipe, pieces.shift() ?? '');
    if (pieces.length === 0) closeSync(pipe);
  });
  expect('inputs' in read && read.inputs.files).toEqual({ spec: 'a spec\n' });
});

const strict = 'response_check=strict';

test.each([
  ['null', '', /is not a JSON object/],
  ['[1]', '', /is not a JSON object/],
  ['{"a":', '', /is not JSON/],
  [`{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`, '', /more than 900 levels/],
  ['{"type":"objekt"}', strict, /cannot be checked \(Unsupported type: objekt\)/],
  ['{"if":{},"then":{}}', strict, /cannot be checked .*leave out response_check=strict/],
  ['{"pattern":"(","type":"string"}', strict, /cannot be checked/],
  ['{"if":{},"then":{}}', '', undefined],
  ['{"type":"object"}', strict, undefined],
])(
  'a response_schema that is none, or that no answer can be held against, is refused: %#',
  async (text, check, why) => {
    await using it = await temp();
    writeFileSync(it.at('s.json'), text);
    const node = `a [type=codergen, prompt="x", response_schema="@s.json", ${check}]`;
    const graphText = `digraph g { start [type=start]; ${node}; exit [type=exit]; start -> a -> exit }`;
    const graph = await graphOf(it, graphText);
    const read = await readInputs(graph, {}, it.dir);
    if (why === undefined) expect(read).toHaveProperty('inputs');
    else
      expect(read).toMatchObject({
        problems: [{ code: 'schema-file', message: expect.stringMatching(why) }],
      });
  },
);
