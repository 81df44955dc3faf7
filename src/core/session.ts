/** The turns and calls of an agent's session, from its lines. Pure. */
import type { Usage } from './budget/usage.ts';
import { isObject, type Json } from './json.ts';
import type { SessionLine } from './records/session.ts';

/** A call that has no result yet is `running`; one that never got one `none`. */
export type CallState = 'running' | 'completed' | 'failed' | 'none';

export type SessionItem = {
  readonly turn: number;
  readonly at: string | null;
  readonly kind: 'text' | 'reasoning' | 'call' | 'note';
  /** The text of the model; of a call the command, the path, the query. */
  readonly text: string;
  /** Of a call only. */
  readonly call: {
    readonly name: string;
    readonly arguments: string;
    readonly state: CallState;
    readonly output: string;
    readonly ms: number | null;
  } | null;
};

export type SessionTurn = {
  readonly number: number;
  readonly at: string | null;
  readonly ms: number | null;
  /** Milliseconds until its first token, of a program until its first message; null if unknown. */
  readonly first_ms: number | null;
  readonly usage: Usage | null;
};

export type FoldedSession = {
  readonly agent: string | null;
  readonly model: string | null;
  readonly at: string | null;
  /** Of its first turn. */
  readonly first_ms: number | null;
  readonly turns: readonly SessionTurn[];
  readonly items: readonly SessionItem[];
};

type Item = { -readonly [K in keyof SessionItem]: SessionItem[K] };
type Turn = { -readonly [K in keyof SessionTurn]: SessionTurn[K] };
type Line<T extends SessionLine['type']> = Extract<SessionLine, { type: T }>;

/** Takes the lines one by one, as a growing session gives them. */
class SessionFold {
  #agent: string | null = null;
  #model: string | null = null;
  #at: string | null = null;
  #turns: Turn[] = [];
  readonly #byNumber = new Map<number, Turn>();
  #items: Item[] = [];
  /** Calls without a result, oldest first. */
  #open: { readonly id: string | undefined; readonly item: Item }[] = [];

  add(line: SessionLine): void {
    switch (line.type) {
      case 'start':
        this.#start(line);
        return;
      case 'turn':
        this.#turn(line);
        return;
      case 'text':
      case 'reasoning':
      case 'note':
        if (line.text.trim() !== '') this.#item(line.at, line.type, line.text.trimEnd());
        return;
      case 'call':
        this.#call(line);
        return;
      case 'result':
        this.#result(line);
        return;
      case 'usage':
        this.#usage(line);
        return;
    }
  }

  /** `isOver`: no result will come any more. */
  session(isOver: boolean): FoldedSession {
    const ended = (item: Item): SessionItem =>
      isOver && item.call?.state === 'running' ? { ...item, call: { ...item.call, state: 'none' } } : item;
    const turns = this.#timed();
    return {
      agent: this.#agent,
      model: this.#model ?? this.#turns.find(({ usage }) => usage !== null)?.usage?.model ?? null,
      at: this.#at,
      first_ms: turns[0]?.first_ms ?? null,
      turns,
      items: this.#items.map(ended),
    };
  }

  /** With the times of turns that were not reported: until the first thing that came of it, and until the next one. */
  #timed(): readonly SessionTurn[] {
    const first = new Map<number, string | null>();
    const last = new Map<number, string | null>();
    for (const { turn, at, kind, call } of this.#items) {
      if (kind !== 'note' && !first.has(turn)) first.set(turn, at);
      last.set(turn, later(at, call?.ms ?? 0));
    }
    return this.#turns.map((turn, index) => {
      if (turn.ms !== null) return turn;
      const { number } = turn;
      const end = this.#turns[index + 1]?.at ?? last.get(number) ?? null;
      // What a command writes is looked at a few times a second only.
      const came = this.#agent === 'command' ? null : between(turn.at, first.get(number) ?? null);
      const first_ms = turn.first_ms ?? came;
      return { ...turn, first_ms, ms: between(turn.at, end) };
    });
  }

  #start({ at, agent, model }: Line<'start'>): void {
    this.#at = at ?? null;
    this.#agent = agent ?? null;
    this.#model = model ?? null;
    this.#turns = [];
    this.#byNumber.clear();
    this.#items = [];
    this.#open = [];
  }

  #turn({ at, turn: number = (this.#turns.at(-1)?.number ?? 0) + 1 }: Line<'turn'>): Turn {
    const known = this.#byNumber.get(number);
    if (known !== undefined) return known;
    const turn: Turn = { number, at: at ?? null, ms: null, first_ms: null, usage: null };
    this.#turns.push(turn);
    this.#byNumber.set(number, turn);
    return turn;
  }

  #item(at: string | undefined, kind: Item['kind'], text: string, call: Item['call'] = null): Item {
    // A note before the first turn belongs to none.
    const last = this.#turns.at(-1) ?? (kind === 'note' ? undefined : this.#turn({ type: 'turn' }));
    const item: Item = { turn: last?.number ?? 0, at: at ?? null, kind, text, call };
    this.#items.push(item);
    return item;
  }

  #call({ at, id, name, detail, arguments: given }: Line<'call'>): void {
    const item = this.#item(at, 'call', detail ?? detailIn(given), {
      name,
      arguments:
        given === undefined ? '' : typeof given === 'string' ? given : JSON.stringify(given, null, 2),
      state: 'running',
      output: '',
      ms: null,
    });
    this.#open.push({ id, item });
  }

  #result({ at, id, ok = true, output = '', ms }: Line<'result'>): void {
    // Some servers use an id again in each turn.
    const found = id === undefined ? 0 : this.#open.findLastIndex((open) => open.id === id);
    const [open] = found < 0 ? [] : this.#open.splice(found, 1);
    if (open?.item.call == null) return;
    const { item } = open;
    item.call = {
      ...open.item.call,
      state: ok ? 'completed' : 'failed',
      output,
      ms: ms ?? between(item.at, at ?? null),
    };
  }

  #usage({ turn: number, model, first_ms, ms, cost_usd, incomplete, ...tokens }: Line<'usage'>): void {
    const last = this.#turns.at(-1);
    const turn = this.#turn(
      number === undefined
        ? { type: 'turn', ...(last === undefined ? {} : { turn: last.number }) }
        : { type: 'turn', turn: number },
    );
    turn.ms = ms ?? turn.ms;
    turn.first_ms = first_ms ?? turn.first_ms;
    const { input_tokens: input, output_tokens: output } = tokens;
    if (input == null && output == null && cost_usd == null) return;
    turn.usage = {
      model: model ?? this.#model ?? this.#agent ?? '',
      input_tokens: input ?? null,
      output_tokens: output ?? null,
      ...(tokens.cached_input_tokens == null ? {} : { cached_input_tokens: tokens.cached_input_tokens }),
      ...(tokens.reasoning_tokens == null ? {} : { reasoning_tokens: tokens.reasoning_tokens }),
      cost_usd: cost_usd ?? null,
      ...(incomplete === undefined ? {} : { incomplete }),
    };
  }
}

/** The session of these lines. */
export function sessionOf(lines: Iterable<SessionLine>, isOver: boolean): FoldedSession {
  const fold = new SessionFold();
  for (const line of lines) fold.add(line);
  return fold.session(isOver);
}

const later = (at: string | null, ms: number): string | null => {
  const time = at === null ? Number.NaN : Date.parse(at) + ms;
  return Number.isFinite(time) ? new Date(time).toISOString() : null;
};

function between(from: string | null, to: string | null): number | null {
  if (from === null || to === null) return null;
  const ms = Date.parse(to) - Date.parse(from);
  return Number.isFinite(ms) && ms >= 0 ? ms : null;
}

/** Arguments that say best what a call is about, the first that is there. */
const telling = ['command', 'cmd', 'file_path', 'path', 'pattern', 'query', 'url', 'description'];

/** What a call is about, of its arguments. */
export function detailIn(given: Json | undefined): string {
  if (typeof given === 'string') return given;
  if (!isObject(given)) return given === undefined ? '' : JSON.stringify(given);
  const words = telling.map((key) => given[key]).find((one) => typeof one === 'string' || Array.isArray(one));
  if (Array.isArray(words)) return words.map(String).join(' ');
  return typeof words === 'string' ? words : '';
}
