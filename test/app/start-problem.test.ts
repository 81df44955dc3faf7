import { expect, test } from 'vitest';
import { problemOfStart } from '../../src/app/detach.ts';

test('why a start was refused begins with the place of the problem', () => {
  const place = { file: '/w/p.dot', span: { start: { line: 3, column: 9 } } };
  const problem = { code: 'unclosed-brace', message: 'this brace is never closed', fix: 'close it with }' };
  const said = (more: object) =>
    problemOfStart({ stdout: JSON.stringify({ problems: [{ ...problem, ...more }] }), stderr: '' });
  expect(said({ place }).message).toBe('/w/p.dot:3:9: this brace is never closed');
  expect(said({})).toEqual(problem);
});
