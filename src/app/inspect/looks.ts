/** Looks at a run again and again: what is new since the last look, and what was seen until then once more. */
import { statSync } from 'node:fs';
import type { JsonObject } from '../../core/json.ts';
import { layout } from '../../core/records/layout.ts';
import type { LiveText } from '../../core/records/live.ts';
import { beginning, type JournalEntry, type JournalPosition } from '../../run/journal-read.ts';
import { liveTextReader, type ReadText } from '../../run/live-texts.ts';
import type { RunReader } from '../../run/open-run.ts';

export type RunItem =
  /** A record of `events.jsonl`, unchecked; `runEventSchema` (core/events.ts) types those of this version. */
  | { readonly kind: 'event'; readonly record: JsonObject; readonly seq: number }
  /** A piece of what a running execution prints or says. `begins`: it is the first piece of that execution, or of the
   *  newest part of a very long output; what was shown of the execution before is replaced. */
  | { readonly kind: 'text'; readonly text: LiveText; readonly begins: boolean }
  /** A damaged line of `events.jsonl`. */
  | { readonly kind: 'unreadable'; readonly line: number };

/** All that was seen of a run up to a look. */
export type EarlierItems = {
  /** It again, the events with a greater `seq` than `after` and the texts of running executions, in the order of their times; a
   *  part of the files is in memory at a time. Answers false if a file was replaced meanwhile: the rest of it is left out. */
  again(after: number): AsyncGenerator<RunItem, boolean>;
};

export interface RunLooks {
  /** What is new, in the order of its times. */
  look(): Promise<readonly RunItem[]>;
  /** Whether the last look has left events out, because there are too many for one. */
  isCut(): boolean;
  /** Whether the last event says that the run ends. */
  ends(): boolean;
  /** What was seen until now. */
  soFar(): EarlierItems;
  close(): void;
}

export type LookOptions = {
  /** See only events with a greater `seq`. */
  readonly after?: number;
  /** Where to begin to read; the beginning of the file without it. */
  readonly from?: JournalPosition | undefined;
  /** See live texts too. */
  readonly texts?: boolean;
};

/** Events in memory at once: of a look, and of what is seen again. */
const mostEvents = 1000;
const mostAgain = 100;

export function openLooks(run: RunReader, options: LookOptions): RunLooks {
  const texts = options.texts === true ? liveTextReader(run.dir) : undefined;
  const events = new EventReader(run, options);
  let isCut = false;
  return {
    async look() {
      const fresh = [...(await events.read())];
      isCut = fresh.length >= mostEvents;
      if (texts === undefined || isCut) return fresh.map(({ item }) => item);
      const printed = [...texts.read()];
      // The start of their execution is among the events that are there now. The rest of a file that is replaced meanwhile
      // belongs to an execution whose end is among them.
      fresh.push(...(await events.read()));
      isCut = fresh.length >= mostEvents;
      if (fresh.length > 0) printed.push(...texts.read(false));
      return merged(fresh, printed.map(timedText));
    },
    isCut: () => isCut,
    ends: () => ends.test(events.lastType),
    soFar() {
      const { cursor, file } = events;
      const printed = texts?.again() ?? noTexts;
      const isThere = () => events.file === file && events.found() === file;
      return { again: (after) => seenAgain({ events, to: cursor.offset, isThere, texts: printed() }, after) };
    },
    close: () => texts?.close(),
  };
}

const ends = /^Pipeline(?:Completed|Overridden|Failed|Interrupted|Parked)$/;

function* noTexts(): Generator<ReadText, boolean> {
  yield* [];
  return true;
}

type Timed = { readonly at: string; readonly item: RunItem };

const timedText = ({ text, begins }: ReadText): Timed => ({
  at: text.at,
  item: { kind: 'text', text, begins },
});

/** Both in their own order, and each text before the first event that is later. */
function merged(events: readonly Timed[], texts: readonly Timed[]): readonly RunItem[] {
  const all: RunItem[] = [];
  let next = 0;
  for (const event of events) {
    for (let text = texts[next]; text !== undefined && text.at < event.at; text = texts[next]) {
      all.push(text.item);
      next += 1;
    }
    all.push(event.item);
  }
  return [...all, ...texts.slice(next).map(({ item }) => item)];
}

type Again = {
  readonly events: EventReader;
  /** The byte of their file at which they end. */
  readonly to: number;
  /** Whether it is still the same file. */
  readonly isThere: () => boolean;
  readonly texts: Generator<ReadText, boolean>;
};

/** The same of what was read before. No file stays open while what is yielded is not taken. */
async function* seenAgain(
  { events, to, isThere, texts }: Again,
  after: number,
): AsyncGenerator<RunItem, boolean> {
  let text = texts.next();
  for (let from: JournalPosition | undefined = events.before(after); from !== undefined; ) {
    const part: EventPart = await events.part(from, to, after);
    if (!isThere()) return false;
    for (const event of part.events) {
      for (; text.done !== true && text.value.text.at < event.at; text = texts.next())
        yield timedText(text.value).item;
      yield event.item;
    }
    from = part.next;
  }
  for (; text.done !== true; text = texts.next()) yield timedText(text.value).item;
  return text.value;
}

/** Events after which a place in the file is noted. */
const markEvery = 500;

/** A part of the file: what was read, and where to continue; undefined at the end. */
type EventPart = { readonly events: readonly Timed[]; readonly next: JournalPosition | undefined };

/** Reads on in `events.jsonl` at each call, and knows from where on a part of it can be read again. A file in the place of the
 *  one that was read is read from its beginning: the events that are later than all before. */
class EventReader {
  readonly #run: RunReader;
  readonly #from: JournalPosition;
  #after: number;
  #marks: { readonly most: number; readonly cursor: JournalPosition }[] = [];
  #unmarked = 0;
  /** The greatest `seq` so far; not a number once an event had none. */
  #most = 0;
  /** Of the file that is read; undefined before there is one. */
  file: number | undefined;
  cursor: JournalPosition;
  lastType = '';

  constructor(run: RunReader, { from = beginning, after = Number.NEGATIVE_INFINITY }: LookOptions) {
    this.#run = run;
    this.#from = from;
    this.#after = after;
    this.cursor = from;
  }

  async read(): Promise<readonly Timed[]> {
    this.#noticeOther();
    const found: Timed[] = [];
    for await (const entry of this.#run.view('events', this.cursor)) {
      this.cursor = entry.cursor;
      if (entry.kind === 'record') this.#note(entry.record);
      const event = timedEvent(entry, this.#after);
      if (event !== undefined) found.push(event);
      if (found.length >= mostEvents) break;
    }
    return found;
  }

  /** The file that is there now. */
  found(): number | undefined {
    return statSync(layout(this.#run.dir).events, { throwIfNoEntry: false })?.ino;
  }

  /** Where to begin to read the events with a greater `seq` than `after`. */
  before(after: number): JournalPosition {
    return this.#marks.findLast(({ most }) => most <= after)?.cursor ?? this.#from;
  }

  /** The next events up to byte `to` with a greater `seq` than `after`. */
  async part(from: JournalPosition, to: number, after: number): Promise<EventPart> {
    const found: Timed[] = [];
    for await (const entry of this.#run.view('events', from)) {
      if (entry.cursor.offset > to) break;
      const event = timedEvent(entry, after);
      if (event !== undefined) found.push(event);
      if (found.length >= mostAgain) return { events: found, next: entry.cursor };
    }
    return { events: found, next: undefined };
  }

  #note(record: JsonObject): void {
    this.lastType = String(record['type']);
    this.#most = Math.max(this.#most, Number(record['seq']));
    this.#unmarked += 1;
    if (this.#unmarked < markEvery) return;
    this.#unmarked = 0;
    this.#marks.push({ most: this.#most, cursor: this.cursor });
  }

  #noticeOther(): void {
    const is = statSync(layout(this.#run.dir).events, { throwIfNoEntry: false });
    const isOther = this.file !== undefined && is?.ino !== this.file;
    if (is !== undefined) this.file = is.ino;
    if (!isOther && (is === undefined || is.size >= this.cursor.offset)) return;
    this.#after = Math.max(this.#after, this.#most || 0);
    this.#marks = [];
    this.#unmarked = 0;
    this.cursor = beginning;
  }
}

function timedEvent(entry: JournalEntry, after: number): Timed | undefined {
  if (entry.kind === 'unreadable') return { at: '', item: { kind: 'unreadable', line: entry.cursor.line } };
  const { record } = entry;
  const seq = Number(record['seq']);
  return seq <= after ? undefined : { at: String(record['at']), item: { kind: 'event', record, seq } };
}
