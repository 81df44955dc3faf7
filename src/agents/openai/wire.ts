/** The part of the Responses API that is read: lax about everything else, since servers that speak it differ. */
import * as z from 'zod';
import { ToldNumber } from '../../model/spent.ts';

const Text = z.string().nullish();

const Said = Text.catch(undefined);
/** Routers in front of several providers have an HTTP status for a code. */
const Code = z
  .union([z.string(), z.number().transform(String)])
  .nullish()
  .catch(undefined);
export const Fault = z.object({ code: Code, type: Said, message: Said });

const Part = z.object({ type: z.string(), text: Text, refusal: Text });
const Parts = z.array(Part.or(z.unknown()));
const Message = z.object({ type: z.literal('message'), phase: Text, content: Parts });
const Reasoning = z.object({
  type: z.literal('reasoning'),
  summary: Parts.nullish().catch(undefined),
  content: Parts.nullish().catch(undefined),
});

const Count = ToldNumber.nullish().catch(undefined);

const Body = z.object({
  id: Text.catch(undefined),
  status: z.string().optional(),
  model: Text.catch(undefined),
  output_text: Text.catch(undefined),
  output: z.array(z.unknown()).nullish().catch(undefined),
  usage: z
    .object({
      input_tokens: Count,
      output_tokens: Count,
      input_tokens_details: z.object({ cached_tokens: Count }).nullish().catch(undefined),
      output_tokens_details: z.object({ reasoning_tokens: Count }).nullish().catch(undefined),
    })
    .nullish()
    .catch(undefined),
  error: Fault.nullish().catch(undefined),
  incomplete_details: z.object({ reason: Text }).nullish().catch(undefined),
});
export type Body = z.infer<typeof Body>;
export type Fault = z.infer<typeof Fault>;

/** What an event means to us. `raw` is the response as the server sent it. */
export type Heard =
  | { readonly kind: 'text' | 'reasoning'; readonly text: string }
  /** A part of the answer is whole: a message, a function call, a train of thought. */
  | { readonly kind: 'item'; readonly item: unknown }
  /** A paragraph of the reasoning is over. */
  | { readonly kind: 'paragraph' }
  | { readonly kind: 'end'; readonly body: Body; readonly raw: unknown }
  | { readonly kind: 'fault'; readonly fault: Fault };

const Delta = z.object({
  type: z.enum([
    'response.output_text.delta',
    'response.reasoning_summary_text.delta',
    'response.reasoning_text.delta',
  ]),
  delta: z.string(),
});
const Paragraph = z.object({
  type: z.enum([
    'response.reasoning_summary_text.done',
    'response.reasoning_summary_part.done',
    'response.reasoning_text.done',
  ]),
});
const Item = z.object({ type: z.literal('response.output_item.done'), item: z.unknown() });
const End = z.object({
  type: z.enum(['response.completed', 'response.incomplete', 'response.failed', 'response.cancelled']),
  response: Body,
});
const Raw = z.object({ response: z.unknown() });
/** An error in a stream comes bare or wrapped, and from some servers as mere words. */
const ErrorEvent = z.object({ type: z.literal('error') }).and(Fault);
const Wrapped = z.object({
  error: Fault.or(
    z
      .string()
      .trim()
      .min(1)
      .transform((message) => ({ code: undefined, type: undefined, message })),
  ),
});

/** Reads one event of a stream; undefined for all that need not be heard. */
export function hear(event: unknown): Heard | undefined {
  const delta = Delta.safeParse(event);
  if (delta.success) {
    return {
      kind: delta.data.type === 'response.output_text.delta' ? 'text' : 'reasoning',
      text: delta.data.delta,
    };
  }
  if (Paragraph.safeParse(event).success) return { kind: 'paragraph' };
  const item = Item.safeParse(event);
  if (item.success) return { kind: 'item', item: item.data.item };
  const end = End.safeParse(event);
  if (end.success) {
    const named = end.data.type.slice('response.'.length);
    return {
      kind: 'end',
      body: { ...end.data.response, status: end.data.response.status ?? named },
      raw: Raw.parse(event).response,
    };
  }
  const wrapped = Wrapped.safeParse(event);
  if (wrapped.success) return { kind: 'fault', fault: wrapped.data.error };
  const bare = ErrorEvent.safeParse(event);
  return bare.success ? { kind: 'fault', fault: bare.data } : undefined;
}

/** Reads an answer that came whole: from the background, or from a server that does not stream. */
export function hearWhole(value: unknown): Heard | undefined {
  const body = Body.extend({ status: z.string() }).safeParse(value);
  return body.success ? { kind: 'end', body: body.data, raw: value } : hear(value);
}

/** The answer's own text and refusals. Where a model thinks aloud in messages of its own, only those marked as the
 *  final answer count; else what the server itself calls the text, where it does. */
export function saidIn(body: Body): { readonly text: string; readonly refusal: string } {
  const messages = itemsOf(Message, body.output);
  const final = messages.filter((message) => message.phase === 'final_answer');
  const parts = (final.length > 0 ? final : messages).flatMap((message) => itemsOf(Part, message.content));
  const text = parts.map((part) => (part.type === 'output_text' ? (part.text ?? '') : '')).join('');
  const refusal = parts.map((part) => (part.type === 'refusal' ? (part.refusal ?? '') : '')).join('');
  const named = body.output_text ?? '';
  const wins = named.trim() !== '' && (final.length === 0 || text.trim() === '');
  return { text: wins ? named : text, refusal };
}

/** What the model tells of its reasoning, a blank line between the paragraphs: the summary, or where a server gives
 *  none the reasoning itself. */
export function thoughtIn(body: Body): string {
  return itemsOf(Reasoning, body.output)
    .flatMap(({ summary, content }) => {
      const told = paragraphsOf(summary, 'summary_text');
      return told.length > 0 ? told : paragraphsOf(content, 'reasoning_text');
    })
    .join('\n\n');
}

const paragraphsOf = (parts: readonly unknown[] | null | undefined, wanted: string): string[] =>
  itemsOf(Part, parts).flatMap(({ type, text }) =>
    type !== wanted || text == null || text.trim() === '' ? [] : [text.trim()],
  );

/** Those of the items that are of a kind. */
function itemsOf<T>(kind: z.ZodType<T>, items: readonly unknown[] | null | undefined): T[] {
  return (items ?? []).flatMap((item) => {
    const read = kind.safeParse(item);
    return read.success ? [read.data] : [];
  });
}
