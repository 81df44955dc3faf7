import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chooseAgent } from '../../src/agents/choose.ts';
import type { AgentRequest } from '../../src/agents/plan.ts';
import { agentScriptSchema } from '../../src/agents/script.ts';
import { agentNames } from '../../src/core/contracts/agent.ts';
import { handClock } from '../support/clock.ts';
import { startModelServer } from '../support/model-server.ts';
import { taskFor } from './contract.ts';

const script = {
  path: 'agent.json',
  script: agentScriptSchema().parse({
    format: 'factory-script/1',
    answers: { work: [{ text: 'scripted' }] },
  }),
};
const key = { OPENAI_API_KEY: 'sk-key' };

/** `name (chosenBy)`, or the code of the problem. */
const choice = (request: Partial<AgentRequest>): string => {
  const chosen = chooseAgent({ env: {}, ...request });
  return 'plan' in chosen ? `${chosen.plan.name} (${chosen.plan.chosenBy})` : chosen.problem.code;
};

const bundled = 'scripted (the script that the pipeline bundles)';
type Env = Readonly<Record<string, string>>;

test.for<[Env, Partial<AgentRequest>, string]>([
  // ATTRACTION_BACKEND=fake wins over everything; other words in it count last, unknown ones not at all.
  [
    { ATTRACTION_BACKEND: 'fake', ...key },
    { nodeBackend: 'openai', flag: 'stub' },
    'fake (ATTRACTION_BACKEND)',
  ],
  [{ ATTRACTOR_BACKEND: 'fake' }, { nodeBackend: 'stub' }, 'fake (ATTRACTOR_BACKEND)'],
  [{ ATTRACTION_BACKEND: '', ATTRACTOR_BACKEND: 'fake' }, {}, 'fake (ATTRACTOR_BACKEND)'],
  [{ ATTRACTION_BACKEND: 'stub', ATTRACTOR_BACKEND: 'fake' }, {}, 'stub (ATTRACTION_BACKEND)'],
  [{ ATTRACTION_BACKEND: 'FAKE', ...key }, {}, 'openai (OPENAI_API_KEY)'],
  [{ ATTRACTION_BACKEND: 'stub', ...key }, {}, 'stub (ATTRACTION_BACKEND)'],
  [{ ATTRACTION_BACKEND: 'codex', ...key }, {}, 'codex (ATTRACTION_BACKEND)'],
  // Then node, flag, --script, environment, key, bundled script.
  [{ FACTORY_AGENT: 'stub' }, { nodeBackend: 'fake', flag: 'stub' }, "fake (the node's agent.backend)"],
  [{ FACTORY_AGENT: 'stub', ...key }, { script, scriptNamed: true }, 'scripted (--script)'],
  [key, { flag: 'stub', script, scriptNamed: true }, 'stub (--agent)'],
  [{ FACTORY_AGENT: 'stub', ...key }, { flag: ' fake ' }, 'fake (--agent)'],
  [{ FACTORY_AGENT: 'fake', ATTRACTOR_AGENT_BACKEND: 'stub' }, {}, 'fake (FACTORY_AGENT)'],
  [{ ATTRACTOR_AGENT_BACKEND: 'stub', ...key }, {}, 'stub (ATTRACTOR_AGENT_BACKEND)'],
  [{ ATTRACTOR_AGENT_BACKEND: 'fake', ATTRACTION_BACKEND: 'stub' }, {}, 'fake (ATTRACTOR_AGENT_BACKEND)'],
  [key, { script }, 'openai (OPENAI_API_KEY)'],
  [{ OPENAI_API_KEY: ' \t' }, { script }, bundled],
  [{ FACTORY_AGENT: ' ', ...key }, { nodeBackend: '', flag: ' ' }, 'openai (OPENAI_API_KEY)'],
  [key, { flag: 'scripted', script }, 'scripted (--agent)'],
  // What is missing or invalid is found before the run.
  [key, { flag: 'scripted' }, 'agent-script-missing'],
  [{}, { nodeBackend: 'openai', script }, 'agent-key'],
  [{ OPENAI_API_KEY: 'sk a' }, {}, 'agent-key'],
  [{}, {}, 'agent-none'],
  [{ ...key, OPENAI_BASE_URL: 'api.example/v1' }, {}, 'agent-base-url'],
  [{ ...key, OPENAI_BASE_URL: 'ftp://api.example/v1' }, {}, 'agent-base-url'],
  [{ ...key, OPENAI_BASE_URL: 'https://u:p@api.example/v1' }, {}, 'agent-base-url'],
])('%j and %j choose %3$s', ([env, request, expected]) => {
  expect(choice({ env, ...request })).toBe(expected);
});

test('nothing at all is answered with what could be set', () => {
  const chosen = chooseAgent({ env: {} });
  const text = 'problem' in chosen ? `${chosen.problem.message} ${chosen.problem.fix}` : '';
  for (const word of ['OPENAI_API_KEY', '--agent', 'FACTORY_AGENT', 'agent.backend', 'script'])
    expect(text).toContain(word);
});

describe('several agents', () => {
  const listed = (request: Parameters<typeof chooseAgent>[0]) => {
    const chosen = chooseAgent(request);
    if ('problem' in chosen) return chosen.problem.code;
    const { plan } = chosen;
    return plan.agents === undefined ? plan.name : [plan.name, plan.agents.map(({ name }) => name)];
  };

  test.for([
    ['on a node', { env: {}, nodeBackend: ' codex , claude ' }, ['codex,claude', ['codex', 'claude']]],
    ['by the flag', { env: {}, flag: 'claude,stub' }, ['claude,stub', ['claude', 'stub']]],
    ['by the environment', { env: { FACTORY_AGENT: 'fake,stub' } }, ['fake,stub', ['fake', 'stub']]],
    [
      'one of which has no key: it is passed over',
      { env: {}, flag: 'openai,codex' },
      ['openai,codex', ['unusable', 'codex']],
    ],
    ['none of which can answer here', { env: {}, flag: 'openai,scripted' }, 'agent-key'],
    ['one of which is unknown', { env: {}, flag: 'codex,clod' }, 'agent-unknown'],
    ['with a gap', { env: {}, flag: 'codex,' }, 'agent-list'],
    ['with one twice', { env: {}, flag: 'codex,codex' }, 'agent-list'],
  ] as const)('are asked in order: %s', ([, request, expected]) => {
    expect(listed(request)).toEqual(expected);
  });

  test('keep the model of the flag for all of them, and that is one', () => {
    expect(chooseAgent({ env: {}, flag: 'codex,claude', model: 'm' })).toMatchObject({
      plan: { model: 'm', agents: [{ model: 'm' }, { model: 'm' }] },
    });
    expect(chooseAgent({ env: {}, flag: 'codex', model: 'a,b' })).toMatchObject({
      problem: { code: 'agent-model' },
    });
  });
});

test.for([
  ['opnai', 'openai'],
  ['OpenAI', 'openai'],
  ['script', 'scripted'],
  ['stubb', 'stub'],
  ['claud', 'claude'],
  ['quantum', undefined],
  ['constructor', undefined],
] as const)('of an unknown word "%s" the nearest known one is %s', ([word, near]) => {
  const chosen = chooseAgent({ env: key, flag: word, script });
  expect(chosen).toMatchObject({
    problem: {
      code: 'agent-unknown',
      message: expect.stringContaining(`unknown agent backend: ${word} (--agent); there are`),
    },
  });
  expect('problem' in chosen && chosen.problem.fix).toBe(
    near === undefined ? 'choose one of those' : `did you mean "${near}"?`,
  );
});

test.for<[Partial<AgentRequest>, string, string]>([
  [{ env: key }, 'gpt-5.2', 'https://api.openai.com/v1'],
  [{ env: { ...key, OPENAI_MODEL: 'c' } }, 'c', 'https://api.openai.com/v1'],
  [
    { env: { ...key, OPENAI_MODEL: 'c', FACTORY_MODEL: 'b', OPENAI_BASE_URL: ' http://h/v1 ' } },
    'b',
    'http://h/v1',
  ],
  [{ env: { ...key, FACTORY_MODEL: 'b' }, model: 'a' }, 'a', 'https://api.openai.com/v1'],
])('model and base URL of %j', ([request, model, baseURL]) => {
  expect(chooseAgent({ env: {}, ...request })).toMatchObject({
    plan: { name: 'openai', model, server: { baseURL } },
  });
});

test.for<[Partial<AgentRequest>, string | undefined]>([
  [{ env: key }, undefined],
  [{ env: { ...key, FACTORY_EFFORT: ' ' }, effort: ' ' }, undefined],
  [{ env: { ...key, FACTORY_EFFORT: ' low ' } }, 'low'],
  [{ env: { ...key, FACTORY_EFFORT: 'low' }, effort: 'xhigh' }, 'xhigh'],
  [{ env: { ...key, FACTORY_EFFORT: 'nonsense' }, effort: 'none' }, 'none'],
])('effort of %j is %s', ([request, effort]) => {
  const chosen = chooseAgent({ env: {}, ...request });
  expect('plan' in chosen && chosen.plan.name === 'openai' ? chosen.plan.effort : 'no plan').toBe(effort);
});

test.for<[Partial<AgentRequest>, RegExp]>([
  [{ env: key, effort: 'hihg' }, /^--effort asks for the effort "hihg"/],
  [{ env: { ...key, FACTORY_EFFORT: 'HIGH' } }, /^FACTORY_EFFORT asks for the effort "HIGH"/],
])('an effort that is unknown is refused by the name of who said it: %j', ([request, words]) => {
  const chosen = chooseAgent({ env: {}, ...request });
  expect(chosen).toMatchObject({ problem: { code: 'agent-effort', fix: 'did you mean "high"?' } });
  expect('problem' in chosen && chosen.problem.message).toMatch(words);
});

test.for<[Record<string, string>, object]>([
  [{}, {}],
  [
    { FACTORY_POLL_INTERVAL: '200ms', FACTORY_POLL_DEADLINE: ' 2h ' },
    { pollMs: 200, pollDeadlineMs: 7_200_000 },
  ],
])('the waits for answers in the background are those of the environment: %j', ([more, waits]) => {
  const chosen = chooseAgent({ env: { ...key, ...more } });
  const unset = { pollMs: undefined, pollDeadlineMs: undefined };
  expect({ ...unset, ...('plan' in chosen ? chosen.plan : {}) }).toMatchObject({ ...unset, ...waits });
});

test.for(['soon', '0s', '-1s', '5'])('a wait of %j is refused by its name', (said) => {
  for (const name of ['FACTORY_POLL_INTERVAL', 'FACTORY_POLL_DEADLINE']) {
    const chosen = chooseAgent({ env: { ...key, [name]: said } });
    expect(chosen).toMatchObject({ problem: { code: 'agent-wait' } });
    expect('problem' in chosen && chosen.problem.message).toContain(`${name} is "${said}"`);
  }
});

test('whatever is set, the choice is a known agent or one problem, and never holds the key', () => {
  const word = fc.option(fc.constantFrom('', 'fake', 'stub', 'codex', 'openai', 'scripted', 'nope'), {
    nil: undefined,
  });
  const request = fc.record({
    ATTRACTION_BACKEND: word,
    ATTRACTOR_BACKEND: word,
    FACTORY_AGENT: word,
    ATTRACTOR_AGENT_BACKEND: word,
    OPENAI_API_KEY: fc.constantFrom(undefined, '', 'sk-very-secret', 'sk-very-secret x'),
    node: word,
    flag: word,
    scripted: fc.boolean(),
  });
  fc.assert(
    fc.property(request, ({ node, flag, scripted, ...env }) => {
      const chosen = chooseAgent({
        env,
        ...(node === undefined ? {} : { nodeBackend: node }),
        ...(flag === undefined ? {} : { flag }),
        ...(scripted ? { script } : {}),
      });
      expect(JSON.stringify(chosen)).not.toContain('very-secret');
      if ('plan' in chosen) expect(agentNames).toContain(chosen.plan.name);
      else expect(chosen.problem).toMatchObject({ severity: 'error', fix: expect.stringMatching(/./) });
      // Nothing is done by an agent that does nothing unless the user asked for it by name.
      const asked = Object.values({ node, flag, ...env }).includes('stub');
      if ('plan' in chosen && chosen.plan.name === 'stub') expect(asked).toBe(true);
    }),
  );
});

test('each plan makes the agent of its name', async () => {
  await using server = await startModelServer([{ text: 'from the model' }]);
  const env = { ...key, OPENAI_BASE_URL: server.url, FACTORY_EFFORT: 'low' };
  const deps = { env, clock: handClock(), readFile: async () => '' };
  for (const name of agentNames) {
    const chosen = chooseAgent({ env, flag: name, script });
    if (!('plan' in chosen)) throw new Error(chosen.problem.message);
    const agent = await chosen.plan.create(deps);
    expect(agent.name).toBe(name);
    // Its program must not be started; another test finds it.
    const task = taskFor({ attributes: { 'codex.path': '/nowhere/x', 'claude.path': '/nowhere/x' } });
    const report = await agent.work(task, new AbortController().signal);
    const kinds: Partial<Record<string, string>> = {
      fake: 'finished',
      stub: 'finished',
      codex: 'failed',
      claude: 'failed',
      command: 'failed',
      acp: 'failed',
    };
    expect(report.kind).toBe(kinds[name] ?? 'answered');
  }
  expect(server.requests[0]?.headers['authorization']).toBe('Bearer sk-key');
  expect(server.requests[0]?.body?.['reasoning']).toEqual({ effort: 'low', summary: 'auto' });
});
