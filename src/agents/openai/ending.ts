/** How a request ended, and what the server's last word on it means. */
import type { Usage } from '../agent.ts';
import type { Request } from './client.ts';
import { ended, type Trouble, troubleOfFault } from './failure.ts';
import { callsIn, type FunctionCall } from './talk.ts';
import { type Body, saidIn, thoughtIn } from './wire.ts';

/** What the server sent where no answer could be had, and how it is called in the node's folder. */
export type Evidence = {
  readonly what: 'no_text_attempt' | 'incomplete_attempt' | 'unexpected_status' | 'poll_timeout';
  readonly raw: unknown;
};

/** What had arrived when a request ended. */
export type Arrived = {
  readonly text: string;
  readonly reasoning: string;
  readonly usage?: Usage;
  readonly evidence?: Evidence;
  /** The server had begun to stream: it took the prompt. */
  readonly begun?: true;
  /** In a tool loop: what the model said as the server spells it, and the calls in it. */
  readonly items?: readonly unknown[];
  readonly calls?: readonly FunctionCall[];
};

export type Exchange = Arrived &
  (
    | { readonly kind: 'answer' }
    /** The answer did not fit into the budget. */
    | { readonly kind: 'short' }
    /** Refused, empty, filtered, too large: asking again would not help. */
    | { readonly kind: 'unusable'; readonly reason: string; readonly model: 'api' | 'output' }
    /** The server works on it and can be asked for it under this id. */
    | { readonly kind: 'pending'; readonly id: string; readonly raw: unknown }
    | { readonly kind: 'trouble'; readonly trouble: Trouble }
  );

/** Reads the response that ends a request; `arrived` is what came before it in pieces. */
export function endOf(body: Body, raw: unknown, arrived: Arrived, request: Request): Exchange {
  const { model, shown, maxAnswerBytes } = request;
  const said = saidIn(body);
  const thought = thoughtIn(body);
  const items = (body.output?.length ?? 0) > 0 ? (body.output ?? []) : (arrived.items ?? []);
  const all: Arrived = {
    text: said.text.trim() === '' ? arrived.text : said.text,
    reasoning: thought === '' ? arrived.reasoning : thought,
    ...(body.usage == null
      ? {}
      : {
          usage: {
            model: body.model ?? model,
            input_tokens: body.usage.input_tokens ?? null,
            output_tokens: body.usage.output_tokens ?? null,
            ...detail('cached_input_tokens', body.usage.input_tokens_details?.cached_tokens),
            ...detail('reasoning_tokens', body.usage.output_tokens_details?.reasoning_tokens),
            cost_usd: null,
          },
        }),
    ...(request.talk === undefined ? {} : { items, calls: callsIn(items) }),
  };
  const unusable = (what: Evidence['what'], reason: string): Exchange => ({
    ...all,
    kind: 'unusable',
    reason,
    model: 'api',
    evidence: { what, raw },
  });
  const trouble = (it: Trouble): Exchange => ({
    ...all,
    kind: 'trouble',
    trouble: it,
    evidence: { what: 'unexpected_status', raw },
  });
  if (Buffer.byteLength(all.text) > maxAnswerBytes) return tooLarge({ ...all, text: arrived.text }, request);
  switch (body.status) {
    case 'completed':
      if (said.refusal !== '')
        return unusable('no_text_attempt', `"${model}" refused: ${said.refusal.slice(0, 500)}`);
      // In a tool loop an answer without words may be calls, or nothing, which the model is told.
      if (all.text.trim() === '' && request.talk === undefined) {
        return unusable(
          'no_text_attempt',
          `"${model}" answered nothing: the answer is completed and has no text`,
        );
      }
      return { ...all, kind: 'answer' };
    case 'incomplete': {
      const why = body.incomplete_details?.reason ?? 'no reason given';
      const evidence: Evidence = { what: 'incomplete_attempt', raw };
      if (why === 'max_output_tokens') return { ...all, kind: 'short', evidence };
      return unusable('incomplete_attempt', `the answer of "${model}" is incomplete: ${why}`);
    }
    case 'failed':
      return trouble(troubleOfFault(body.error, request));
    case 'cancelled':
      return trouble(ended(`the answer of "${model}" was cancelled at ${shown}`));
    case 'queued':
    case 'in_progress':
      if (body.id == null || body.id === '')
        return trouble(
          ended(`${shown} took the prompt ("${body.status}") and gave no id to ask for the answer`),
        );
      return { ...all, kind: 'pending', id: body.id, raw };
    default:
      return trouble(ended(`${shown} ended the answer with a status that is not known: "${body.status}"`));
  }
}

/** A count that is only there where the server tells it. */
export const detail = <K extends string>(
  key: K,
  told: number | null | undefined,
): { [name in K]?: number } => (told == null ? {} : ({ [key]: told } as { [name in K]: number }));

export const tooLarge = (arrived: Arrived, request: Request): Exchange => ({
  ...arrived,
  kind: 'unusable',
  model: 'output',
  reason: `the answer is larger than ${request.maxAnswerBytes / 1024 / 1024} MiB`,
});
