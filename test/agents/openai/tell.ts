/** A call of the agent against a server that does what the test says. */
import { expect } from 'vitest';
import { type OpenaiOptions, openaiAgent } from '../../../src/agents/openai.ts';
import type { Clock } from '../../../src/core/contracts/clock.ts';
import { accessTo, openaiServer } from '../../../src/core/model-server.ts';
import { handClock } from '../../support/clock.ts';
import { type ModelServer, type Reaction, startModelServer } from '../../support/model-server.ts';
import { taskFor, wellFormed } from '../contract.ts';

export const apiKey = 'sk-test-0123456789abcdef';
export const never = () => new AbortController().signal;

type Given = Partial<OpenaiOptions> & { readonly apiKey?: string; readonly baseURL?: string };

/** The agent for a server of the provider `openai`. */
export function openaiAt({ apiKey: key = apiKey, baseURL, ...more }: Given & Pick<OpenaiOptions, 'clock'>) {
  const env = { OPENAI_API_KEY: key, ...(baseURL === undefined ? {} : { OPENAI_BASE_URL: baseURL }) };
  const server = openaiServer(env);
  return openaiAgent({ server, access: accessTo(server, env), model: 'gpt-test', ...more });
}

export const agentAt = (server: ModelServer, clock: Clock = handClock(), more: Given = {}) =>
  openaiAt({ baseURL: server.url, clock, ...more });

/** One call against these reactions: what was reported, asked, heard and waited. */
export async function tell(
  reactions: readonly Reaction[],
  more: Given = {},
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
