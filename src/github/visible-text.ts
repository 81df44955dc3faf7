/** Markdown without what GitHub's page does not show: people who approved a text there have not seen its HTML comments. */

/** `shown` is the text as GitHub renders it, by which a comment in code, which is shown, differs from a hidden one. Undefined where a
 *  comment does not end, so that it may hide all that follows, or nothing. */
export function visibleText(markdown: string, shown: string): string | undefined {
  const isShown = (text: string) => withoutSpace(shown).includes(withoutSpace(text));
  const text = markdown.replaceAll('\r\n', '\n').replaceAll('\r', '\n');
  const left = text.replace(/<!--[\s\S]*?-->/g, (comment) => (isShown(comment) ? comment : ''));
  const open = left.replace(/<!--[\s\S]*?-->/g, '').includes('<!--');
  return open ? undefined : left.replace(/\n{3,}/g, '\n\n').trim();
}

const withoutSpace = (text: string): string => text.replace(/\s+/g, '');
