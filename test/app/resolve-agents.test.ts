import { expect, test } from 'vitest';
import { chooseAgent } from '../../src/agents/choose.ts';

test("the words for an agent, which are kept, have nothing of its address's query", () => {
  const env = { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'https://models.example/v1/?api-key=hunter2hunter2' };
  const chosen = chooseAgent({ env, flag: 'openai', model: 'm', effort: 'low' });
  expect('plan' in chosen && chosen.plan.describe).toBe('openai m at https://models.example/v1, effort low');
});
