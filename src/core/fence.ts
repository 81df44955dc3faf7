/** Texts in Markdown that nothing in them can end. Pure. */

/** So many backticks as the text nowhere has in a row, and at least `least`. */
export function ticksAround(text: string, least: number): string {
  const longest = Math.max(least - 1, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  return '`'.repeat(longest + 1);
}

/** A text as a block of code; `language` may be empty. */
export function fenced(text: string, language = ''): string {
  const ticks = ticksAround(text, 3);
  return `${ticks}${language}\n${text}${text.endsWith('\n') || text === '' ? '' : '\n'}${ticks}`;
}
