/** Markdown without what GitHub's page does not show: people who approved a text there have not seen its HTML comments, for example. */

/** `shown` is the text as GitHub renders it, by which a comment in code, which is shown, differs from a hidden one. Undefined where a
 *  comment does not end, so that it may hide all that follows, or nothing. */
export function visibleText(markdown: string, shown: string): string | undefined {
  const page = withoutSpace(shown);
  const isShown = (text: string) => page.includes(withoutSpace(text));
  const text = withoutInvisible(markdown.replaceAll('\r\n', '\n').replaceAll('\r', '\n'));
  const left = changeHidden(text, (part) => (isShown(part) ? part : ''));
  if (changeHidden(left, () => '').includes('<!--')) return undefined;
  const small = left.toLowerCase();
  const words = left.replace(definition, (whole, start: string, label: string, address: string) => {
    if (isShown(whole)) return whole;
    const link = `[${label.toLowerCase()}]`;
    const isUsed = small.split(link).length > whole.toLowerCase().split(link).length;
    return isUsed ? `${start}[${label}]: ${address}` : start;
  });
  return words.replace(/\n{3,}/g, '\n\n').trim();
}

/** Without the characters that have no picture: control characters, directions, and tags, in which whole sentences can be written. Line
 *  feeds and tabs stay, and the joiners of words and emoji. */
export const withoutInvisible = (text: string): string =>
  text.replace(/(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\u{e0000}-\u{e0fff}]/gu, '');

/** Comments, processing instructions, CDATA and declarations. */
const hidden = /<!--[\s\S]*?-->|<\?[\s\S]*?\?>|<!\[CDATA\[[\s\S]*?\]\]>|<![A-Za-z][^>]*>/g;

/** Behind the last `>` none ends, and each beginning would be followed to the end of the text. */
function changeHidden(text: string, change: (part: string) => string): string {
  const end = text.lastIndexOf('>') + 1;
  return text.slice(0, end).replace(hidden, change) + text.slice(end);
}

/** `[label]: address "title"`: what a link elsewhere in the text may name. A footnote, which is shown, is none. */
const definition =
  /^([ \t>*+-]*)\[(?!\^)([^\]\n]+)\]:[ \t]*\n?[ \t]*(<[^>\n]*>|\S+)(?:(?:[ \t]+|[ \t]*\n[ \t]*)(?:"[^"]{0,999}"|'[^']{0,999}'|\([^)]{0,999}\)))?[ \t]*$/gm;

const withoutSpace = (text: string): string => text.replace(/\s+/g, '');
