/** Which of some words texts have, as `wordsOf` tells them, in one pass over their bytes: the words of a whole product
 *  (all that it depends on is with it) would take longer to make than everything else that is asked of them. */
import { type Automaton, automatonOf } from '../system/automaton.ts';
import { wordsOf } from './common-words.ts';

export interface WantedWords {
  /** Those that the texts so far have. */
  readonly had: ReadonlySet<string>;
  read(text: Buffer): void;
}

/** What a byte may be a part of. Beyond ASCII that cannot be told from one byte. */
const [other, small, capital, digit, beyond] = [0, 1, 2, 3, 4];
const kinds = new Uint8Array(256);
kinds.fill(digit, 0x30, 0x3a).fill(capital, 0x41, 0x5b).fill(small, 0x61, 0x7b).fill(beyond, 0x80);

/** Letters in either case are one; so are all bytes beyond ASCII, whose letters have their cases elsewhere. */
const fold = (byte: number): number =>
  byte >= 0x80 ? 0x80 : byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte;
const folded = (bytes: Uint8Array): string => Buffer.from(bytes.map(fold)).toString('latin1');

/** Whether a word may end between these two. */
const mayPart = (before: number, after: number): boolean =>
  before === other ||
  after === other ||
  before === beyond ||
  after === beyond ||
  (before === digit) !== (after === digit) ||
  (before === small && after === capital);

/** Letters of all words together. The automaton of more would fill the memory; data that is sealed has very many. */
const mostLetters = 20_000;

/** `words` as `wordsOf` gives them. */
export function wantedWords(words: ReadonlySet<string>): WantedWords {
  const had = new Set<string>();
  let automaton: Automaton | undefined;
  /** The words, not had yet when last looked, that end with a state. */
  const endings = new Map<number, { readonly word: string; readonly length: number }[]>();
  const all = [...words].map((word) => {
    const bytes = Buffer.from(word);
    return { word, bytes, length: bytes.length, folded: folded(bytes) };
  });

  const size = all.reduce((sum, { length }) => sum + length, 0);
  const add = (text: string): void => {
    for (const word of wordsOf(text)) if (words.has(word)) had.add(word);
  };
  return {
    had,
    read(text) {
      if (words.size === 0) return;
      if (size > mostLetters) {
        add(text.toString('utf8'));
        return;
      }
      automaton ??= automatonOf(
        all.map(({ bytes }) => bytes),
        fold,
      );
      const { classes, width, next, ends } = automaton;
      let state = 0;
      for (let at = 0; at < text.length; at++) {
        state = next[state * width + (classes[text[at] ?? 0] ?? 0)] ?? 0;
        const longest = ends[state] ?? 0;
        if (longest === 0) continue;
        let ending = endings.get(state);
        if (ending === undefined) {
          const stands = folded(text.subarray(at + 1 - longest, at + 1));
          ending = all.filter((one) => stands.endsWith(one.folded));
        }
        if (ending.some(({ word }) => had.has(word))) ending = ending.filter(({ word }) => !had.has(word));
        endings.set(state, ending);
        if (!ending.some(({ length }) => standsAlone(text, at + 1 - length, at + 1))) continue;
        // What else is written together with it may still part it, and is read with it.
        let from = at;
        while (from > 0 && kindAt(text, from - 1) !== other) from--;
        let to = at + 1;
        while (to < text.length && kindAt(text, to) !== other) to++;
        add(text.toString('utf8', from, to));
        at = to - 1;
        state = 0;
      }
    },
  };
}

const kindAt = (text: Buffer, at: number): number => kinds[text[at] ?? 0] ?? other;

const standsAlone = (text: Buffer, from: number, to: number): boolean =>
  (from === 0 || mayPart(kindAt(text, from - 1), kindAt(text, from))) &&
  (to === text.length || mayPart(kindAt(text, to - 1), kindAt(text, to)));
