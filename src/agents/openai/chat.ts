/** The same exchange over the chat completions API, which servers speak that do not know the Responses API. */
import * as z from 'zod';
import { ToldNumber } from '../../model/spent.ts';
import type { AgentTask } from '../agent.ts';
import { bytesOf, clientFor, patient, type Request, readLimit } from './client.ts';
import { type Arrived, detail, type Exchange, tooLarge } from './ending.ts';
import { eventsIn, TooLarge } from './events.ts';
import { cut, type Trouble, troubleOf, troubleOfFault } from './failure.ts';
import { patience, worded } from './patience.ts';
import { argumentsText, type FunctionCall, messagesOf } from './talk.ts';
import type { Watch } from './watch.ts';
import { Fault } from './wire.ts';

/** What was learned about the server. */
export type ChatWays = { noStream?: boolean };

/** Asks until there is an answer or no hope for one. `onWay` is told about each exchange that another one follows. */
export async function askChat(
  request: Request,
  watch: Watch,
  onText: AgentTask['onText'],
  ways: ChatWays,
  onWay: (passed: Exchange) => void,
): Promise<Exchange> {
  const tries = patience(request, watch);
  for (;;) {
    const got = await exchange(request, watch, onText, ways.noStream !== true);
    if (got.kind !== 'trouble' || watch.stopped !== undefined) return got;
    if (got.trouble.way === 'refused' && ways.noStream !== true) {
      ways.noStream = true;
      continue;
    }
    if (!(await tries.wait(got.trouble))) return worded(got, got.trouble, tries.tries);
    onWay(got);
  }
}

const Text = z.string().nullish().catch(undefined);
const Call = z.object({
  index: z.number().nullish().catch(undefined),
  id: Text,
  function: z
    .object({ name: Text, arguments: z.string().or(z.looseObject({})).nullish().catch(undefined) })
    .nullish(),
});
const Part = z.looseObject({ type: z.string(), text: Text });
/** A text, or as some servers tell the thoughts of a model from its words, parts of which only these count. */
const Content = z
  .array(Part)
  .transform((parts) => parts.map(({ type, text }) => (type === 'text' ? (text ?? '') : '')).join(''))
  .or(z.string())
  .nullish()
  .catch(undefined);
const Message = z.object({
  content: Content,
  refusal: Text,
  reasoning_content: Text,
  reasoning: Text,
  tool_calls: z.array(Call).nullish().catch(undefined),
});
const Choice = z.object({
  delta: Message.nullish(),
  message: Message.nullish(),
  finish_reason: Text,
});
const Count = ToldNumber.nullish().catch(undefined);
/** A whole answer, or a piece of a streamed one. */
const Chunk = z.object({
  model: Text,
  choices: z.array(Choice).nullish(),
  usage: z
    .object({
      prompt_tokens: Count,
      completion_tokens: Count,
      prompt_tokens_details: z.object({ cached_tokens: Count }).nullish().catch(undefined),
      completion_tokens_details: z.object({ reasoning_tokens: Count }).nullish().catch(undefined),
    })
    .nullish()
    .catch(undefined),
});
const Failed = z.object({ error: Fault.or(z.string().trim().min(1)) });

/** How far an answer is told: `ended` by a reason for its end, after which only its cost comes; `doubtful` where the server
 *  gives reasons while it speaks, so that nothing but the end of the stream is one. */
type Standing = 'open' | 'doubtful' | 'ended';

/** Pieces of an answer, put together. */
type Gathered = {
  text: string;
  refusal: string;
  reasoning: string;
  finish: string | undefined;
  standing: Standing;
  model: string | undefined;
  usage: NonNullable<z.infer<typeof Chunk>['usage']> | undefined;
  /** `mayEnd`: the last piece of the arguments ends as they do. */
  readonly calls: { id: string; name: string; arguments: string; mayEnd: boolean }[];
  size: number;
};

async function exchange(
  request: Request,
  watch: Watch,
  onText: AgentTask['onText'],
  stream: boolean,
): Promise<Exchange> {
  const openai = await import('openai');
  const { shown } = request;
  const ear = watch.listen(request.idleMs);
  const hangUp = new AbortController();
  let lull: ReturnType<Watch['listen']> | undefined;
  const gathered: Gathered = {
    text: '',
    refusal: '',
    reasoning: '',
    finish: undefined,
    standing: 'open',
    model: undefined,
    usage: undefined,
    calls: [],
    size: 0,
  };
  /** The calls that came last under a number, or without one under a name. */
  const latest = new Map<number | string, Gathered['calls'][number]>();
  const arrived = (): Arrived => ({ text: gathered.text, reasoning: gathered.reasoning.trim() });
  let isDone = false;
  const wholes: unknown[] = [];
  const told = {
    done: () => {
      isDone = true;
    },
    whole: (value: unknown) => void wholes.push(value),
  };
  const trouble = (it: Trouble): Exchange => {
    request.record?.({ kind: 'trouble', reason: it.report.reason, status: it.status ?? null });
    return { kind: 'trouble', trouble: it, ...arrived() };
  };
  try {
    const sent = bodyOf(request, stream);
    request.record?.({ kind: 'request', to: `${request.shown}/chat/completions`, body: sent });
    const signal = AbortSignal.any([watch.signal, hangUp.signal]);
    const response = await clientFor(request, openai)
      .chat.completions.create(sent, { signal, fetchOptions: patient() })
      .asResponse();
    ear.heard();
    const body = bytesOf(response, signal);
    if (body === undefined) return trouble(cut(`${shown} answered without a body`));
    for await (const event of eventsIn(body, ear.heard, readLimit(request), told)) {
      request.record?.({ kind: 'event', event });
      const fault = take(event);
      if (fault !== undefined) return fault;
      // Behind the last word comes what it has cost. Some servers then neither say that this is all nor go.
      if (gathered.standing === 'ended') lull ??= watch.listen(request.lullMs, () => hangUp.abort());
      else {
        lull?.end();
        lull = undefined;
      }
      lull?.heard();
    }
    for (const whole of wholes) {
      request.record?.({ kind: 'response', body: whole });
      const fault = take(whole);
      if (fault !== undefined) return fault;
    }
    if (gathered.finish === undefined || (gathered.standing === 'open' && !isDone))
      return trouble(cut(`the answer from ${shown} ended before it was whole`));
    return endOf(gathered, request);
  } catch (error) {
    if (error instanceof TooLarge) return tooLarge(arrived(), request);
    // What was whole before the connection broke is not asked, and paid, for again.
    if (gathered.standing === 'ended') return endOf(gathered, request);
    return trouble(troubleOf(error, openai, request));
  } finally {
    ear.end();
    lull?.end();
  }

  /** The end, when this event is a fault. */
  function take(event: unknown): Exchange | undefined {
    const failed = Failed.safeParse(event);
    if (failed.success) {
      const { error } = failed.data;
      return trouble(troubleOfFault(typeof error === 'string' ? { message: error } : error, request));
    }
    const chunk = Chunk.safeParse(event);
    if (!chunk.success) return undefined;
    const { model, usage, choices } = chunk.data;
    gathered.model = model ?? gathered.model;
    gathered.usage = usage ?? gathered.usage;
    const choice = choices?.[0];
    const piece = choice?.delta ?? choice?.message;
    // Some servers have an empty reason in every piece but the last.
    const finish = choice?.finish_reason || (choice?.message == null ? undefined : 'stop');
    gathered.finish = finish ?? gathered.finish;
    const before = gathered.calls.length + gathered.size;
    if (piece != null) add(piece);
    const says = gathered.calls.length + gathered.size > before;
    // What it has cost is told of the whole answer.
    const told = choice === undefined && usage != null && gathered.finish !== undefined;
    gathered.standing = told ? 'ended' : standingAfter(gathered, finish, says);
    return undefined;
  }

  function add(piece: z.infer<typeof Message>): void {
    const { content, refusal, tool_calls } = piece;
    const thought = piece.reasoning_content ?? piece.reasoning ?? '';
    grow((content ?? '') + (refusal ?? '') + thought);
    gathered.text += content ?? '';
    gathered.refusal += refusal ?? '';
    gathered.reasoning += thought;
    for (const call of tool_calls ?? []) addCall(call);
    if (thought !== '') tell(thought, 'reasoning');
    if (content != null && content !== '') tell(content, 'answer');
  }

  function addCall(piece: z.infer<typeof Call>): void {
    const { calls } = gathered;
    const index = piece.index ?? undefined;
    const id = piece.id ?? '';
    const name = piece.function?.name ?? '';
    const args = piece.function?.arguments;
    const text = args == null ? '' : argumentsText(args);
    grow(text);
    const key = index ?? id;
    const same = key === '' ? undefined : latest.get(key);
    // Some servers send calls whole and number all of them 0, give all of them one id, or none at all.
    const others = id !== '' && same?.id !== '' && same?.id !== id;
    const after = (id === '' || index === undefined) && text !== '' && same !== undefined && isWhole(same);
    const another = name !== '' && (others || after);
    const known = another ? undefined : (same ?? (id === '' && name === '' ? calls.at(-1) : undefined));
    if (known === undefined) {
      const call = { id, name, arguments: text, mayEnd: text.trimEnd().endsWith('}') };
      calls.push(call);
      if (key !== '') latest.set(key, call);
      return;
    }
    known.id ||= id;
    known.name ||= name;
    known.arguments += text;
    if (text !== '') known.mayEnd = text.trimEnd().endsWith('}');
  }

  function grow(text: string): void {
    gathered.size += Buffer.byteLength(text);
    if (gathered.size > request.maxAnswerBytes) throw new TooLarge();
  }

  function tell(piece: string, channel: 'answer' | 'reasoning'): void {
    try {
      onText?.(piece, channel);
    } catch {
      // A view that cannot show the text is no reason to lose it.
    }
  }
}

/** How far an answer is told after a piece that `says` something of it or nothing, and may name the `finish`. Some servers
 *  name one in every piece: what follows a finish shows that it was early, and one before anything was said is no end
 *  unless it tells why. */
function standingAfter(gathered: Gathered, finish: string | undefined, says: boolean): Standing {
  const { standing, text, refusal, calls } = gathered;
  if (finish === undefined) return says ? 'open' : standing;
  if (standing !== 'open') return says ? 'doubtful' : standing;
  const isEmpty = text.trim() === '' && refusal === '' && calls.length === 0;
  return isEmpty && finish !== 'length' && finish !== 'content_filter' ? 'doubtful' : 'ended';
}

/** Whether these are arguments that nothing can follow. */
function isWhole({ mayEnd, arguments: args }: Gathered['calls'][number]): boolean {
  if (!mayEnd) return false;
  try {
    JSON.parse(args);
    return true;
  } catch {
    return false;
  }
}

/** How many tokens an answer may have is left to the server, which knows its model's room, unless there is a cap. */
function bodyOf(request: Request, stream: boolean) {
  const { model, effort, schema, prompt, talk } = request;
  const said = talk ?? { instructions: '', turns: [], tools: [], plain: true };
  return {
    model,
    // Spelled as the package wants them, which types them one by one.
    messages: messagesOf(prompt, said) as { role: 'user'; content: string }[],
    stream,
    ...(request.capped === true ? { max_tokens: request.budget } : {}),
    ...(stream ? { stream_options: { include_usage: true } } : {}),
    ...(effort === undefined ? {} : { reasoning_effort: effort as 'medium' }),
    ...(said.tools.length === 0
      ? {}
      : { tools: said.tools.map((tool) => ({ type: 'function' as const, function: { ...tool } })) }),
    ...(schema === undefined
      ? {}
      : {
          response_format: {
            type: 'json_schema' as const,
            json_schema: { name: schema.name, schema: { ...schema.schema }, strict: false },
          },
        }),
  };
}

function endOf(gathered: Gathered, request: Request): Exchange {
  const { model } = request;
  const { usage } = gathered;
  const calls: FunctionCall[] = gathered.calls.map(({ id, name, arguments: args }, n) => ({
    id: id === '' ? `call_${request.talk?.turns.length ?? 0}_${n}` : id,
    name,
    arguments: args.trim() === '' ? '{}' : args,
  }));
  const all: Arrived = {
    text: gathered.text,
    reasoning: gathered.reasoning.trim(),
    ...(usage === undefined
      ? {}
      : {
          usage: {
            model: gathered.model || model,
            input_tokens: usage.prompt_tokens ?? null,
            output_tokens: usage.completion_tokens ?? null,
            ...detail('cached_input_tokens', usage.prompt_tokens_details?.cached_tokens),
            ...detail('reasoning_tokens', usage.completion_tokens_details?.reasoning_tokens),
            cost_usd: null,
          },
        }),
    calls,
  };
  const raw = { finish_reason: gathered.finish, content: gathered.text, refusal: gathered.refusal, calls };
  const unusable = (what: 'no_text_attempt' | 'incomplete_attempt', reason: string): Exchange => ({
    ...all,
    kind: 'unusable',
    reason,
    model: 'api',
    evidence: { what, raw },
  });
  switch (gathered.finish) {
    case 'length':
      return unusable(
        'incomplete_attempt',
        `the answer of "${model}" does not fit into the tokens that its server gives it`,
      );
    case 'content_filter':
      return unusable('incomplete_attempt', `the answer of "${model}" is incomplete: content_filter`);
    default:
      if (gathered.refusal !== '')
        return unusable('no_text_attempt', `"${model}" refused: ${gathered.refusal.slice(0, 500)}`);
      if (gathered.text.trim() === '' && (request.talk?.tools.length ?? 0) === 0)
        return unusable(
          'no_text_attempt',
          `"${model}" answered nothing: the answer is completed and has no text`,
        );
      return { ...all, kind: 'answer' };
  }
}
