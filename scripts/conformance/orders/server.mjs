/** A scripted model API on the loopback interface. */
import { createServer } from 'node:http';

/** Reactions: `{ text | json, reasoning? }`: an answer as a stream; `{ sse, cut?, reset? }`: a literal stream; `{ status,
 *  body, headers }`: any response; `{ drop: true }`: none; HTTP 400 after the last one. `requests` lists the requests,
 *  each `{ method, path, body, when }`. */
export async function serve(reactions) {
  const requests = [];
  const server = createServer((incoming, response) => {
    const chunks = [];
    incoming.on('data', (chunk) => chunks.push(chunk));
    incoming.on('end', () => {
      const reaction = reactions[requests.length];
      const body = bodyOf(Buffer.concat(chunks).toString());
      const path = incoming.url.replace(/^\/v1/, '').replace(/\?.*$/, '');
      requests.push({ method: incoming.method, path, body, when: performance.now() });
      react(reaction, body, response);
    });
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    requests,
    prompts: () => requests.filter(({ method }) => method === 'POST').map(({ body }) => promptOf(body)),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function bodyOf(text) {
  try {
    return JSON.parse(text === '' ? 'null' : text);
  } catch {
    return text;
  }
}

const promptOf = (body) =>
  typeof body?.input === 'string' ? body.input : JSON.stringify(body?.input ?? null);

function react(reaction, body, response) {
  if (reaction?.drop === true) response.socket.destroy();
  else if (reaction?.sse !== undefined) stream(response, reaction.sse.map(spelled), reaction);
  else if (reaction?.text !== undefined || 'json' in (reaction ?? {}))
    stream(response, answerEvents(reaction, body).map(spelled));
  else {
    const { status = 200, headers = {}, body: content = {} } = reaction ?? noMore;
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof content === 'string' ? content : JSON.stringify(content));
  }
}

const noMore = { status: 400, body: { error: { message: 'there are no more answers', code: 'no_more' } } };

function stream(response, lines, { cut, reset } = {}) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const text = lines.join('');
  if (reset === true) response.write(text, () => response.socket.resetAndDestroy());
  else if (cut === true) response.write(text, () => response.socket.destroy());
  else response.end(text);
}

/** An event with its name, or a literal line. */
const spelled = (event) =>
  typeof event === 'string' ? `${event}\n\n` : `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

function answerEvents({ text, json, reasoning }, body) {
  const answer = text ?? JSON.stringify(json);
  const thought = { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: reasoning }] };
  const message = {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: answer, annotations: [] }],
  };
  const thinks = reasoning !== undefined && reasoning !== '';
  const response = {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    model: body?.model,
    output: thinks ? [thought, message] : [message],
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  };
  return [
    ...(thinks ? [{ type: 'response.reasoning_summary_text.delta', delta: reasoning }] : []),
    {
      type: 'response.output_text.delta',
      output_index: 0,
      content_index: 0,
      item_id: 'msg_1',
      delta: answer,
    },
    { type: 'response.completed', response },
  ];
}
