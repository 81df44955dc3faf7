/** The model server's answers over the chat completions API. */
import type { ServerResponse } from 'node:http';
import type { Reaction } from './model-server.ts';

/** Answers one request; calls come piece by piece. */
export async function reactInChat(
  out: ServerResponse,
  reaction: Reaction,
  id: string,
  { stream, model }: { readonly stream: boolean; readonly model: string },
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
  if ('hang' in reaction) return;
  const answer = answerOf(reaction, id, model);
  if (stream) return inPieces(out, reaction, answer);
  const { base, text, calls, usage, finish_reason } = answer;
  const message = {
    role: 'assistant',
    content: text === '' ? null : text,
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(({ index: _, ...call }) => call) }),
  };
  const choices = [{ index: 0, message, finish_reason }];
  out.writeHead(200, { 'content-type': 'application/json' });
  out.end(JSON.stringify({ ...base, object: 'chat.completion', choices, ...usage }));
}

function answerOf(reaction: Reaction, id: string, model: string) {
  const given = 'calls' in reaction ? reaction.calls : [];
  const text =
    'json' in reaction ? JSON.stringify(reaction.json) : 'text' in reaction ? (reaction.text ?? '') : '';
  const used = 'usage' in reaction ? reaction.usage : undefined;
  const counts = { prompt_tokens: used?.input_tokens ?? 11, completion_tokens: used?.output_tokens ?? 7 };
  const calls = given.map(({ name, arguments: args }, index) => ({
    index,
    id: `call_${id}_${index}`,
    type: 'function',
    function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) },
  }));
  const finish_reason = 'incomplete' in reaction ? 'length' : calls.length > 0 ? 'tool_calls' : 'stop';
  const base = { id, model, created: 0 };
  return { base, text, calls, usage: used === null ? {} : { usage: counts }, finish_reason };
}

async function inPieces(
  out: ServerResponse,
  reaction: Reaction,
  { base, text, calls, usage, finish_reason }: ReturnType<typeof answerOf>,
): Promise<void> {
  out.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  const send = (data: unknown) =>
    new Promise<void>((resolve) => out.write(`data: ${JSON.stringify(data)}\n\n`, () => resolve()));
  const chunk = (choices: readonly object[], more: object = {}) =>
    send({ ...base, object: 'chat.completion.chunk', choices, ...more });
  const delta = (piece: object, end: string | null = null) =>
    chunk([{ index: 0, delta: piece, finish_reason: end }]);
  if ('events' in reaction) {
    for (const promised of reaction.events) {
      const event = await promised;
      if (typeof event === 'string') await said(out, `${event}\n`);
      else await send(event);
    }
    leave(out, reaction.after);
    return;
  }
  await delta({ role: 'assistant', content: '' });
  for (const word of 'reasoning' in reaction ? (reaction.reasoning ?? []) : [])
    await delta({ reasoning_content: word });
  for (const piece of text.match(/\s*\S+\s*/g) ?? []) await delta({ content: piece });
  for (const call of calls) {
    const { name, arguments: args } = call.function;
    await delta({ tool_calls: [{ ...call, function: { name, arguments: '' } }] });
    const middle = Math.floor(args.length / 2);
    for (const piece of [args.slice(0, middle), args.slice(middle)])
      await delta({ tool_calls: [{ index: call.index, function: { arguments: piece } }] });
  }
  await delta({}, finish_reason);
  await chunk([], usage);
  out.end('data: [DONE]\n\n');
}

/** Settles when the system has the bytes. */
export const said = (out: ServerResponse, text: string): Promise<void> =>
  new Promise((resolve) => out.write(text, () => resolve()));

export function leave(out: ServerResponse, after: 'tear' | 'hang' | undefined): void {
  if (after === undefined) out.end();
  else if (after === 'tear') out.destroy();
}

export async function endless(out: ServerResponse, status: number, how: 'words' | 'silence'): Promise<void> {
  out.writeHead(status, { 'content-type': 'application/json' });
  out.flushHeaders();
  // Checked on the socket: writes to a closed one may settle at once, before the answer counts as sent.
  while (how === 'words' && out.socket?.destroyed === false) await said(out, 'x'.repeat(65_536));
}
