import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { columnsOf } from '../../../src/cli/report/diagnostics.ts';
import { fittedCommand, fittedPath, nextLines, wrappedWords } from '../../../src/cli/report/fit.ts';
import { painter, rowsText } from '../../../src/cli/report/run.ts';

const cwd = '/home/ada/projects/payments';
const id = '01J0000000ABCDEFGHJKMNPQRS';

describe('a path that people read', () => {
  it.each([
    [`${cwd}/.factory/runs/${id}`, `.factory/runs/${id}`],
    [`${cwd}/.factory/runs/${id}/verify/`, `.factory/runs/${id}/verify/`],
    [cwd, '.'],
    ['/home/ada/projects/other/.factory', '../other/.factory'],
    ['/var/lib/runs/one', '/var/lib/runs/one'],
    ['out/a.py', 'out/a.py'],
    [`/srv/a-customer-with-a-long-name/services/gateway/runs/${id}/workspace`, `/srv/…/${id}/workspace`],
  ])('%s is shown as %s', (path, shown) => {
    expect(fittedPath(path, { cwd }, 60)).toBe(shown);
  });

  it('is never wider than its room', () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-z.]{1,30}$/), { maxLength: 12 }), (folders) => {
        expect(fittedPath(`/${folders.join('/')}`, { cwd }, 40).length).toBeLessThanOrEqual(40);
      }),
    );
  });
});

describe('words', () => {
  it('wrap between blanks only, and nothing is lost', () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-z/]{1,50}$/)), (words) => {
        const text = words.join(' ');
        const lines = wrappedWords(text, 30, '  ').split('\n');
        expect(lines.map((line) => line.trim()).join(' ')).toBe(text);
        for (const line of lines.filter((one) => columnsOf(one) > 30)) expect(line.trim()).not.toContain(' ');
      }),
    );
  });

  it('keep the blanks of code, and lines that fit', () => {
    expect(wrappedWords('    if a:  b\nnext', 20, '  ')).toBe('    if a:  b\nnext');
    expect(wrappedWords('    if a:  b else c', 14, '  ')).toBe('    if a:  b\n  else c');
  });
});

describe('a command that is copied', () => {
  it.each([
    ['factory resume X', 'factory resume X'],
    ['factory resume X # after adding an edge', 'after adding an edge:\n      factory resume X'],
    [`factory resume ${id} --accept-changes`, `\nfactory resume ${id} --accept-changes`],
    [
      `factory resume ${id} --accept-changes # after an edit`,
      `after an edit:\nfactory resume ${id} --accept-changes`,
    ],
  ])('%s stays whole', (command, shown) => {
    expect(fittedCommand(command, { columns: 36 }, 6, String)).toBe(shown);
  });

  it('is on one line in a pipe', () => {
    const command = `factory resume ${id} --accept-changes # after an edit`;
    expect(nextLines(command, undefined)).toEqual([`next: ${command}`]);
    expect(rowsText([['next', command, 'next']], painter(false), undefined)).toEqual([
      `  next      ${command}`,
    ]);
  });

  it('leaves no blank behind the name of its row', () => {
    const [row] = rowsText([['next', `factory resume ${id}`, 'next']], painter(false), { columns: 40, cwd });
    expect(row).toBe(`  next\nfactory resume ${id}`);
  });
});
