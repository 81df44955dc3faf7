/** Small changes of tests and scripts, to be judged. */
import type { FileChange } from '../../src/policy/tampering.ts';

export const path = 'tests/test_t.py';
export const one = 'def test_level():\n    assert level() == 3\n';
export const ebb = 'def test_ebb():\n    assert ebb() == 1\n    assert ebb(2) == 0\n';
export const two = `${one}\n\n${ebb}`;
export const py = (before: string, after: string): readonly FileChange[] => [{ path, before, after }];
export const line = (before: string, after: string) =>
  py(`def test_level():\n    ${before}\n`, `def test_level():\n    ${after}\n`);
export const ts = (before: string, after: string): readonly FileChange[] =>
  [before, after].flatMap((_, nth, [was, is]) =>
    nth > 0
      ? []
      : [
          {
            path: 'a.test.ts',
            before: `it('a', () => {\n  ${was};\n});\n`,
            after: `it('a', () => {\n  ${is};\n});\n`,
          },
        ],
  );
export const sh = (before: string, after: string): readonly FileChange[] => [
  { path: 'tests/run.sh', before: `#!/bin/sh\n${before}`, after: `#!/bin/sh\n${after}` },
];
