/** Observers of a running run: the live view, the log, a program that asked for events. */
import type { Usage } from '../budget/usage.ts';
import type { RunEvent } from '../events.ts';
import type { Json } from '../json.ts';
import type { SessionLine } from '../records/session.ts';

export interface Watcher {
  /** Before the first event. */
  opened?(run: { readonly dir: string; readonly title: string }): void;
  /** After the record is in `events.jsonl`. */
  event(event: RunEvent): void;
  /** A piece of an answer as it streams in; already masked. */
  streamed(node: string, text: string, channel: 'answer' | 'reasoning'): void;
  /** What a program of a tool or a verification has printed since the last call, while it runs; already masked. Called a few
   *  times a second, and not for a program that ends sooner: its artifacts have everything. */
  output(node: string, text: string, channel: 'stdout' | 'stderr'): void;
  /** A step of an agent's session as it comes; already masked. */
  session?(node: string, line: SessionLine): void;
  spent(node: string, usage: Usage): void;
}

export type Log = (
  level: 'debug' | 'info' | 'warn' | 'error',
  message: string,
  fields?: Readonly<Record<string, Json>>,
) => void;
