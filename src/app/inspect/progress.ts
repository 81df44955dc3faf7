/** How far a run has come with its work orders. */
import { type JsonObject, parseJson } from '../../core/json.ts';
import { buildStateIn } from '../../core/records/build.ts';
import { readSome } from '../../platform/files/read.ts';
import type { RunRow } from './shapes.ts';

/** Bytes of the end of a journal that are searched for the latest state of the tools. */
const searched = [128 * 1024, 4 * 1024 * 1024];

/** What the tools of a run keep, as the end of its journal has it last; undefined where it is not near the end. */
export async function latestToolState(journal: string): Promise<JsonObject | undefined> {
  for (const bytes of searched) {
    const text = (await readSome(journal, bytes, 'tail')) ?? '';
    const lines = text.split('\n');
    // The first line may be a part of one.
    for (let at = lines.length - 1; at > (text.length < bytes ? -1 : 0); at--) {
      const state = toolStateIn(lines[at] ?? '');
      if (state !== undefined) return state;
    }
    if (text.length < bytes) return undefined;
  }
  return undefined;
}

function toolStateIn(line: string): JsonObject | undefined {
  if (!line.includes('"tool_state":{')) return undefined;
  try {
    const record = parseJson(line);
    const state =
      typeof record === 'object' && record !== null && 'tool_state' in record ? record.tool_state : undefined;
    return typeof state === 'object' && state !== null && !Array.isArray(state)
      ? (state as JsonObject)
      : undefined;
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
