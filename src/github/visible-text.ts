/** Markdown without what GitHub's page does not show: people who approved a text there have not seen its HTML comments, for example. */

/** `shown` is the text as GitHub renders it, by which a comment in code, which is shown, differs from a hidden one. Undefined where a
 *  comment does not end, so that it may hide all that follows, or nothing. */
export function visibleText(markdown: string, shown: string): string | undefined {
  const page = withoutSpace(shown);
  const isShown = (text: string) => page.includes(withoutSpace(text));
  const text = withoutInvisible(markdown.replaceAll('\r\n', '\n').replaceAll('\r', '\n'));
  const left = changeHidden(text, (part) => (isShown(part) ? part : ''));
  if (changeHidden(left, () => '').includes('<!--')) return undefined;
  const links = linkCounts(left.toLowerCase());
  const words = left.replace(definition, (whole, start: string, label: string, address: string) => {
    if (isShown(whole)) return whole;
    const small = label.toLowerCase();
    const isUsed = (links.get(small) ?? 0) > (linkCounts(whole.toLowerCase()).get(small) ?? 0);
    return isUsed ? `${start}[${label}]: ${address}` : start;
  });
  return words.replace(/\n{3,}/g, '\n\n').trim();
}

/** Without the characters that have no picture: control characters, directions, and tags, in which whole sentences can be written. Line
 *  feeds and tabs stay, and the joiners of words and emoji. */
export const withoutInvisible = (text: string): string =>
  text.replace(/(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\u{e0000}-\u{e0fff}]/gu, '');

/** How often a text has each `[label]`: counted at once, for texts with thousands of definitions. */
function linkCounts(text: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  // GitHub takes no label that is longer.
  for (const [, label = ''] of text.matchAll(/(?=\[([^\]\n]{1,999})\])/g))
    counts.set(label, (counts.get(label) ?? 0) + 1);
  return counts;
}

/** Beginnings of comments, processing instructions, CDATA and declarations, and their ends. */
const hidden = /<!--|<\?|<!\[CDATA\[|<![A-Za-z]/g;
const endOfHidden: Readonly<Record<string, string>> = { '<!--': '-->', '<?': '?>', '<![CDATA[': ']]>' };

function changeHidden(text: string, change: (part: string) => string): string {
  const endless = new Set<string>();
  let changed = '';
  let done = 0;
  for (const { 0: begin, index } of text.matchAll(hidden)) {
    const end = endOfHidden[begin] ?? '>';
    if (index < done || endless.has(end)) continue;
    const at = text.indexOf(end, index + begin.length);
    // It is not looked for again from each beginning that follows.
    if (at < 0) endless.add(end);
    else {
      changed += text.slice(done, index) + change(text.slice(index, at + end.length));
      done = at + end.length;
    }
  }
  return changed + text.slice(done);
}

/** `[label]: address "title"`: what a link elsewhere in the text may name. A footnote, which is shown, is none. */
const definition = (() => {
  // GitHub takes no label that is longer.
  const label = String.raw`\[(?!\^)((?:[^\]\[\\]|\\[^]){1,999})\]`;
  const address = String.raw`<[^>\\\n]*(?:\\.[^>\\\n]*)*>|\S+`;
  const quoted = (begin: string, end: string) => String.raw`${begin}[^${end}\\]*(?:\\[^][^${end}\\]*)*${end}`;
  const title = [quoted('"', '"'), quoted("'", "'"), quoted(String.raw`\(`, String.raw`\)`)].join('|');
  const inBlocks = String.raw`[ \t>*+-]*(?:\d{1,9}[.)][ \t>*+-]*)*`;
  const gap = String.raw`[ \t]+|[ \t]*\n[ \t]*`;
  return new RegExp(
    String.raw`^(${inBlocks})${label}:[ \t]*(?:\n[ \t]*)?(${address})(?:(?:${gap})(?:${title}))?[ \t]*$`,
    'gm',
  );
})();

const withoutSpace = (text: string): string => text.replace(/\s+/g, '');
