/** What calls cost whose models are not, or not all, the one that was asked for. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { house } from '../support/house.ts';
import { type Reaction, startModelServer } from '../support/model-server.ts';

/** A run under a limit of 5 USD, with one node of these attributes. */
async function asking(
  attributes: string,
  reactions: readonly Reaction[],
  files: Record<string, string> = {},
) {
  const server = await startModelServer(reactions);
  const it = await house(
    {
      'p.dot': `digraph t { max_cost_usd=5; start [shape=Mdiamond]; done [shape=Msquare]; a [prompt=a, ${attributes}]
        start -> a -> done }`,
      'work/x.txt': 'x',
      ...files,
    },
    () => ({ OPENAI_API_KEY: 'sk-models-0123456789', OPENAI_BASE_URL: server.url }),
  );
  return {
    path: it.path,
    run: async () => JSON.parse((await it.run('p.dot', { runId: 'r1', workdir: 'work', json: true })).out),
    resume: async (prices: string) => JSON.parse((await it.resume('r1', { json: true, prices })).out),
    async [Symbol.asyncDispose]() {
      await server.close();
      await it[Symbol.asyncDispose]();
    },
  };
}

const agent = 'agent.mode=agent, response_format=text';
const list = (path: string) => ({
  type: 'function_call',
  call_id: 'c',
  name: 'list',
  arguments: JSON.stringify({ path }),
});
const said = { type: 'message', content: [{ type: 'output_text', text: 'ok' }] };
const turn = (model: string, item: object): Reaction => {
  const usage = { input_tokens: 1_000_000, output_tokens: 0 };
  const response = { status: 'completed', model, usage, output: [item] };
  return { events: [{ type: 'response.completed', response }] };
};

test.for([
  ['one prompt', 'max_retries=0', [said]],
  ['turns with tools', agent, [list('.'), said]],
] as const)(
  'a model of another name than was asked for, and without a price, is named where the run ends for it: %s',
  async ([, attributes, items]) => {
    const answers = items.map((item) => turn('/models/x.gguf', item));
    await using it = await asking(attributes, answers);
    const ran = await it.run();
    expect(ran).toMatchObject({ status: 'failed', spent: { unknown_cost: 1 } });
    expect(ran.reason).toMatch(
      /^max_cost_usd: .*no price for "\/models\/x\.gguf".* give the model a price \(--prices FILE/,
    );
    const prices = {
      format: 'factory-prices/1',
      dated: '2026-02-01',
      models: { '/models/x.gguf': { input: 1, output: 1 } },
    };
    writeFileSync(join(it.path, 'prices.json'), JSON.stringify(prices));
    expect((await it.resume('prices.json')).reason).not.toContain('no price for');
  },
);

test.for([
  [
    'turns of a session',
    agent,
    [turn('gpt-5.2', list('.')), turn('gpt-5-nano', said)],
    {},
    { calls: 1, unknown_cost: 1, input_tokens: 2_000_000 },
  ],
  [
    'calls that a command reports',
    'agent=command, command.run="sh use.sh", response_format=text',
    [],
    {
      'work/use.sh': `cat >$FACTORY_USAGE_FILE <<'END'
{"model":"gpt-5.2","input_tokens":1000000,"output_tokens":0}
{"model":"gpt-5-nano","input_tokens":1000000,"output_tokens":0}
END
echo done
`,
    },
    { calls: 1, unknown_cost: 1, input_tokens: 2_000_000 },
  ],
] as const)('%s by several models have an unknown cost, which a cost limit stops', async (row) => {
  const [, attributes, answers, files, spent] = row;
  await using it = await asking(attributes, answers, files);
  const ran = await it.run();
  expect(ran).toMatchObject({ status: 'failed', spent });
  expect(ran.reason).toMatch(
    /^max_cost_usd: the cost of 1 call is unknown \(no price for "gpt-5\.2, gpt-5-nano"\)/,
  );
});

test('the evidence and the log name the model that a node asks for, not the default', async () => {
  await using it = await asking('llm_model="gpt-5", max_retries=0', [turn('gpt-5', said)]);
  const ran = await it.run();
  expect(ran.agent).toMatch(/^openai gpt-5 at http/);
  expect(ran.evidence.asked).toEqual([{ node: 'a', agent: 'openai', model: 'gpt-5' }]);
  const files = ['run.json', 'manifest.json', 'result.json', 'events.jsonl', 'journal.jsonl'];
  const texts = files
    .map((file) => join(it.path, '.factory/runs/r1', file))
    .filter((file) => existsSync(file));
  for (const file of texts.slice(1))
    expect(readFileSync(file, 'utf8').match(/openai gpt-5\S*/g), file).not.toContain('openai gpt-5.2');
});
