import { describe, expect, test } from 'vitest';
import { isRelevant, normalMessage, signatureOf } from '../../src/core/failure-signature.ts';

describe('a normalised message', () => {
  test.for([
    ['numbers', 'got 12 of 345, 1,024.5 left', 'got 99 of 1, 2 left'],
    ['durations', 'ok after 12ms, done in 1m 2.5s', 'ok after 1.250s, done in 59 seconds'],
    ['hex words', 'at 0x7ffe12ab, commit deadbeef1234', 'at 0x1, commit 0123456789abcdef'],
    ['temporary places', 'cannot read /tmp/tmp.Ab12/x.txt: gone', 'cannot read /var/folders/zz/T/1/x: gone'],
    ['times', 'at 2026-01-02T03:04:05.678Z it broke', 'at 2025-12-31 23:59:59,1+01:00 it broke'],
    ['dates of old', 'Mon Nov 21 15:58:07 UTC 2026: no', 'Tue Jan  3 05:08:07 UTC 2027: no'],
    ['hours', '[12:34:56] failed', '[1:02:03.004] failed'],
    ['processes and ports', 'pid 4242 on 127.0.0.1:51234', 'pid 7 on 127.0.0.1:8'],
    ['lines and columns', 'src/a.js:12:5 unexpected', 'src/a.js:130:17 unexpected'],
    ['colours', '\u001b[31mFAIL\u001b[0m x', 'FAIL x'],
    ['links of terminals', '\u001b]8;;file:///a\u0007x\u001b]8;;\u0007', 'x'],
    ['names of runs', 'run 01M7YTMNES3R9PGB3FW8JRDZ0Z', 'run 01KZZZMNES3R9PGB3FW8JRDZ0Z'],
    ['identifiers', 'id 123e4567-e89b-12d3-a456-426614174000', 'id 00000000-0000-0000-0000-000000000000'],
    ['blanks and line ends', 'a  b\r\n\r\n c', 'a b\nc'],
  ] as const)('%s', ([, one, other]) => {
    expect(normalMessage(one)).toBe(normalMessage(other));
  });

  test.for([
    ['words', 'cannot read a.txt', 'cannot read b.txt'],
    ['names with a digit', 'test_case1 failed', 'test_case2 failed'],
    ['places of the workspace', 'src/a.js: no', 'src/b.js: no'],
    ['how much was said', 'no', 'no\nno'],
  ] as const)('distinguishes: %s', ([, one, other]) => {
    expect(normalMessage(one)).not.toBe(normalMessage(other));
  });

  test.for([
    ['/scratch/me/', 'no /scratch/me/build.Qx/out: gone', 'no /scratch/me/build.Zz: gone', true],
    ['/scratch/me', 'no /scratch/mew/a: gone', 'no /scratch/mew/b: gone', false],
    ['/me', 'no /scratch/me/a: gone', 'no /scratch/me/b: gone', false],
    ['/a.c', 'no /abc/a: gone', 'no /abc/b: gone', false],
    ['/', 'no /scratch/a: gone', 'no /scratch/b: gone', false],
  ] as const)('with %s for temporary files: %s', ([temporary, one, other, alike]) => {
    expect(normalMessage(one, temporary) === normalMessage(other, temporary)).toBe(alike);
  });
});

describe('a signature', () => {
  const failure = {
    node: 'judge',
    class: 'product',
    command: 'sh a.sh',
    reason: 'tool_exit_code_1',
    output: 'x',
  };
  test('is the same for failures that differ in numbers only', () => {
    const of = (n: number) => signatureOf({ ...failure, output: `took ${n}ms\nwrong at line ${n}` });
    expect(of(1).id).toBe(of(234).id);
    expect(of(7).head).toBe('tool_exit_code_1: wrong at line #');
  });
  test.for([
    { node: 'other' },
    { class: 'infra' },
    { command: 'sh b.sh' },
    { reason: 'tool_exit_code_2' },
    { output: 'y' },
  ])('differs with %o', (more) => {
    expect(signatureOf({ ...failure, ...more }).id).not.toBe(signatureOf(failure).id);
  });
  test('uses the end of long outputs, and its head stays short', () => {
    const long = (start: string) => `${start}\n${'the same line\n'.repeat(1000)}`;
    const one = signatureOf({ ...failure, output: long('a') });
    expect(one.id).toBe(signatureOf({ ...failure, output: long('b') }).id);
    expect(signatureOf({ ...failure, output: 'x'.repeat(5000) }).head.length).toBeLessThanOrEqual(200);
  });
});

test('caches and logs of tools do not count as changes', () => {
  for (const path of [
    'a/__pycache__/x.pyc',
    '.factory/order/state.json',
    'npm.log',
    'logs/1',
    'coverage/i.html',
  ])
    expect(isRelevant(path), path).toBe(false);
  for (const path of ['src/a.js', 'logger.ts', 'coverage.md', 'a/logs.py', 'dialog', '.gitignore'])
    expect(isRelevant(path), path).toBe(true);
});
