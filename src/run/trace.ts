/** Trace records hold the whole context while it is small, and periodically while it is large; the records between hold only
 *  the changes. This module restores the full form. */
import { isObject, type Json } from '../core/json.ts';

type TraceRecord = Readonly<Record<string, Json>>;

/** Answers with each record, given in order, with `context_before` or `context_after` in full. */
export function completeRecords(): (record: TraceRecord) => TraceRecord {
  let context: Record<string, Json> = {};
  return (record) => {
    if (record['type'] === 'NodeInputCaptured') {
      if (isObject(record['context_before'])) context = { ...record['context_before'] };
      return { ...record, context_before: { ...context } };
    }
    if (record['type'] === 'NodeOutputCaptured') {
      context = isObject(record['context_after'])
        ? { ...record['context_after'] }
        : applied(context, record['context_delta']);
      return { ...record, context_after: { ...context } };
    }
    if (record['type'] === 'ForkLoaded' && isObject(record['context'])) context = { ...record['context'] };
    return record;
  };
}

function applied(context: Readonly<Record<string, Json>>, delta: Json | undefined): Record<string, Json> {
  const next = { ...context };
  if (!isObject(delta)) return next;
  if (isObject(delta['added'])) Object.assign(next, delta['added']);
  if (isObject(delta['updated'])) {
    for (const [key, change] of Object.entries(delta['updated'])) {
      if (isObject(change) && change['after'] !== undefined) next[key] = change['after'];
    }
  }
  if (Array.isArray(delta['removed'])) for (const key of delta['removed']) delete next[String(key)];
  return next;
}
