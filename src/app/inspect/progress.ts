/** How far a run has come: with its work orders, and which execution began last. */
import * as z from 'zod';
import { isObject, type JsonObject, parseJson } from '../../core/json.ts';
import { once } from '../../core/once.ts';
import { buildStateIn } from '../../core/records/build.ts';
import { readSome } from '../../platform/files/read.ts';
import type { RunRow } from './run-row.ts';

/** Bytes of the end of a journal that are searched for its latest records. */
const searched = [128 * 1024, 4 * 1024 * 1024];

/** What the tools of a run keep, as the end of its journal has it last; undefined where it is not near the end. */
export const latestToolState = (journal: string): Promise<JsonObject | undefined> =>
  latestIn(journal, '"tool_state":{', ({ tool_state: state }) => (isObject(state) ? state : undefined));

const beganSchema = once(() =>
  z.object({
    type: z.literal('Began'),
    node: z.string(),
    node_type: z.string(),
    does: z.string().optional(),
  }),
);

/** The execution that began last, by the end of a journal. */
export const latestBegan = (journal: string): Promise<z.infer<ReturnType<typeof beganSchema>> | undefined> =>
  latestIn(journal, '"type":"Began"', (record) => beganSchema().safeParse(record).data);

/** What `pick` takes of the latest record with this piece of JSON. */
async function latestIn<T>(
  journal: string,
  piece: string,
  pick: (record: JsonObject) => T | undefined,
): Promise<T | undefined> {
  for (const bytes of searched) {
    const text = (await readSome(journal, bytes, 'tail')) ?? '';
    const lines = text.split('\n');
    // The first line may be a part of one.
    for (let at = lines.length - 1; at > (text.length < bytes ? -1 : 0); at--) {
      const line = lines[at] ?? '';
      const record = line.includes(piece) ? recordIn(line) : undefined;
      const picked = record && pick(record);
      if (picked !== undefined) return picked;
    }
    if (text.length < bytes) return undefined;
  }
  return undefined;
}

function recordIn(line: string): JsonObject | undefined {
  try {
    const record = parseJson(line);
    return isObject(record) ? record : undefined;
  } catch {
    return undefined;
  }
}

/** Work orders that are done, how many there are, and the current one; null before the first. */
export function progressIn(toolState: JsonObject | undefined): RunRow['progress'] {
  const build = buildStateIn(toolState);
  if (build === undefined) return null;
  const total = Object.keys(build.digests).length;
  return { done: Math.min(build.done.length, total), total, current: build.current?.id ?? null };
}
