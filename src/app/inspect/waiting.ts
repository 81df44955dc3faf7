/** What a running node waits for: the next try of a model call or of the whole node. */
import * as z from 'zod';
import { localSeconds } from '../../core/amounts.ts';
import { parseJson } from '../../core/json.ts';
import { once } from '../../core/once.ts';
import { waitCauses, waitWords } from '../../core/outcome.ts';
import { readSome } from '../../platform/files/read.ts';

/** Bytes of the end of `events.jsonl` that hold its last line. */
const searched = 64 * 1024;

const waitSchema = once(() =>
  z.object({
    type: z.enum(['CallRetrying', 'StageRetrying']),
    at: z.iso.datetime(),
    attempt: z.int(),
    cause: z.enum(waitCauses).default('retry'),
    delay_ms: z.number(),
  }),
);

/** A wait in words, and its end in milliseconds since 1970. */
type NodeWait = { readonly words: string; readonly until: number };

/** The wait that the last event of the run begins, if it is not over at `now`; else undefined. */
export async function waitingFor(events: string, now: Date): Promise<NodeWait | undefined> {
  const text = (await readSome(events, searched, 'tail')) ?? '';
  const end = text.lastIndexOf('\n');
  const wait = waitSchema().safeParse(
    lineIn(text.slice(text.lastIndexOf('\n', end - 1) + 1, Math.max(0, end))),
  );
  if (!wait.success) return undefined;
  const { at, cause, attempt, delay_ms } = wait.data;
  const until = new Date(Date.parse(at) + delay_ms);
  return until > now
    ? { words: waitWords(cause, attempt, localSeconds(until)), until: until.getTime() }
    : undefined;
}

function lineIn(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
