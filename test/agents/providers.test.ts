/** Providers: which agent they choose, and which agent gets the name of which model. */
import { expect, test } from 'vitest';
import { chooseAgent } from '../../src/agents/choose.ts';
import type { AgentRequest } from '../../src/agents/plan.ts';
import { providerAgainst } from '../../src/agents/serving.ts';
import type { AgentName } from '../../src/core/contracts/agent.ts';
import type { NodeSettings } from '../../src/core/settings/node.ts';
import { graphOf } from '../support/graph.ts';

const choice = (request: Partial<AgentRequest>): string => {
  const chosen = chooseAgent({ env: {}, ...request });
  return 'plan' in chosen ? `${chosen.plan.name} (${chosen.plan.chosenBy})` : chosen.problem.message;
};
const key = { OPENAI_API_KEY: 'sk-key' };
const script = { path: 'a.json', script: { format: 'factory-script/1', answers: {} } as never };
const both = ['codex', 'claude'];

test.for<[string, Partial<AgentRequest>]>([
  ['claude (llm_provider=anthropic)', { provider: 'anthropic', programs: both, env: key }],
  ['openai (llm_provider=openai)', { provider: 'openai', programs: both, env: key }],
  ['codex (llm_provider=openai)', { provider: 'openai', programs: both }],
  ["stub (the node's agent.backend)", { provider: 'anthropic', programs: both, nodeBackend: 'stub' }],
  ['codex (--agent)', { provider: 'anthropic', programs: both, flag: 'codex' }],
  ['scripted (--script)', { provider: 'anthropic', programs: both, script, scriptNamed: true }],
  [
    'claude (llm_provider=anthropic)',
    { provider: 'anthropic', programs: both, env: { FACTORY_AGENT: 'stub' } },
  ],
  ['fake (ATTRACTION_BACKEND)', { provider: 'openai', env: { ...key, ATTRACTION_BACKEND: 'fake' } }],
  // An agent that cannot work here is passed over, and a provider that no agent has chooses none.
  ['stub (FACTORY_AGENT)', { provider: 'anthropic', env: { FACTORY_AGENT: 'stub' } }],
  ['openai (OPENAI_API_KEY)', { provider: 'anthropic', env: key }],
  ['scripted (the script that the pipeline bundles)', { provider: 'openai', script }],
  // A run that continues keeps its agents.
  [
    'codex (llm_provider=openai)',
    { provider: 'openai', flag: 'stub', flagBy: 'the run', recorded: { openai: 'codex' } },
  ],
  ['stub (the run)', { provider: 'openai', flag: 'stub', flagBy: 'the run', programs: both, env: key }],
])('%s is chosen', ([chosen, request]) => {
  expect(choice(request)).toBe(chosen);
});

test('where no agent is chosen, the provider that had none is named', () => {
  expect(choice({ provider: 'anthropic' })).toContain('no agent for llm_provider=anthropic can work here');
});

test('an agent that a provider has chosen does not get the model that flags name for another one', () => {
  const model = (request: Partial<AgentRequest>) => {
    const chosen = chooseAgent({ env: {}, provider: 'anthropic', programs: both, ...request });
    return 'plan' in chosen ? chosen.plan.model : chosen.problem.code;
  };
  expect(model({ model: 'gpt-5.2' })).toBeUndefined();
  expect(model({ model: 'claude-opus-4-6' })).toBe('claude-opus-4-6');
  expect(model({ model: 'local' })).toBe('local');
  const run = { flag: 'openai', flagBy: 'the run', recorded: { anthropic: 'claude' }, model: 'local' };
  expect([model(run), model({ ...run, typedModel: 'local' })]).toEqual([undefined, 'local']);
});

test('only an agent that is chosen for the whole run gets the model that flags name, whatever its provider', () => {
  const models = (request: Partial<AgentRequest>) => {
    const chosen = chooseAgent({ env: {}, programs: both, ...request });
    return 'plan' in chosen
      ? (chosen.plan.agents ?? [chosen.plan]).map(({ model = '' }) => model)
      : chosen.problem.code;
  };
  const model = 'gpt-5.2';
  expect(models({ flag: 'claude', model })).toEqual([model]);
  expect(models({ flag: 'codex,claude', model })).toEqual([model, '']);
  expect(models({ flag: 'codex', nodeBackend: 'claude', model })).toEqual(['']);
  expect(models({ flag: 'codex', nodeBackend: 'command', model })).toEqual([model]);
  // A server of the user's own has other names.
  const env = { ANTHROPIC_BASE_URL: 'http://127.0.0.1:1' };
  expect(models({ flag: 'codex', nodeBackend: 'claude', model, env })).toEqual([model]);
});

/** The settings of a node with these attributes, under a sheet. */
const settingsOf = (attributes: string, sheet = '') =>
  graphOf(`model_stylesheet="${sheet}"; a [${attributes}]`).nodes.get('a')?.settings as NodeSettings;
const named = (model: string) => `* { model: ${model}; }`;

test.for<
  [
    provider: string | undefined,
    agent: AgentName,
    attributes: string,
    sheet: string,
    env?: Record<string, string>,
  ]
>([
  // The provider that the text names decides, whatever the model's name or the server.
  ['anthropic', 'codex', 'llm_model=m, llm_provider=anthropic', ''],
  [
    'anthropic',
    'openai',
    'llm_model=m, llm_provider=Anthropic',
    '',
    { OPENAI_BASE_URL: 'http://127.0.0.1:1' },
  ],
  ['gemini', 'claude', 'llm_model=m', '* { provider: google; }'],
  [undefined, 'openai', 'llm_model=claude-x, llm_provider=openai', ''],
  [undefined, 'claude', 'llm_model=gpt-5, llm_provider=anthropic', ''],
  // A provider that a rule names for other models does not make this one its own.
  ['openai', 'claude', 'llm_model=gpt-5', '* { provider: anthropic; }'],
  ['openai', 'claude', '', '* { model: claude-x; provider: anthropic; } #a { model: gpt-5.2; }'],
  [undefined, 'codex', 'llm_model=gpt-5', '* { provider: anthropic; }'],
  // Else the name, where it says so.
  ['anthropic', 'codex', 'llm_model=claude-opus-4-6', ''],
  ['openai', 'claude', 'llm_model=gpt-5.2', ''],
  ['gemini', 'openai', '', named('gemini-3-pro')],
  [undefined, 'openai', 'llm_model=qwen', ''],
  [undefined, 'codex', 'llm_model=gpt-oss-120b', ''],
  // A server of the user's may have any names; a sheet was written for all.
  [undefined, 'openai', 'llm_model=claude-x', '', { OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' }],
  ['anthropic', 'openai', 'llm_model=claude-x', '', { OPENAI_BASE_URL: 'https://api.openai.com/v1' }],
  ['anthropic', 'openai', '', named('claude-x'), { OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' }],
  [undefined, 'claude', 'llm_model=gpt-x', '', { CLAUDE_CODE_USE_BEDROCK: '1' }],
  [undefined, 'codex', 'llm_model=claude-x, codex.profile=own', ''],
  // Programs of the user's, and prepared answers, are nobody's.
  [undefined, 'command', 'llm_model=m, llm_provider=google', ''],
  [undefined, 'scripted', '', named('gemini-3-pro')],
])(
  'because of %s, %s does not get the model of [%s] under "%s"',
  ([provider, agent, attributes, sheet, env = {}]) => {
    const settings = settingsOf(attributes, sheet);
    expect(providerAgainst(agent, env, settings, settings.llm_model?.[0] ?? '')).toBe(provider);
  },
);
