import fc from 'fast-check';
import { expect, test } from 'vitest';
import { wordsOf } from '../../src/policy/common-words.ts';
import { wantedWords } from '../../src/policy/wanted-words.ts';

const hadOf = (words: string[], ...texts: string[]): string[] => {
  const wanted = wantedWords(new Set(words));
  for (const text of texts) wanted.read(Buffer.from(text));
  return [...wanted.had].sort();
};

test.for<[text: string, had: string[]]>([
  ['the harbour', ['harbour']],
  ['THE HARBOUR', ['harbour']],
  ['myHarbourList', ['harbour']],
  ['harbour_list', ['harbour']],
  ['harbour9', ['harbour']],
  ['9harbour', ['harbour']],
  ['harbours', []],
  ['theharbour', []],
  ['harBour', []],
  ['Überharbour', []],
  ['—harbour—', ['harbour']],
  ['überHarbour', ['harbour']],
  ['a b4711c', ['4711']],
  ['47110', []],
  ['Straße STRASSE', ['straße']],
  ['ÄRGER', ['ärger']],
  ['harbours of the harbour', ['harbour']],
  ['import port', ['port']],
  ['export', []],
  ['airport harbour airport', ['airport', 'harbour']],
  ['港口', ['港口']],
  ['大港口', []],
])('"%s" has of the wanted words %s', ([text, had]) => {
  expect(hadOf(['harbour', '4711', 'straße', 'ärger', 'port', 'airport', '港口'], text)).toEqual(had);
});

test('what one text has is had from then on', () => {
  expect(hadOf(['harbour', 'pier', 'quay'], 'harbour', 'none', 'the pier')).toEqual(['harbour', 'pier']);
});

test('of very many words those are had that a text has', () => {
  const many = Array.from({ length: 20_000 }, (_, at) =>
    `w${at}`.replace(/\d/g, (one) => 'abcdefghij'.charAt(Number(one))),
  );
  expect(hadOf([...many, 'quay'], `the quay ${many[7]} myQuay`)).toEqual(['quay', many[7]].sort());
});

test('the words are those that the whole text has', () => {
  const piece = fc.constantFrom(
    'port',
    'Port',
    'PORT',
    'im',
    'Air',
    '47',
    '1',
    '_',
    ' ',
    'é',
    'É',
    '—',
    '\n',
    'x',
    'ß',
  );
  const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));
  const words = text.map((one) => wordsOf(one));
  fc.assert(
    fc.property(text, words, text, (first, wanted, second) => {
      const all = [...wanted, 'port', 'import', '471', 'éport'];
      const has = new Set([...wordsOf(first), ...wordsOf(second)]);
      expect(hadOf(all, first, second)).toEqual([...new Set(all)].filter((word) => has.has(word)).sort());
    }),
    { numRuns: 2000 },
  );
});
