import { expect, test } from 'vitest';
import { outputOf } from '../../../src/platform/process/run-sync.ts';

const options = { input: 'in', timeoutMs: 20_000 };

test('a program is run outside the workspace, and what it prints is the answer', () => {
  expect(outputOf('sh', ['-c', 'cat; pwd'], options)).toBe('in/\n');
});

test('a program that crashes has said what it said before', () => {
  expect(outputOf('sh', ['-c', 'echo a; kill -9 $$'], options)).toBe('a\n');
  expect(
    outputOf('sh', ['-c', 'exec <&-; echo a; exit 3'], { ...options, input: 'x'.repeat(1_000_000) }),
  ).toBe('a\n');
});

test('a program that gives no answer in time is killed', () => {
  expect(outputOf('sh', ['-c', 'echo a; exec sleep 600'], { ...options, timeoutMs: 2_000 })).toBe('a\n');
});

test('a program that does not exist says nothing', () => {
  expect(outputOf('no-such-program', [], options)).toBe('');
});
