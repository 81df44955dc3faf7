/** The conversation of a thread: earlier turns as the run keeps them, and those of this task. */
import * as z from 'zod';
import type { AgentReport, AgentTask } from '../../core/contracts/agent.ts';
import { lostThread } from '../../core/fidelity.ts';
import { jsonIn } from '../../core/json.ts';
import { once } from '../../core/once.ts';
import type { Request, Turn } from './request.ts';

/** Bytes of a conversation that is continued, about 100,000 tokens: models with a context of 128,000 have room for the task, its
 *  tools' results and an answer. */
const mostKept = 400_000;

const callSchema = once(() => z.object({ id: z.string(), name: z.string(), arguments: z.string() }));
const sessionSchema = once(() =>
  z.object({
    format: z.literal('openai-thread/1'),
    turns: z.array(
      z.discriminatedUnion('by', [
        z.object({ by: z.literal('model'), text: z.string(), calls: z.array(callSchema()) }),
        z.object({ by: z.literal('tool'), call: callSchema(), text: z.string() }),
        z.object({ by: z.literal('user'), text: z.string() }),
      ]),
    ),
  }),
);

type Earlier = { readonly turns: readonly Turn[] } | { readonly report: AgentReport };

/** What was said before this task; the report of a conversation that cannot be continued. */
export function earlierTurns({ thread }: Pick<AgentTask, 'thread'>): Earlier {
  const { before } = thread ?? {};
  if (before === undefined) return { turns: [] };
  const size = Buffer.byteLength(before);
  if (size > mostKept)
    return { report: lostThread(`it has ${size} bytes, and at most ${mostKept} are sent again`) };
  const read = sessionSchema().safeParse(jsonIn(before));
  if (!read.success)
    return { report: lostThread('what the run kept of it is no conversation of this agent') };
  return { turns: read.data.turns.map((turn) => (turn.by === 'model' ? { ...turn, items: [] } : turn)) };
}

/** The report where the server refuses the first request since the conversation is too long. */
export const lostByLength = (
  { tooLong }: { readonly tooLong?: true },
  { earlier, model }: Pick<Request, 'earlier' | 'model'>,
): AgentReport | undefined =>
  tooLong === true && earlier !== undefined
    ? lostThread(`it is longer than the context of "${model}"`)
    : undefined;

/** Keeps the conversation: texts, calls and results. Reasoning is of use only within a task, and to the same model. */
export function keepTurns(
  { thread, prompt }: Pick<AgentTask, 'thread' | 'prompt'>,
  earlier: readonly Turn[],
  since: readonly Turn[],
  mask: (text: string) => string,
): void {
  if (thread === undefined) return;
  const turns = [...earlier, { by: 'user' as const, text: prompt }, ...since].map((turn) =>
    turn.by === 'model' ? { by: turn.by, text: turn.text, calls: turn.calls } : turn,
  );
  thread.keep(mask(JSON.stringify({ format: 'openai-thread/1', turns })));
}
