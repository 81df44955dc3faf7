/** Prompts as they are sent, with the notes of people. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { withNotes, withoutFinalNewline, withoutNotes } from '../../src/core/sent-prompt.ts';

test('the prompt without the notes that were added is the prompt, but for newlines at its end', () => {
  const note = fc.record({ by: fc.string(), text: fc.string() });
  fc.assert(
    fc.property(fc.string(), fc.array(note, { maxLength: 3 }), (prompt, notes) => {
      const kept = notes.length === 0 ? prompt : prompt.replace(/\n+$/, '');
      expect(withoutNotes(withNotes(prompt, notes), notes)).toBe(kept);
    }),
  );
});

test('a prompt that does not end with the notes has none', () => {
  expect(withoutNotes('Write it.', [{ by: 'me', text: 'in C' }])).toBeUndefined();
});

test.for([
  ['a\n', 'a'],
  ['a\r\n', 'a'],
  ['a\n\n', 'a\n'],
  ['a', 'a'],
])('of a file with %j, %j is sent', ([file = '', sent]) => {
  expect(withoutFinalNewline(file)).toBe(sent);
});
