/** What nodes print and their models answer, line by line, each behind the name of its node. */
import { join } from 'node:path';
import { outputsOf } from '../../app/inspect/execution.ts';
import type { RunEvent } from '../../core/events.ts';
import type { LiveText } from '../../core/records/live.ts';

export interface OutputPrinter {
  text(piece: LiveText): void;
  /** At the end of an execution: what was not printed while it ran. */
  event(event: RunEvent): Promise<void>;
}

type Channel = LiveText['channel'];
type Shown = {
  readonly node: string;
  readonly visit: number;
  /** What was printed, by channel, and its last line as long as it has no end. */
  readonly whole: Map<Channel, string>;
  readonly rest: Map<Channel, string>;
};

/** Characters of a channel that are kept, to know what was printed. */
const mostKept = 1 << 20;

/** Prints to `line`. `isWithheld`: texts of these nodes are not read from their files. */
export function outputPrinter(
  dir: string,
  line: (node: string, text: string) => void,
  isWithheld: (node: string) => boolean,
): OutputPrinter {
  /** By node: branches run at once. */
  const shown = new Map<string, Shown>();
  const print = (of: Shown, channel: Channel, text: string, isWhole = false): void => {
    const lines = `${of.rest.get(channel) ?? ''}${text}`.split(/\r?\n/);
    of.rest.set(channel, lines.pop() ?? '');
    for (const one of lines) line(of.node, one);
    if (isWhole) flush(of);
  };
  const flush = (of: Shown): void => {
    for (const left of of.rest.values()) if (left !== '') line(of.node, left);
    of.rest.clear();
  };
  const fresh = (node: string, visit: number): Shown => ({ node, visit, whole: new Map(), rest: new Map() });
  return {
    text({ node, visit, channel, text }) {
      // A piece that comes after the end was printed with it.
      const of = shown.get(node);
      if (of?.visit !== visit || channel === 'reasoning' || channel === 'session') return;
      of.whole.set(channel, `${of.whole.get(channel) ?? ''}${text}`.slice(-mostKept));
      print(of, channel, text);
    },
    async event(event) {
      if (event.type === 'StageStarted') shown.set(event.node_id, fresh(event.node_id, event.visit));
      if (event.type !== 'StageCompleted' && event.type !== 'StageFailed') return;
      const before = shown.get(event.node_id);
      const of = before?.visit === event.visit ? before : fresh(event.node_id, event.visit);
      shown.delete(event.node_id);
      flush(of);
      if (isWithheld(of.node)) return;
      for (const { name, text, from } of inOrder(await outputsOf(dir, of))) {
        const seen = of.whole.get(channelOf(name)) ?? '';
        const added = notIn(seen, text, from > 0);
        if (added === undefined) line(of.node, `… its whole output is in ${join(dir, of.node, name)}`);
        else print(of, channelOf(name), added, true);
      }
    },
  };
}

/** Program by program, standard output first. */
const inOrder = <T extends { readonly name: string }>(texts: readonly T[]): readonly T[] => {
  const key = ({ name }: T) => `${name.replace(/stdout|stderr/, '')} ${channelOf(name) === 'stderr' ? 1 : 0}`;
  return texts.toSorted((a, b) => key(a).localeCompare(key(b), 'en', { numeric: true }));
};

const channelOf = (name: string): Channel =>
  name.includes('stderr') ? 'stderr' : name.includes('stdout') ? 'stdout' : 'answer';

/** What of a text was not printed; undefined if that is unknown, as where only its end was read. */
function notIn(seen: string, text: string, isCut: boolean): string | undefined {
  if (seen.includes(text)) return '';
  if (isCut) return undefined;
  return text.startsWith(seen) ? text.slice(seen.length) : undefined;
}
