/** Colours of code: what a model wrote stays text. */
import fc from 'fast-check';
import hljs from 'highlight.js';
import { expect, test } from 'vitest';
import { type CharacterRange, lineParts, tokenLines } from '../../../src/web/page/text/code-tokens.ts';
import { languageOfPath } from '../../../src/web/page/text/languages.ts';

const languages = ['typescript', 'xml', 'markdown', 'json', 'bash', 'css', 'python', 'php', 'yaml'];
const hostile = [
  '<script>alert(1)</script>',
  '<img src=x onerror="alert(1)">',
  '</span><span class="x" onclick="y">',
  '&lt;b&gt; &amp;lt; &#x27; &#60;script&#62; &quot',
  '`${"</span>"}` /* <b> */ // "\'',
  '<!-- <a href="javascript:x"> -->',
];
const fragment = fc.oneof(
  fc.constantFrom(...hostile, 'const a = 1;', '\n', 'def f(): return "x"', '# title', '<?php echo 1;'),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.string({ unit: fc.constantFrom(...'<>&"\'`/=;{}()\n #') }),
);

test.for(languages)('coloured %s is, character by character, the text that was given', (language) => {
  fc.assert(
    fc.property(fc.array(fragment, { maxLength: 12 }), (parts) => {
      const text = parts.join('');
      const lines = tokenLines(hljs.highlight(text, { language, ignoreIllegals: true }).value);
      expect(lines.map((line) => line.map((token) => token.text).join('')).join('\n')).toBe(text);
      for (const { colour } of lines.flat()) expect(colour).toMatch(/^(?:hljs-[\w-]+)?$/);
    }),
    { numRuns: 60 },
  );
});

test('a comment over several lines colours each of them', () => {
  const { value } = hljs.highlight('a; /* one\ntwo */ b;', { language: 'javascript' });
  expect(tokenLines(value).map((line) => line.filter(({ colour }) => colour === 'hljs-comment'))).toEqual([
    [{ text: '/* one', colour: 'hljs-comment' }],
    [{ text: 'two */', colour: 'hljs-comment' }],
  ]);
});

test('the parts of a line are the line, and what is marked in it is what has changed', () => {
  const tokens = fc.array(fc.string({ minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(tokens, fc.array(fc.nat({ max: 12 }), { maxLength: 6 }), (texts, cuts) => {
      const line = texts.join('');
      const ends = [...new Set(cuts)].filter((cut) => cut <= line.length).sort((a, b) => a - b);
      const changed: CharacterRange[] = [];
      for (let at = 0; at + 1 < ends.length; at += 2) changed.push([ends[at] ?? 0, ends[at + 1] ?? 0]);
      const parts = lineParts(
        line,
        texts.map((text) => ({ text, colour: 'hljs-x' })),
        changed,
      );
      expect(parts.map(({ text }) => text).join('')).toBe(line);
      expect(
        parts
          .filter((part) => part.changed)
          .map(({ text }) => text)
          .join(''),
      ).toBe(changed.map(([from, to]) => line.slice(from, to)).join(''));
    }),
  );
});

test.for([
  ['src/a.test.tsx', 'typescript'],
  ['deep/Dockerfile', 'dockerfile'],
  ['Makefile', 'makefile'],
  ['a/b.YML', 'yaml'],
  ['Cargo.toml', 'ini'],
  ['README.md', 'markdown'],
  ['.bashrc', 'bash'],
  ['LICENSE', undefined],
  ['logo.png', undefined],
  ['a.constructor', undefined],
])('%s is %s', ([path, language]) => {
  expect(languageOfPath(path ?? '')).toBe(language);
});
