/** The model server's answers over the Messages API, Anthropic's own. */
import type { ServerResponse } from 'node:http';
import { leave, said } from './model-chat.ts';
import type { Reaction } from './model-server.ts';

type Block = { readonly type: string; readonly [key: string]: unknown };

/** Answers one request that asks for a stream. */
export async function reactInMessages(
  out: ServerResponse,
  reaction: Reaction,
  id: string,
  model: string,
): Promise<void> {
  if ('drop' in reaction) {
    out.destroy();
    return;
  }
  if ('status' in reaction) {
    out.writeHead(reaction.status, { 'content-type': 'application/json', ...reaction.headers });
    out.end(typeof reaction.body === 'string' ? reaction.body : JSON.stringify(reaction.body ?? {}));
    return;
  }
  if ('hang' in reaction && reaction.text === undefined) return;
  out.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  const send = (event: Block) => said(out, `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  if ('events' in reaction) {
    for (const event of reaction.events) await send((await event) as Block);
    leave(out, reaction.after);
    return;
  }
  const used = 'usage' in reaction ? reaction.usage : undefined;
  const input_tokens = used?.input_tokens ?? 11;
  const usage = used === null ? {} : { usage: { input_tokens, output_tokens: 1 } };
  const message = { id, type: 'message', role: 'assistant', model, content: [], stop_reason: null };
  await send({ type: 'message_start', message: { ...message, ...usage } });
  await send({ type: 'ping' });
  if ('failed' in reaction) {
    const { code = 'api_error', message: words = '' } = reaction.failed;
    await send({ type: 'error', error: { type: code, message: words } });
    out.end();
    return;
  }
  for (const [index, block] of blocksOf(reaction, id).entries()) {
    await send({ type: 'content_block_start', index, content_block: block.begins });
    for (const [n, delta] of block.deltas.entries()) {
      if ('cutAfter' in reaction && n === reaction.cutAfter) {
        leave(out, reaction.clean === true ? undefined : 'tear');
        return;
      }
      await send({ type: 'content_block_delta', index, delta });
      if ('hang' in reaction) return;
    }
    await send({ type: 'content_block_stop', index });
  }
  const output_tokens = used?.output_tokens ?? 7;
  const counts = used === null ? {} : { usage: { output_tokens } };
  await send({ type: 'message_delta', delta: endOf(reaction), ...counts });
  await send({ type: 'message_stop' });
  out.end();
}

function endOf(reaction: Reaction): object {
  if ('refusal' in reaction)
    return { stop_reason: 'refusal', stop_details: { type: 'refusal', explanation: reaction.refusal } };
  if ('incomplete' in reaction) return { stop_reason: 'max_tokens' };
  return { stop_reason: 'calls' in reaction && reaction.calls.length > 0 ? 'tool_use' : 'end_turn' };
}

function blocksOf(reaction: Reaction, id: string): { begins: Block; deltas: readonly object[] }[] {
  const thoughts = 'reasoning' in reaction ? (reaction.reasoning ?? []) : [];
  const text =
    'json' in reaction ? JSON.stringify(reaction.json) : 'text' in reaction ? (reaction.text ?? '') : '';
  const calls = 'calls' in reaction ? reaction.calls : [];
  const thinking = thoughts.map((words) => ({ type: 'thinking_delta', thinking: words }));
  return [
    ...(thoughts.length === 0
      ? []
      : [
          {
            begins: { type: 'thinking', thinking: '', signature: '' },
            deltas: [...thinking, { type: 'signature_delta', signature: `signed_${id}` }],
          },
        ]),
    ...(text === ''
      ? []
      : [
          {
            begins: { type: 'text', text: '' },
            deltas: (text.match(/\s*\S+\s*/g) ?? [text]).map((piece) => ({
              type: 'text_delta',
              text: piece,
            })),
          },
        ]),
    ...calls.map(({ name, arguments: args }, n) => {
      const json = typeof args === 'string' ? args : JSON.stringify(args);
      const middle = Math.floor(json.length / 2);
      return {
        begins: { type: 'tool_use', id: `toolu_${id}_${n}`, name, input: {} },
        deltas: [json.slice(0, middle), json.slice(middle)].map((partial_json) => ({
          type: 'input_json_delta',
          partial_json,
        })),
      };
    }),
  ];
}
