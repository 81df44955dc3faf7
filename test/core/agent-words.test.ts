/** The words of a run's agent name the models that were asked. */
import { expect, test } from 'vitest';
import { type AskedModel, agentsAsked, withModels } from '../../src/core/agent-words.ts';

const openai = 'openai gpt-5.2 at https://api.openai.com/v1, effort high';
const codex = 'codex (the agent program, with its own login or key)';
const scripted = 'scripted (demo/agent.json: prepared answers, no model)';

test.for<readonly [string, readonly string[], string]>([
  [openai, ['gpt-5'], 'openai gpt-5 at https://api.openai.com/v1, effort high'],
  [openai, ['a', 'b'], 'openai a, b at https://api.openai.com/v1, effort high'],
  [codex, ['gpt-5'], 'codex gpt-5 (the agent program, with its own login or key)'],
  [codex, [], codex],
  [scripted, ['gpt-5'], scripted],
])('%s with %j: %s', ([words, models, wanted]) => {
  expect(withModels(words, models)).toBe(wanted);
});

const asked = (agent: string, model: string | null = null): AskedModel => ({ agent, model });
test.for<readonly [string, readonly AskedModel[], string]>([
  [openai, [], openai],
  [openai, [asked('openai', 'gpt-5'), asked('openai', 'gpt-5')], openai.replace('gpt-5.2', 'gpt-5')],
  [openai, [asked('codex')], 'codex'],
  [openai, [asked('openai', 'x'), asked('claude', 'y')], `${openai.replace('gpt-5.2', 'x')}, else claude y`],
  [`${openai}, else ${codex}`, [asked('codex', 'm')], codex.replace('codex', 'codex m')],
  [scripted, [asked('scripted', 'gpt-5')], scripted],
  [scripted, [asked('openai', 'gpt-5')], `${scripted}, else openai gpt-5`],
])('%s, asked %j: %s', ([words, calls, wanted]) => {
  expect(agentsAsked(words, calls)).toBe(wanted);
});
