import { basename } from 'node:path';

const entities = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text) => text.replace(/[&<>"]/g, (sign) => entities[sign]);

const link = /\[([^\]]*)\]\(([^)\s]+)\)/g;
const isNote = (target) => target.endsWith('.md') && !target.includes(':');
const addressOf = (target) => (isNote(target) ? target.replace(/\.md$/, '.html') : target);

/** Links of a note to other notes. */
export const linksOf = (text) => [...text.matchAll(link)].map(([, , target]) => target).filter(isNote);

export function titleOf(path, text) {
  const [first] = text.split('\n');
  return first.startsWith('# ') ? first.slice(2).trim() : basename(path, '.md');
}

export function pageOf(path, text) {
  const title = escaped(titleOf(path, text));
  const body = text.startsWith('# ') ? text.split('\n').slice(1).join('\n') : text;
  const paragraphs = body
    .split(/\n\s*\n/)
    .map((part) =>
      part
        .trim()
        .split(/\s*\n\s*/)
        .join(' '),
    )
    .filter((part) => part !== '');
  const html = paragraphs.map((part) => {
    const marked = escaped(part).replace(
      link,
      (_, words, target) => `<a href="${addressOf(target)}">${words}</a>`,
    );
    return `<p>${marked}</p>\n`;
  });
  return `<!doctype html>\n<title>${title}</title>\n<h1>${title}</h1>\n${html.join('')}`;
}

export function indexOf(entries) {
  const items = entries.map(
    ({ page, title }) => `<li><a href="${escaped(page)}">${escaped(title)}</a></li>\n`,
  );
  return `<!doctype html>\n<title>Index</title>\n<ul>\n${items.join('')}</ul>\n`;
}
