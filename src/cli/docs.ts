/** `factory docs`: pages of the documentation that is installed with factory. */
import { type DocsMatch, type DocsPage, docsPages, pagesAbout } from '../app/docs-pages.ts';
import { nearest } from '../core/nearest.ts';
import { usage } from './find-run.ts';
import { type CliIo, paints } from './io.ts';
import { columns, oneLine, type Paint, painter, tableRow } from './report/run.ts';
import type { VerbResult } from './verb.ts';

export type DocsOptions = { readonly color?: boolean };

/** Prints the page that the word names, or that alone has it; of several, or without a word, a list. */
export async function docsCommand(
  word: string | undefined,
  options: DocsOptions,
  io: CliIo,
): Promise<VerbResult> {
  const pages = docsPages();
  const width = io.outIsTerminal ? io.width : 160;
  const paint = painter(paints(io, io.outIsTerminal, options.color));
  if (word === undefined) {
    io.out(`${listOf(pages, width).join('\n')}\n\n${howTo(io)}\n`);
    return 0;
  }
  const found = pagesAbout(word, pages);
  const [only, ...more] = found;
  if (only === undefined) {
    const meant = nearest(
      word,
      pages.map(({ name }) => name),
    );
    return usage(
      `no page of the docs has "${oneLine(word, 60)}"`,
      `${meant === undefined ? '' : `did you mean ${meant}? `}factory docs lists the pages`,
    );
  }
  if (more.length === 0) io.out(only.page.text.endsWith('\n') ? only.page.text : `${only.page.text}\n`);
  else io.out(`${matchLines(found, width, paint).join('\n')}\n\n${howTo(io)}\n`);
  return 0;
}

const howTo = ({ called }: CliIo): string =>
  `${called?.program ?? 'factory'} docs NAME prints a page; instead of its name, a word in it will do`;

const listOf = (pages: readonly DocsPage[], width: number): readonly string[] =>
  columns(pages.map(({ name, title }) => [name, title])).map((row) => tableRow(row, width).text);

function matchLines(found: readonly DocsMatch[], width: number, paint: Paint): readonly string[] {
  const rows = listOf(
    found.map(({ page }) => page),
    width,
  );
  return found.flatMap(({ shows }, at) => [
    rows[at] ?? '',
    ...shows.map((line) => paint.dim(`    ${oneLine(line, width - 5)}`)),
  ]);
}
