/** Trace records hold the whole context while it is small, and periodically while it is large; the records between hold only
 *  the changes. This module restores the full form. */
import type { Json } from '../core/json.ts';

type TraceRecord = Readonly<Record<string, Json>>;
const isRecord = (value: Json | undefined): value is Readonly<Record<string, Json>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Records in order, each with `context_before` or `context_after` in full. */
export function* fullTrace(records: Iterable<TraceRecord>): Generator<TraceRecord> {
  const inWhole = completeRecords();
  for (const record of records) yield inWhole(record);
}

/** The same for one record at a time, for traces that do not fit into memory. */
export function completeRecords(): (record: TraceRecord) => TraceRecord {
  let context: Record<string, Json> = {};
  return (record) => {
    if (record['type'] === 'NodeInputCaptured') {
      if (isRecord(record['context_before'])) context = { ...record['context_before'] };
      return { ...record, context_before: { ...context } };
    }
    if (record['type'] === 'NodeOutputCaptured') {
      context = isRecord(record['context_after'])
        ? { ...record['context_after'] }
        : applied(context, record['context_delta']);
      return { ...record, context_after: { ...context } };
    }
    if (record['type'] === 'ForkLoaded' && isRecord(record['context'])) context = { ...record['context'] };
    return record;
  };
}

function applied(context: Readonly<Record<string, Json>>, delta: Json | undefined): Record<string, Json> {
  const next = { ...context };
  if (!isRecord(delta)) return next;
  if (isRecord(delta['added'])) Object.assign(next, delta['added']);
  if (isRecord(delta['updated'])) {
    for (const [key, change] of Object.entries(delta['updated'])) {
      if (isRecord(change) && change['after'] !== undefined) next[key] = change['after'];
    }
  }
  if (Array.isArray(delta['removed'])) for (const key of delta['removed']) delete next[String(key)];
  return next;
}
