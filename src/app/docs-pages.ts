/** The pages of the documentation that is installed with factory, and where a word is in them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../platform/package.ts';

export type DocsPage = {
  /** Of its file, without `.md`. */
  readonly name: string;
  readonly title: string;
  readonly text: string;
};

/** A page with the word, and the headings or lines that show it; none where its title or name does. */
export type DocsMatch = { readonly page: DocsPage; readonly shows: readonly string[] };

/** The pages by name, the index first. */
export function docsPages(folder = join(packageRoot(), 'docs')): readonly DocsPage[] {
  const names = existsSync(folder)
    ? readdirSync(folder).filter((name) => name.endsWith('.md') && !name.startsWith('.'))
    : [];
  return names
    .map((file) => pageOf(file.replace(/\.md$/, ''), readFileSync(join(folder, file), 'utf8')))
    .sort((a, b) => Number(b.name === index) - Number(a.name === index) || (a.name < b.name ? -1 : 1));
}

const index = 'README';

export const pageOf = (name: string, text: string): DocsPage => ({
  name,
  title: /^# (.+)$/m.exec(text)?.[1]?.trim() ?? name,
  text,
});

/** Headings or lines of a page that are shown for a word. */
const mostShown = 3;

/** The pages with the word: by name or title, else by the questions of the index, else by headings, else by text. Pure. */
export function pagesAbout(word: string, pages: readonly DocsPage[]): readonly DocsMatch[] {
  const key = word.trim().toLowerCase();
  const has = (text: string): boolean => text.toLowerCase().includes(key);
  const named = pages.filter(({ name }) => name.toLowerCase() === key.replace(/\.md$/, ''));
  if (named.length > 0) return named.map((page) => ({ page, shows: [] }));
  const titled = pages.filter(({ name, title }) => has(title) || has(name));
  if (titled.length > 0) return titled.map((page) => ({ page, shows: [] }));
  const asked = pagesAsked(pages, has);
  if (asked.length > 0) return asked;
  const withHeading = linesIn(pages, (line) => /^#{2,} /.test(line) && has(line));
  return withHeading.length > 0 ? withHeading : linesIn(pages, has);
}

/** The pages to which the index leads from its questions: `| How do I …? | [page](page.md) |`. */
function pagesAsked(pages: readonly DocsPage[], fits: (question: string) => boolean): readonly DocsMatch[] {
  const rows = pages.find(({ name }) => name === index)?.text.matchAll(/^\| (.+?) \| (.+) \|$/gm) ?? [];
  const questions = [...rows].filter(([, question = '']) => fits(question));
  return pages.flatMap((page) => {
    const shows = questions
      .filter(([, , links = '']) => links.includes(`(${page.name}.md)`))
      .map(([, question = '']) => question);
    return shows.length === 0 ? [] : [{ page, shows: shows.slice(0, mostShown) }];
  });
}

function linesIn(pages: readonly DocsPage[], fits: (line: string) => boolean): readonly DocsMatch[] {
  return pages.flatMap((page) => {
    const shows = page.text.split('\n').filter(fits);
    return shows.length === 0 ? [] : [{ page, shows: shows.slice(0, mostShown) }];
  });
}
