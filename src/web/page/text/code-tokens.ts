/** Coloured code as parts of lines. What highlight.js answers is HTML: it is taken apart here, so that nothing of a text that a
 *  model wrote is ever given to the browser as markup. */

export interface CodeToken {
  readonly text: string;
  /** Class of its colour, such as `hljs-keyword`; empty for none. */
  readonly colour: string;
}
/** A part of a line, with its colour and whether the other side of a change lacks it. */
export interface LinePart extends CodeToken {
  readonly changed: boolean;
}
/** From the first character to the one before the last. */
export type CharacterRange = readonly [from: number, to: number];

const entities: Readonly<Record<string, string>> = {
  ...{ '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#x27;': "'" },
};

/** The lines of a coloured text. */
export function tokenLines(html: string): readonly (readonly CodeToken[])[] {
  const lines: CodeToken[][] = [[]];
  const open: string[] = [];
  for (const [part, names] of html.matchAll(/<span class="([^"]*)">|<\/span>|[^<]+/g)) {
    if (names !== undefined) open.push(/(?:^| )(hljs-[\w-]+)/.exec(names)?.[1] ?? open.at(-1) ?? '');
    else if (part === '</span>') open.pop();
    else {
      const text = part.replace(/&(?:amp|lt|gt|quot|#x27);/g, (one) => entities[one] ?? one);
      const [first = '', ...more] = text.split('\n');
      const colour = open.at(-1) ?? '';
      if (first !== '') lines.at(-1)?.push({ text: first, colour });
      for (const one of more) lines.push(one === '' ? [] : [{ text: one, colour }]);
    }
  }
  return lines;
}

/** The parts of a line: its tokens, cut where what is `changed` begins and ends. Without tokens the text as one. */
export function lineParts(
  text: string,
  tokens: readonly CodeToken[] | undefined,
  changed: readonly CharacterRange[],
): readonly LinePart[] {
  const parts: LinePart[] = [];
  let at = 0;
  for (const token of tokens ?? [{ text, colour: '' }]) {
    const end = at + token.text.length;
    const cuts = changed.flat().filter((one) => one > at && one < end);
    for (const to of [...cuts, end]) {
      const isChanged = changed.some(([from, until]) => from <= at && to <= until);
      if (to > at) parts.push({ text: text.slice(at, to), colour: token.colour, changed: isChanged });
      at = to;
    }
  }
  return parts;
}
