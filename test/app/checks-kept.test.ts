/** Products that change the check that runs them. */
import { expect, test } from 'vitest';
import { noBwrap } from '../platform/sandbox/machine.ts';
import { house } from '../support/house.ts';

/** The shell reads the rest of its script when the product has ended. */
const check = `sh bin/product.sh > out.txt\nif ! grep -q right out.txt\nthen exit 1\nfi\n`;

/** Runs a check of a product that an agent writes. */
async function checked(product: string, sandbox: 'bwrap' | 'none', attributes = '') {
  const it = await house({
    'w/check.sh': check,
    'w/tests/sub/all.test.sh': 'true\n',
    'w/agent.sh': `mkdir -p bin; cat > bin/product.sh <<'END'\n${product}\nEND\n`,
    'p.dot': `digraph g { start [shape=Mdiamond] exit [shape=Msquare]
      work [shape=box, agent=command, prompt="x", command.run="sh agent.sh", response_via=none]
      check [shape=parallelogram, tool_command="sh check.sh"${attributes}]
      start -> work -> check; check -> exit [condition="outcome=success"] }`,
  });
  await it.run('p.dot', { workdir: 'w', runId: 'r1', sandbox });
  const { failure_reason: reason, failure_class: of } = it.json('.factory/runs/r1/check/status.json');
  return { it, reason, of, script: it.read('.factory/runs/r1/workspace/check.sh') };
}
const overwrites = `printf 'exit 0\\n%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 > check.sh`;

test.for<[string, string, string]>([
  ['overwrites the check', overwrites, 'check\\.sh'],
  [
    'overwrites it and puts it back',
    `cp check.sh /tmp/c$$; ${overwrites}; cat /tmp/c$$ > check.sh; echo right`,
    'check\\.sh',
  ],
  ['rewrites itself at its end', `echo 'echo wrong' > bin/product.sh; echo right`, 'bin/product\\.sh'],
  [
    'replaces the folder of the tests for a while',
    'mv tests t; mkdir tests; rmdir tests; mv t tests; echo right',
    'tests',
  ],
])('a product that %s fails its check, and what it changed is restored', async ([, product, path]) => {
  const { it, reason, of, script } = await checked(product, 'none');
  await using _ = it;
  expect(of).toBe('guardrail');
  expect(reason).toMatch(
    new RegExp(`^guardrail_violation: wrote disallowed files: ${path} \\(.*verification\\.may_change`),
  );
  expect(script).toBe(check);
});

test.skipIf(noBwrap !== undefined).for<[string, string, RegExp]>([
  [
    'overwrite the check',
    overwrites,
    /a check uses check\.sh, which is read-only meanwhile: .*may_change="check\.sh"/,
  ],
  ['rename the folders of its tests', 'mv tests t || mv tests/sub t', /tool_exit_code_1/],
])('in the sandbox a product cannot %s', async ([, product, wanted]) => {
  const { it, reason, script } = await checked(`${product} || exit 1; echo wrong`, 'bwrap');
  await using _ = it;
  expect(reason).toMatch(wanted);
  expect(script).toBe(check);
});

test('a file that may change is none of them', async () => {
  const more = ', "verification.may_change"="bin/"';
  const { it, reason } = await checked(`echo 'echo wrong' > bin/product.sh; echo right`, 'none', more);
  await using _ = it;
  expect(reason ?? '').toBe('');
});

const forges = `import importlib.util as u, importlib._bootstrap_external as b, os
it = os.stat("test_calc.py")
code = compile("import unittest\\nclass T(unittest.TestCase):\\n    def test_a(self): pass", "test_calc.py", "exec")
path = u.cache_from_source("test_calc.py")
os.makedirs(os.path.dirname(path), exist_ok=True)
open(path, "wb").write(b._code_to_timestamp_pyc(code, int(it.st_mtime), it.st_size))
`;

test('a check of Python runs the tests, not bytecode that an agent has put next to them', async () => {
  await using it = await house({
    'w/test_calc.py':
      'import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.assertEqual(1, 2)\n',
    'w/forge.py': forges,
    'p.dot': `digraph g { start [shape=Mdiamond] exit [shape=Msquare]
      work [shape=box, agent=command, prompt="x", command.run="python3 forge.py", response_via=none]
      check [shape=parallelogram, tool_command="python3 -m unittest"]
      start -> work -> check; check -> exit [condition="outcome=success"] }`,
  });
  await it.run('p.dot', { workdir: 'w', runId: 'r1', sandbox: 'none' });
  expect(it.json('.factory/runs/r1/check/status.json').outcome).toBe('fail');
  expect(it.read('.factory/runs/r1/check/tool.stderr.txt')).toContain('1 != 2');
});
