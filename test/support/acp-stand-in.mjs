#!/usr/bin/env node
/** Stands in for a program that speaks the Agent Client Protocol, built by its library. `$STAND_IN` is the text of a JavaScript
 *  object: `hello` and `opened` are added to its answers, and `opens`, `logsIn`, `sets`, `prompt`, `closes` and `ends` (end of file)
 *  do what they say. What it was given is noted in the folder `$SEEN`. */
import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { agent, methods, ndJsonStream, RequestError } from '@agentclientprotocol/sdk';

const seen = process.env.SEEN ?? 'seen';
mkdirSync(seen, { recursive: true });
const note = (name, value) => appendFileSync(join(seen, name), `${JSON.stringify(value)}\n`);
const sessionId = 's1';
let connection;
const update = (more) => connection.client.notify(methods.client.session.update, { sessionId, update: more });
const chunk = (sessionUpdate) => (text) => update({ sessionUpdate, content: { type: 'text', text } });
const say = chunk('agent_message_chunk');
const call = (toolCallId, more) =>
  update({ sessionUpdate: 'tool_call', toolCallId, title: toolCallId, ...more });
const settle = (toolCallId, status = 'completed', more = {}) =>
  update({ sessionUpdate: 'tool_call_update', toolCallId, status, ...more });
const options = ['allow_once', 'allow_always', 'reject_once'].map((kind) => ({
  kind,
  name: kind,
  optionId: `o-${kind}`,
}));
const ask = async (toolCall, given = options) => {
  const { outcome } = await connection.client.request(methods.client.session.requestPermission, {
    sessionId,
    toolCall,
    options: given,
  });
  note('outcomes', outcome);
  return outcome.optionId ?? outcome.outcome;
};
const success = {
  outcome: 'success',
  preferred_next_label: 'on',
  suggested_next_ids: [],
  context_updates: {},
  verification_plan: null,
  notes: 'done',
  failure_reason: '',
};
const ok = (more = {}) => say(JSON.stringify({ ...success, ...more }));
let wasCancelled;
const cancelled = new Promise((resolve) => {
  wasCancelled = resolve;
});
const kit = {
  note,
  update,
  say,
  think: chunk('agent_thought_chunk'),
  call,
  settle,
  ask,
  ok,
  cancelled,
  RequestError,
};
const does = new Function(...Object.keys(kit), `return (${process.env.STAND_IN ?? '{}'})`)(
  ...Object.values(kit),
);

note('argv', process.argv.slice(2));
note('env', process.env);
const app = agent({ name: 'stand-in' })
  .onRequest(methods.agent.initialize, ({ params }) => {
    note('hello', params);
    return { protocolVersion: 1, agentCapabilities: {}, authMethods: [], ...does.hello };
  })
  .onRequest(methods.agent.authenticate, ({ params }) => {
    note('logins', params);
    return does.logsIn?.(params) ?? {};
  })
  .onRequest(methods.agent.session.new, async ({ params }) => {
    note('opened', params);
    await does.opens?.(params);
    return { sessionId, ...does.opened };
  })
  .onRequest(methods.agent.session.setConfigOption, async ({ params }) => {
    note('set', params);
    await does.sets?.(params);
    return { configOptions: [] };
  })
  .onRequest(methods.agent.session.setMode, ({ params }) => {
    note('modes', params);
    return {};
  })
  .onRequest(
    'session/set_model',
    (params) => params,
    ({ params }) => {
      note('models', params);
      return {};
    },
  )
  .onRequest(methods.agent.session.prompt, async ({ params }) => {
    note('prompts', params.prompt[0].text);
    const ended = await (does.prompt ?? (() => ok()))(params);
    return { stopReason: 'end_turn', ...ended };
  })
  .onRequest(methods.agent.session.close, async () => {
    await does.closes?.();
    return {};
  })
  .onNotification(methods.agent.session.cancel, ({ params }) => {
    note('cancelled', params);
    wasCancelled();
  });
connection = app.connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
process.stdin.once('end', async () => {
  await does.ends?.();
  process.exit(0);
});
