/** The records of a tool loop's transcript as lines of a session. Pure. */
import * as z from 'zod';
import { type Usage, usageSchema } from '../../core/budget/usage.ts';
import type { AgentTask } from '../../core/contracts/agent.ts';
import type { Clock } from '../../core/contracts/clock.ts';
import { type Json, mostGivenLevels, parseJson } from '../../core/json.ts';
import { once } from '../../core/once.ts';
import type { SessionLine } from '../../core/records/session.ts';
import { jsonLine } from '../program/lines.ts';

const recordSchema = once(() =>
  z.discriminatedUnion('type', [
    z.looseObject({ type: z.literal('start'), at: z.string(), model: z.string() }),
    z.looseObject({
      type: z.literal('answer'),
      at: z.string(),
      turn: z.int().positive(),
      text: z.string(),
      reasoning: z.string(),
      calls: z.array(z.looseObject({ id: z.string(), name: z.string(), arguments: z.string() })),
      usage: usageSchema().nullable().catch(null),
      ms: z.number(),
      first_ms: z.number().nullish().catch(undefined),
    }),
    z.looseObject({
      type: z.literal('call'),
      at: z.string(),
      id: z.string(),
      ok: z.boolean(),
      ms: z.number(),
      result: z.string(),
    }),
    z.looseObject({
      type: z.literal('end'),
      at: z.string(),
      kind: z.string(),
      reason: z.string().optional(),
    }),
  ]),
);
type Answer = Extract<z.infer<ReturnType<typeof recordSchema>>, { type: 'answer' }>;

/** Answers each line of `openai.transcript.jsonl` with those of the session. */
export function loopSession(): (line: string) => readonly SessionLine[] {
  /** Calls of the last answer without a result: that of `finish` has none where it ends the work. */
  let open: readonly string[] = [];
  return (line) => {
    const record = jsonLine(line, recordSchema());
    if (record === undefined) return [];
    const { at } = record;
    switch (record.type) {
      case 'start':
        return [{ type: 'start', at, agent: 'openai', model: record.model }];
      case 'answer':
        open = record.calls.map(({ id }) => id);
        return answered(record);
      case 'call': {
        const { id, ok, ms, result: output } = record;
        open = open.filter((one) => one !== id);
        return [{ type: 'result', at, id, ok, ms, output }];
      }
      case 'end': {
        const { kind, reason } = record;
        const ended = kind === 'finished' ? open : [];
        return [
          ...ended.map((id): SessionLine => ({ type: 'result', at, id, ok: true })),
          ...(reason === undefined ? [] : [{ type: 'note', at, text: reason } as const]),
        ];
      }
    }
  };
}

function answered({ at, turn, text, reasoning, calls, usage, ms, first_ms }: Answer): readonly SessionLine[] {
  const asked = new Date(Date.parse(at) - ms);
  return [
    { type: 'turn', turn, at: Number.isNaN(asked.getTime()) ? at : asked.toISOString() },
    { type: 'reasoning', at, text: reasoning },
    { type: 'text', at, text },
    ...calls.map(({ id, name, arguments: given }): SessionLine => {
      const read: Json = asJson(given);
      return { type: 'call', at, id, name, arguments: read };
    }),
    { ...usageLine(usage, { ms, first_ms }), at, turn },
  ];
}

/** What a turn used, and how long it took. */
export const usageLine = (
  usage: Usage | null | undefined,
  took: { readonly ms: number; readonly first_ms?: number | null | undefined },
): Extract<SessionLine, { type: 'usage' }> => {
  const { agent: _, ...tokens } = usage ?? {};
  return { type: 'usage', ...tokens, ...took };
};

/** The arguments of a call as JSON; the text where it is not valid. */
export function asJson(text: string): Json {
  try {
    // What is parsed is JSON; its type cannot say so.
    return parseJson(text, mostGivenLevels) as Json;
  } catch {
    return text;
  }
}

/** The task with a watch on how long its model takes, in milliseconds: to the first text, and in all. */
export function timedTask(
  task: AgentTask,
  clock: Clock,
): { readonly task: AgentTask; took(): { readonly ms: number; readonly first_ms: number | null } } {
  const asked = clock.monotonic();
  const passed = () => Math.round(clock.monotonic() - asked);
  let first: number | undefined;
  return {
    task: {
      ...task,
      onText(text, channel) {
        first ??= passed();
        task.onText?.(text, channel);
      },
    },
    took: () => ({ ms: passed(), first_ms: first ?? null }),
  };
}

/** The session of one prompt and its answer: without their texts, which are artifacts. */
export const answerSessionName = 'openai.session.jsonl';

/** Runs `ask` as the one turn of a session, and keeps when it was asked, when its first token came, and what it used. */
export async function inOneTurn<T>(
  task: AgentTask,
  model: string,
  { clock, used }: { readonly clock: Clock; readonly used: () => Usage | undefined },
  ask: (task: AgentTask) => Promise<T>,
  textsIn: (got: T) => { readonly text: string; readonly reasoning: string } | undefined,
): Promise<T> {
  const at = () => clock.now().toISOString();
  const lines: SessionLine[] = [];
  const add = (line: SessionLine): void => {
    lines.push(line);
    task.session?.(line);
  };
  add({ type: 'start', at: at(), agent: 'openai', model });
  add({ type: 'turn', at: at() });
  const timed = timedTask(task, clock);
  const got = await ask(timed.task);
  const { text, reasoning } = textsIn(got) ?? { text: '', reasoning: '' };
  task.session?.({ type: 'reasoning', at: at(), text: reasoning });
  task.session?.({ type: 'text', at: at(), text });
  add({ ...usageLine(used(), timed.took()), at: at() });
  await task.keep(answerSessionName, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return got;
}
