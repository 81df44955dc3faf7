/** A call of the agent against a server that does what the test says. */
import { expect } from 'vitest';
import { type OpenaiOptions, openaiAgent } from '../../../src/agents/openai.ts';
import type { Clock } from '../../../src/core/contracts/clock.ts';
import { handClock } from '../../support/clock.ts';
import { type ModelServer, type Reaction, startModelServer } from '../../support/model-server.ts';
import { taskFor, wellFormed } from '../contract.ts';

export const apiKey = 'sk-test-0123456789abcdef';
export const never = () => new AbortController().signal;

export const agentAt = (server: ModelServer, clock: Clock = handClock(), more: Partial<OpenaiOptions> = {}) =>
  openaiAgent({ apiKey, baseURL: server.url, model: 'gpt-test', clock, ...more });

/** One call against these reactions: what was reported, asked, heard and waited. */
export async function tell(
  reactions: readonly Reaction[],
  more: Partial<OpenaiOptions> = {},
  task: Parameters<typeof taskFor>[0] = {},
) {
  await using server = await startModelServer(reactions);
  const clock = handClock();
  const heard: string[] = [];
  const onText = (text: string, channel: string) => heard.push(`${channel}:${text}`);
  const report = wellFormed(await agentAt(server, clock, more).work(taskFor({ onText, ...task }), never()));
  await server.idle();
  expect(JSON.stringify(report)).not.toContain(apiKey);
  return { report, requests: server.requests, heard, waits: clock.waits, url: server.url };
}
