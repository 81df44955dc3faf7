import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { checkPlan } from '../../src/planner/compile.ts';
import { readPython } from '../../src/platform/python.ts';
import { noPython } from '../support/python.ts';

const checked = (text: string) => readPython([text]).get(text);
const planOf = (...commands: readonly string[]) => {
  const order = {
    ...{ id: 'WO-01', title: 't', intent: 'i', preconditions: [], forbidden: [], context_files: [] },
    ...{ postconditions: [{ kind: 'file_exists', path: 'a' }], allowed_files: ['a'], notes: null },
    acceptance_commands: commands,
  };
  return JSON.stringify({ work_orders: [order] });
};
const findingsOf = (...commands: readonly string[]) =>
  checkPlan(planOf(...commands), { repoFiles: [], strict: true }).findings;

/** Replaces `python3` on PATH by this script, or by nothing. Returns the path of its folder. */
function withPython(script: string | undefined): string {
  const folder = mkdtempSync(join(tmpdir(), 'python-'));
  if (script !== undefined) writeFileSync(join(folder, 'python3'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  vi.stubEnv('PATH', folder);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true });
  });
  return folder;
}

describe.skipIf(noPython !== '')(`with the installed Python ${noPython}`, () => {
  test.for(['', 'x = 1.', 'return 1', 'await x', 'with (open(a) as b, open(c) as d): pass', '"\ud800é"'])(
    '%j is valid',
    (text) => {
      expect(checked(text)).toEqual({ kind: 'valid', imports: [] });
    },
  );

  test.for(['def', "print 'x'", 'f() = 1', '0777', 'try: pass', ' x', 'x\u0000', '('.repeat(300)])(
    '%j is invalid, and the problem names the version',
    (text) => {
      expect(checked(text)).toEqual({
        kind: 'invalid',
        problem: expect.stringMatching(/^not valid Python 3\.\d+: ./),
      });
    },
  );

  test('imports are listed outermost first, with duplicates', () => {
    const text =
      'def f():\n  import inner.one as i\n  if x:\n    from deep import *\nimport outer, outer\n' +
      'from .rel import a\nfrom . import b\ntry: import opt\nexcept E: import late';
    const imports = ['outer', 'outer', 'rel', 'inner.one', 'opt', 'deep', 'late'];
    expect(checked(text)).toEqual({ kind: 'valid', imports });
  });

  test('each program of a plan has a separate result', () => {
    const codes = findingsOf('python -c "def"', 'python3 -c "def"', 'python -c "import zed"', 'python -c 1');
    expect(codes.map(({ code }) => code)).toEqual(['E006', 'E207', 'W101']);
    expect(codes[0]?.message).toMatch(/"python -c \\"def\\"" is not valid Python 3\.\d+: .+ \(line 1\)$/);
  });
});

test('without python3 programs are not checked, with a warning', () => {
  withPython(undefined);
  const messages = findingsOf('python -c "def"', 'env python3 -c "def"').map(
    ({ code, message }) => `${code} ${message}`,
  );
  expect(messages).toEqual([
    expect.stringMatching(/^W102 .*was not checked: no python3$/),
    expect.stringMatching(/^W102 .*was not checked: no python3$/),
  ]);
});

test('programs at which python3 crashes or does not answer are not checked, those before are', () => {
  withPython('echo 3.11; echo \'["a"]\'; echo null; printf [; kill -9 $$');
  expect([...readPython(['a', 'b', 'c', 'd']).values()]).toEqual([
    { kind: 'valid', imports: ['a'] },
    ...['b', 'c', 'd'].map(() => ({ kind: 'unchecked', why: 'python3 gave no answer' })),
  ]);
});

test('one process checks all programs of a plan, and none is started without programs', () => {
  const folder = withPython('echo x >>"${0%/*}/starts"; echo 3.11');
  const starts = () => readFileSync(join(folder, 'starts'), 'utf8');
  findingsOf('node -e 1', 'python a.py', 'python -m unittest');
  expect(starts).toThrow('ENOENT');
  findingsOf('python -c 1', 'python -c 2', 'python3 -Ic 3');
  expect(starts()).toBe('x\n');
});
