/** Web pages in place of answers: of a gateway, a proxy or a login. */

/** The error code of a page that came with an error status. */
export const webPage = 'factory_web_page';

/** What a page says, in a few words; undefined for a text that is no web page. */
export function pageIn(text: string, type: string): string | undefined {
  if (!/\bhtml\b/i.test(type) && !/^\s*(?:<!doctype html|<html|<head|<body)\b/i.test(text)) return undefined;
  const found = /<title\b[^>]*>([^<]*)/i.exec(text) ?? /<h1\b[^>]*>([^<]*)/i.exec(text);
  const said = plain(found?.[1] ?? '') || plain(text.slice(0, 10_000).replace(/<[^>]*>?/g, ' '));
  return said === '' ? 'a web page' : `a web page, "${said.slice(0, 120)}"`;
}

const plain = (text: string): string => text.replace(/\s+/g, ' ').trim();
