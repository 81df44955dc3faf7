/** Where the parts of a JSON text are: line and column of each value. */
import type { Position } from './diagnostic.ts';

/** The place of an offset in a text. */
export function positionAt(text: string, offset: number): Position {
  const before = text.slice(0, offset);
  const line = before.split('\n');
  return { offset, line: line.length, column: [...(line.at(-1) ?? '')].length + 1 };
}

export type JsonMap = {
  /** Offset of a path's key or element; for a path that does not exist, of its nearest parent. */
  offset(path: readonly string[]): number;
  readonly duplicates: readonly { readonly key: string; readonly offset: number }[];
};

/** Deepest nesting that is read: deeper text would exhaust the stack. */
const deepest = 500;

/** Walks strict JSON and records the offset of each key and element, which `JSON.parse` does not report. */
export function mapJson(text: string): JsonMap | { readonly problem: string; readonly offset: number } {
  const walk = new JsonWalk(text);
  try {
    walk.whole();
    return walk;
  } catch (error) {
    if (error instanceof Stop) return { problem: error.message, offset: walk.at };
    throw error;
  }
}

class Stop extends Error {}

const blank = /[ \t\r\n]*/y;
const scalar = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

class JsonWalk implements JsonMap {
  readonly #text: string;
  readonly #places = new Map<string, number>();
  readonly duplicates: { key: string; offset: number }[] = [];
  at: number;

  constructor(text: string) {
    this.#text = text;
    this.at = text.startsWith('\ufeff') ? 1 : 0;
  }

  offset(path: readonly string[]): number {
    const place = this.#places.get(JSON.stringify(path));
    return place ?? (path.length === 0 ? 0 : this.offset(path.slice(0, -1)));
  }

  whole(): void {
    this.#value([]);
    this.#eat(blank);
    if (this.at < this.#text.length) this.#stop('the end of the text');
  }

  get #next(): string | undefined {
    return this.#text[this.at];
  }

  #eat(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.#text)?.[0] ?? '';
    this.at += found.length;
    return found;
  }

  #stop(expected: string): never {
    const found = this.#next === undefined ? 'the end of the text' : JSON.stringify(this.#next);
    throw new Stop(`expected ${expected}, found ${found}`);
  }

  #value(path: readonly string[]): void {
    if (path.length > deepest) this.#stop(`at most ${deepest} levels`);
    this.#eat(blank);
    if (this.#next === '"') this.#string();
    else if (this.#next === '{') this.#object(path);
    else if (this.#next === '[')
      this.#items(']', (index) => {
        this.#places.set(JSON.stringify([...path, String(index)]), this.at);
        this.#value([...path, String(index)]);
      });
    else if (this.#eat(scalar) === '') this.#stop('a JSON value');
  }

  #object(path: readonly string[]): void {
    const seen = new Set<string>();
    this.#items('}', () => {
      const offset = this.at;
      const key = this.#string();
      if (seen.has(key)) this.duplicates.push({ key, offset });
      seen.add(key);
      this.#places.set(JSON.stringify([...path, key]), offset);
      this.#eat(blank);
      if (this.#next !== ':') this.#stop('":"');
      this.at += 1;
      this.#value([...path, key]);
    });
  }

  #items(close: string, item: (index: number) => void): void {
    this.at += 1;
    this.#eat(blank);
    if (this.#next === close) {
      this.at += 1;
      return;
    }
    for (let index = 0; ; index += 1) {
      this.#eat(blank);
      item(index);
      this.#eat(blank);
      const next = this.#next;
      if (next !== ',' && next !== close) this.#stop(`"," or "${close}"`);
      this.at += 1;
      if (next === close) return;
    }
  }

  #string(): string {
    const from = this.at;
    if (this.#next !== '"') this.#stop('a string in double quotes');
    for (this.at += 1; this.#text[this.at] !== '"'; this.at += 1) {
      const c = this.#text[this.at];
      if (c === undefined || c < ' ') return this.#stop('the end of a string (line ends are written \\n)');
      if (c !== '\\') continue;
      this.at += 1;
      if (!/^(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/.test(this.#text.slice(this.at, this.at + 5)))
        return this.#stop('a JSON escape');
    }
    this.at += 1;
    return JSON.parse(this.#text.slice(from, this.at));
  }
}
