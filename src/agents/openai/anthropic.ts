/** The Messages API, Anthropic's own. */
import { failedResponse, type ModelResponse } from './answer.ts';
import { anthropicSdk } from './anthropic-client.ts';
import { finalFailure, lost } from './failure.ts';
import { MessageAnswer } from './message-answer.ts';
import { messagesBody } from './messages-body.ts';
import type { Request } from './request.ts';
import type { Call } from './responses.ts';
import { untilAnswered } from './retry.ts';
import { exchangeBy } from './transport.ts';

/** Asks until there is an answer or no hope for one. */
export const askAnthropic = (request: Request, call: Call): Promise<ModelResponse> =>
  untilAnswered(request, call, () => oneRequest(request, call));

async function oneRequest(request: Request, { watch, onText, refused }: Call): Promise<ModelResponse> {
  const answer = new MessageAnswer(request, onText);
  const body = messagesBody(request, refused);
  const sent = { path: '/v1/messages', body, stream: true };
  const got = await exchangeBy(
    anthropicSdk,
    request,
    watch,
    sent,
    () => answer.arrived(),
    async (messages) => {
      let isMessage = false;
      // The SDK's types do not know every block that a server may send, nor schemas as plain JSON.
      const events = await messages.create(body as never, { signal: watch.signal });
      for await (const event of events as unknown as AsyncIterable<unknown>) {
        request.record?.({ kind: 'event', event });
        isMessage = answer.add(event) || isMessage;
      }
      const cut = isMessage
        ? lost(`the answer from ${request.shown} ended before it was whole`)
        : finalFailure(`${request.shown} answered with something that is no message`);
      return answer.end() ?? failedResponse(cut, answer.arrived());
    },
  );
  // An answer that was whole before the connection broke is not asked, and paid, for again.
  return got.kind === 'trouble' && got.trouble.lost === true ? (answer.end() ?? got) : got;
}
