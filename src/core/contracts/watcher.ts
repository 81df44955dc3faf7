/** Observers of a running run: the live view, the log, a program that asked for events. */
import type { Usage } from '../budget/usage.ts';
import type { RunEvent } from '../events.ts';
import type { Json } from '../json.ts';

export interface Watcher {
  /** After the record is in `events.jsonl`. */
  event(event: RunEvent): void;
  /** A piece of an answer as it streams in; already masked. */
  streamed(node: string, text: string, channel: 'answer' | 'reasoning'): void;
  spent(node: string, usage: Usage): void;
}

export type Log = (
  level: 'debug' | 'info' | 'warn' | 'error',
  message: string,
  fields?: Readonly<Record<string, Json>>,
) => void;
