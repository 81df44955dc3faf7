import { expect, test } from 'vitest';
import { describePlan } from '../../src/app/resolve-agents.ts';

test("the words for an agent, which are kept, have nothing of its address's query", () => {
  const baseURL = 'https://models.example/v1/?api-key=hunter2hunter2';
  expect(describePlan({ name: 'openai', chosenBy: '--agent', model: 'm', baseURL, effort: 'low' })).toBe(
    'openai m at https://models.example/v1, effort low',
  );
});
