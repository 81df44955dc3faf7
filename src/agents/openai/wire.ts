/** The part of the Responses API that is read: lax about everything else, since servers that speak it differ. */
import * as z from 'zod';

const Text = z.string().nullish();

const Fault = z.object({ code: Text, type: Text, message: Text });

const Part = z.object({ type: z.string(), text: Text, refusal: Text });
const Message = z.object({ type: z.literal('message'), phase: Text, content: z.array(Part.or(z.unknown())) });

const Body = z.object({
  status: z.string().optional(),
  model: Text.catch(undefined),
  output_text: Text.catch(undefined),
  output: z.array(z.unknown()).nullish().catch(undefined),
  usage: z
    .object({ input_tokens: z.number().nullish(), output_tokens: z.number().nullish() })
    .nullish()
    .catch(undefined),
  error: Fault.nullish().catch(undefined),
  incomplete_details: z.object({ reason: Text }).nullish().catch(undefined),
});
export type Body = z.infer<typeof Body>;
export type Fault = z.infer<typeof Fault>;

/** What an event means to us. */
export type Heard =
  | { readonly kind: 'text' | 'reasoning'; readonly text: string }
  | { readonly kind: 'end'; readonly body: Body }
  | { readonly kind: 'fault'; readonly fault: Fault };

const Delta = z.object({
  type: z.enum([
    'response.output_text.delta',
    'response.reasoning_summary_text.delta',
    'response.reasoning_text.delta',
  ]),
  delta: z.string(),
});
const End = z.object({
  type: z.enum(['response.completed', 'response.incomplete', 'response.failed', 'response.cancelled']),
  response: Body,
});
/** An error in a stream comes bare or wrapped. */
const ErrorEvent = z.object({ type: z.literal('error') }).and(Fault);
const Wrapped = z.object({ error: Fault });

/** Reads one event of a stream; undefined for all that need not be heard. */
export function hear(event: unknown): Heard | undefined {
  const delta = Delta.safeParse(event);
  if (delta.success) {
    return {
      kind: delta.data.type === 'response.output_text.delta' ? 'text' : 'reasoning',
      text: delta.data.delta,
    };
  }
  const end = End.safeParse(event);
  if (end.success) {
    const named = end.data.type.slice('response.'.length);
    return { kind: 'end', body: { ...end.data.response, status: end.data.response.status ?? named } };
  }
  const wrapped = Wrapped.safeParse(event);
  if (wrapped.success) return { kind: 'fault', fault: wrapped.data.error };
  const bare = ErrorEvent.safeParse(event);
  return bare.success ? { kind: 'fault', fault: bare.data } : undefined;
}

/** Reads an answer that came whole, as servers give it that do not stream. */
export function hearWhole(value: unknown): Heard | undefined {
  const body = Body.extend({ status: z.string() }).safeParse(value);
  return body.success ? { kind: 'end', body: body.data } : hear(value);
}

/** The answer's own text and refusals. Where a model thinks aloud in messages of its own, only those marked as the
 *  final answer count. */
export function saidIn(body: Body): { readonly text: string; readonly refusal: string } {
  const messages = (body.output ?? []).flatMap((item) => {
    const read = Message.safeParse(item);
    return read.success ? [read.data] : [];
  });
  const final = messages.filter((message) => message.phase === 'final_answer');
  const parts = (final.length > 0 ? final : messages)
    .flatMap((message) => message.content)
    .flatMap((part) => {
      const read = Part.safeParse(part);
      return read.success ? [read.data] : [];
    });
  const text = parts.map((part) => (part.type === 'output_text' ? (part.text ?? '') : '')).join('');
  const refusal = parts.map((part) => (part.type === 'refusal' ? (part.refusal ?? '') : '')).join('');
  return { text: text.trim() === '' ? (body.output_text ?? text) : text, refusal };
}
