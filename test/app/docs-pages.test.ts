import { expect, test } from 'vitest';
import { docsPages, pageOf, pagesAbout } from '../../src/app/docs-pages.ts';

const pages = [
  pageOf(
    'README',
    '# The docs\n\nAll pages.\n\n| How do I begin again? | [resume](resume.md), [budget](budget.md) |\n',
  ),
  pageOf('resume', '# Resume and fork\n\n## Replay\n\nA record answers.\n'),
  pageOf('budget', '# Budget\n\n## Limits\n\nA rate limit is waited out.\n'),
  pageOf('limits', '# What there is not\n\nNo fork of a queue.\n'),
];
const about = (word: string) =>
  pagesAbout(word, pages).map(({ page, shows }) => [page.name, ...shows].join(' | '));

test.for([
  ['resume', ['resume']],
  ['budget.md', ['budget']],
  ['limits', ['limits']],
  ['Fork', ['resume']],
  ['again', ['resume | How do I begin again?', 'budget | How do I begin again?']],
  ['replay', ['resume | ## Replay']],
  ['RATE limit', ['budget | A rate limit is waited out.']],
  ['queue', ['limits | No fork of a queue.']],
  ['xyzzy', []],
] as const)('the pages about %s are %j', ([word, expected]) => {
  expect(about(word)).toEqual(expected);
});

test('the installed pages have titles, the index first', () => {
  const installed = docsPages();
  expect(installed[0]?.name).toBe('README');
  expect(installed.filter(({ name, title }) => name === title)).toEqual([]);
  expect(pagesAbout('resume', installed)).toHaveLength(1);
  expect(pagesAbout('ask a person', installed).map(({ page }) => page.name)).toEqual(['human-gates']);
});
