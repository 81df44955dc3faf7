/** Texts in pictures: how wide they are, where they break, and how they are escaped. */

/** Widths in em of the letters of a common sans-serif font, somewhat generous because the font is the viewer's. */
const widths: readonly (readonly [RegExp, number])[] = [
  [/[ijl|!'.,:;]/, 0.3],
  [/[ftrIJ()[\]{}/\\\s"-]/, 0.38],
  [/[mwMW@%]/, 0.98],
  [/[A-Z&_=+<>~#×✓✗]/, 0.76],
  // Scripts with full-width letters, and emoji.
  [/[\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff00-\uff60\u{1f000}-\u{1faff}]/u, 1.05],
];
const usual = 0.63;

/** The width of `text` in the unit of `size`. */
export function textWidth(text: string, size: number): number {
  let em = 0;
  for (const letter of text) em += letterWidth(letter);
  return em * size;
}

const known = new Map<string, number>();

function letterWidth(letter: string): number {
  const before = known.get(letter);
  if (before !== undefined) return before;
  const width = widths.find(([letters]) => letters.test(letter))?.[1] ?? usual;
  // A graph in many scripts does not fill the memory of a server.
  if (known.size < 2000) known.set(letter, width);
  return width;
}

/** `text` cut with `…` to at most `width`. */
export function cutToWidth(text: string, width: number, size: number): string {
  if (textWidth(text, size) <= width) return text;
  const letters = [...text];
  let used = textWidth('…', size);
  const fits = letters.findIndex((letter) => {
    used += textWidth(letter, size);
    return used > width;
  });
  return `${letters.slice(0, Math.max(fits, 1)).join('').trimEnd()}…`;
}

/** Lines of at most `width`, at most `most` of them; line breaks of the author are kept, and words that are too long are
 *  broken. */
export function wrapped(text: string, width: number, size: number, most: number): readonly string[] {
  const lines: string[] = [];
  for (const written of text.split(/\r\n|[\r\n]|\\[nlr]/)) {
    let line = '';
    for (const word of written.trim().split(/\s+/)) {
      const longer = line === '' ? word : `${line} ${word}`;
      if (textWidth(longer, size) <= width) line = longer;
      else {
        if (line !== '') lines.push(line);
        line = lastPart(word, width, size, lines);
      }
    }
    if (line !== '') lines.push(line);
  }
  if (lines.length <= most) return lines;
  const last = `${lines[most - 1] ?? ''} …`;
  return [...lines.slice(0, most - 1), cutToWidth(last, width, size)];
}

/** Breaks a word that is too long, preferably after a sign; the last part begins the next line. */
function lastPart(word: string, width: number, size: number, lines: string[]): string {
  let rest = word;
  while (textWidth(rest, size) > width) {
    let fits = 1;
    while (textWidth(rest.slice(0, fits + 1), size) <= width) fits++;
    const sign = Math.max(...['_', '-', '.', '/', '&', '|'].map((one) => rest.lastIndexOf(one, fits - 1)));
    const at = sign > fits / 2 ? sign + 1 : fits;
    lines.push(rest.slice(0, at));
    rest = rest.slice(at);
  }
  return rest;
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Without characters that XML does not have: control characters and halves of surrogate pairs. */
const clean = (text: string): string =>
  text.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]|\p{Surrogate}/gu, '');

/** Text as content or quoted attribute of XML; Graphviz reads the same entities in labels. */
export const escaped = (text: string): string =>
  clean(text).replace(/[&<>"]/g, (letter) => entities[letter] ?? letter);

/** A condition in few words: `outcome=success && preferred_label=revise` → `success, revise`. Parts that repeat the edge's
 *  `label` are left out. */
export function shortCondition(condition: string, label = ''): string {
  const nested = /\|\||\(/.test(condition);
  const parts = nested ? [condition] : condition.split('&&');
  return parts
    .map((part) =>
      part
        .trim()
        .replace(/\b(?:outcome|preferred_label)\s*={1,2}\s*(["']?)([\w.-]+)\1/g, '$2')
        .replace(/\bcontext\./g, '')
        .replace(/\s*!=\s*/g, ' ≠ ')
        .replace(/\s*(?<![<>!])={1,2}\s*/g, ' = ')
        .replace(/\s*\|\|\s*/g, ' or ')
        .replace(/\s*&&\s*/g, ' and '),
    )
    .filter((part) => part !== '' && part.toLowerCase() !== label.trim().toLowerCase())
    .join(', ');
}
