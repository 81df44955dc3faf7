/** Holdout leaks and changes of tests, through the built command line. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { git } from '../builder/support.ts';
import { home } from '../support/in-process.ts';
import { base, done, five, inDot, line, pipeline, script, wrote } from '../support/sealed-run.ts';

const at = '.factory/runs/r1';

test('no prompt contains a line of the holdout scenarios', async () => {
  await using it = await home({
    ...base,
    'p.dot': pipeline({ prompt: 'zx81-blue-heron' }),
    'agent.json': script(done()),
  });
  await it.factory(['run', 'p.dot', '--workdir', 'w', '--run-id', 'r1', '-q']);
  expect(await it.list(`${at}/work`)).not.toContain('response.md');
  const audited = await it.factory(['audit', 'r1', '--json']);
  expect(audited.code).toBe(1);
  expect(JSON.parse(audited.stdout).findings).toMatchObject([
    { code: 'holdout-canary', where: 'work/prompt.md', node: 'work', visit: 1, sealed: { file: 1, line: 3 } },
  ]);
});

test('a tool that sees the scenarios passes nothing on in a compressed file or in names of empty folders', async () => {
  const deeds = {
    packed: 'gzip -c scripts/scenarios/* > kept.gz',
    named:
      'test -e $PWD.go || grep -v / scripts/scenarios/* -h | while read -r l; do mkdir -p \\"kept/$l\\"; done',
  };
  await using it = await home({
    ...base,
    ...Object.fromEntries(
      Object.entries(deeds).map(([name, text]) => [
        `${name}.dot`,
        `digraph g { start [shape=Mdiamond] exit [shape=Msquare]
          t [shape=parallelogram, tool_command="${text}"]
          start -> t
          t -> exit [condition="outcome=success"] }`,
      ]),
    ),
  });
  for (const [name, where] of [
    ['packed', 'kept.gz'],
    ['named', 'the name of a file or folder'],
  ] as const) {
    const ran = await it.factory(['run', `${name}.dot`, '--workdir', 'w', '--run-id', name, '-q']);
    expect(ran.code).toBe(1);
    expect(ran.stdout + ran.stderr).toMatch(new RegExp(`holdout_leak: ${where}`));
  }
  // The workspace is restored, so only the records of the run show it.
  const story = { code: 'holdout-canary', node: 't', visit: 1, where: 'journal.jsonl' };
  const ended = await it.factory(['audit', 'named', '--json']);
  expect(JSON.parse(ended.stdout).findings).toMatchObject([{ ...story, severity: 'error' }]);
  await writeFile(join(it.path, '.factory/runs/named/workspace.go'), '');
  const again = await it.factory(['resume', 'named', '-q']);
  expect(again.code, again.stderr).toBe(0);
  const audited = await it.factory(['audit', 'named', '--json']);
  expect(JSON.parse(audited.stdout).findings).toMatchObject([{ ...story, severity: 'warning' }]);
  expect(audited.code).toBe(0);
});

test.for([
  'codex.allow_read_scenarios=true',
  'openai.allow_read_scenarios="True"',
  'claude.allow_read_scenarios="1"',
])('a node with %s may receive, print and write any text', async (said) => {
  const agent = `${said},`;
  const answers = script(done({ notes: line }, [{ path: 'src/notes.md', content: five }]));
  await using it = await home({
    ...base,
    'p.dot': pipeline({ agent, prompt: inDot(line) }),
    'agent.json': answers,
  });
  const ran = await it.factory(['run', 'p.dot', '--workdir', 'w', '--run-id', 'r1', '-q', '--json']);
  expect(ran.code, ran.stderr + ran.stdout).toBe(0);
  expect(JSON.parse(ran.stdout).audit).toMatchObject({ findings: 0, errors: 0, warnings: 0 });
});

test('a resume after a leak reruns the node, and completes if the leak does not recur', async () => {
  await using it = await home({
    ...base,
    'p.dot': pipeline(),
    'agent.json': script(wrote('src/notes.md', line)),
    'better.json': script(wrote('src/notes.md', 'all well\n')),
  });
  expect((await it.factory(['run', 'p.dot', '--workdir', 'w', '--run-id', 'r1', '-q'])).code).toBe(1);
  const again = await it.factory([
    'resume',
    'r1',
    '-q',
    '--script',
    'better.json',
    '--accept-changes',
    '--json',
  ]);
  expect(again.code, again.stderr + again.stdout).toBe(0);
  expect(JSON.parse(again.stdout)).toMatchObject({ status: 'completed', failed_node: null });
  expect(await it.read(`${at}/workspace/src/notes.md`)).toBe('all well\n');
  // The record of the first attempt still shows it.
  const audited = await it.factory(['audit', 'r1', '--json']);
  expect(audited.code).toBe(1);
  expect(JSON.parse(audited.stdout).findings).toMatchObject([
    { code: 'holdout-canary', severity: 'error', node: 'work', visit: 1, where: 'workspace/src/notes.md' },
  ]);
});

test('changed tests are found by the audit, which changes nothing', async () => {
  await using it = await home({
    ...base,
    'p.dot': pipeline(),
    'agent.json': script(
      wrote(
        'tests/test_app.py',
        'def test_level():\n    assert level(2) in (4, 5, 6)\n    assert level(3) == 7\n',
      ),
    ),
  });
  const ran = await it.factory(['run', 'p.dot', '--workdir', 'w', '--run-id', 'r1', '-q']);
  expect(ran.code, ran.stderr).toBe(0);
  expect(await it.json(`${at}/result.json`)).toMatchObject({
    status: 'completed',
    audit: { findings: 1, errors: 0, warnings: 1 },
  });
  const before = await it.list(at);
  const audited = await it.factory(['audit', 'r1', '--json']);
  expect(audited.code).toBe(0);
  const report = JSON.parse(audited.stdout);
  expect(await it.json(`${at}/audit.json`)).toMatchObject({ findings: report.findings, errors: 0 });
  expect(report.findings).toMatchObject([{ code: 'test-changed', path: 'tests/test_app.py', line: 2 }]);
  const text = await it.factory(['audit', 'r1']);
  expect(text.stdout).toContain('warning[test-changed]: work@1: ');
  expect(text.stdout).toContain('--> workspace/tests/test_app.py:2');
  expect(await it.list(at)).toEqual(before);
});

test('leaks in messages and files of commits are found, and nothing is reported twice', async () => {
  const weak = 'def test_level():\n    assert level(2) in (4, 5, 6)\n    assert level(3) == 7\n';
  const kept =
    '  tool -> spare [condition="context.x=1"] spare [type=tool, tool_command="factory order next"]\n';
  await using it = await home({
    ...base,
    'w/tests/test_other.py': 'def test_other():\n    assert sum([1, 2]) == 3\n',
    'p.dot': pipeline({ graph: `${kept}  spare -> exit` }),
    'agent.json': script(wrote('tests/test_app.py', weak)),
  });
  const ran = await it.factory(['run', 'p.dot', '--workdir', 'w', '--run-id', 'r1', '-q']);
  expect(ran.code, ran.stderr).toBe(0);
  // Files from before the run are in a separate commit, with the scenarios: that is no leak.
  const honest = JSON.parse((await it.factory(['audit', 'r1', '--json'])).stdout);
  expect(honest.findings).toMatchObject([{ code: 'test-changed', node: 'work' }]);
  const workspace = join(it.path, at, 'workspace');
  const inHistory = (...args: string[]) =>
    git(workspace, '--git-dir', '../history.git', '--work-tree', '.', ...args);
  await writeFile(join(workspace, 'kept.txt'), five);
  await writeFile(join(workspace, 'src/app.py'), 'print("hello")\n# zx81-blue-heron\n');
  inHistory('add', 'kept.txt', 'src/app.py', 'tests/test_app.py');
  inHistory('rm', '-q', '--cached', 'tests/test_other.py');
  inHistory('commit', '-q', '-m', `done\n\n${line}`);
  inHistory('update-ref', 'refs/factory/head', 'HEAD');
  const id = inHistory('rev-parse', '--short=12', 'HEAD');
  const audited = await it.factory(['audit', 'r1', '--json']);
  expect(audited.code).toBe(1);
  const report = JSON.parse(audited.stdout);
  const found = report.findings.map((one: Record<string, unknown>) => [
    one['code'],
    one['where'],
    one['line'],
  ]);
  expect(found).toEqual([
    ['holdout-canary', `commit ${id} (message)`, 4],
    ['holdout-canary', `commit ${id}: kept.txt`, 4],
    ['holdout-canary', `commit ${id}: src/app.py`, 2],
    ['test-file-deleted', `commit ${id}: tests/test_other.py`, null],
    ['test-changed', 'workspace/tests/test_app.py', 2],
  ]);
  expect(report.looked_at).toMatchObject({ commits: 1, files: 3 });

  // If git must not be called, the report names what was not checked.
  inHistory('config', 'core.fsmonitor', 'true');
  const foreign = JSON.parse((await it.factory(['audit', 'r1', '--json'])).stdout);
  expect(foreign.notes).toEqual([expect.stringMatching(/^the commits could not be read: .*fsmonitor/)]);
  expect(foreign.findings).toMatchObject([{ code: 'test-changed', node: 'work' }]);
});

test('with audit=strict an error makes the run fail, in all of its records', async () => {
  // Also if the replacement of the tests exists elsewhere from the beginning.
  const answers = script(wrote('tests/test_app.py', base['w/src/app.py']));
  await using it = await home({
    ...base,
    'p.dot': pipeline({ graph: 'audit=strict' }),
    'agent.json': answers,
  });
  const ran = await it.factory(['run', 'p.dot', '--workdir', 'w', '--run-id', 'r1', '-q', '--json']);
  expect(ran.code, ran.stderr).toBe(1);
  const result = JSON.parse(ran.stdout);
  expect(result).toMatchObject({ status: 'failed', exit_node: 'exit', exit_code: 1 });
  expect(result.reason).toMatch(/^audit: \d errors?; first workspace\/tests\/test_app.py:\d: /);
  expect(result.next).toContain('audit r1');
  expect(await it.json(`${at}/checkpoint.json`)).toMatchObject({
    status: 'failed',
    ended: { ok: false, code: 1 },
  });
  for (const file of ['events', 'trace'])
    expect((await it.records(`${at}/${file}.jsonl`)).at(-1)).toMatchObject({
      type: 'PipelineFailed',
      error: result.reason,
    });
  const events = await it.read(`${at}/events.jsonl`);
  const resumed = await it.factory(['resume', 'r1', '-q', '--json']);
  expect(resumed.code).toBe(1);
  expect(JSON.parse(resumed.stdout).reason).toBe(result.reason);
  expect(await it.read(`${at}/events.jsonl`)).toBe(events);
});

test('a clean run is reported as clean, and a run without holdout names what was not checked', async () => {
  const answers = script(wrote('src/app.py', 'print("ships")\n'));
  // A tool may print the scenarios, with shape=box too.
  const boxes = pipeline({ tool: 'cat scripts/scenarios/judge.sh' }).replace(
    'tool [shape=parallelogram',
    'tool [shape=box, type=tool',
  );
  await using it = await home({ ...base, 'p.dot': boxes, 'agent.json': answers });
  const ran = await it.factory(['run', 'p.dot', '--workdir', 'w', '--run-id', 'r1']);
  expect(ran.code, ran.stderr).toBe(0);
  expect(ran.stderr + ran.stdout).toMatch(/audit {5}nothing found/);
  const audited = await it.factory(['audit', 'r1']);
  expect(audited.code, audited.stdout).toBe(0);
  expect(audited.stdout).toMatch(/looked at 4 visits, 6 texts, 1 file, 0 commits for \d+ canaries/);
  expect(audited.stdout).toContain('✓ audit of r1: nothing found');

  const without = await it.factory(['audit', 'r1'], { env: { FACTORY_KEYS: join(it.path, 'nowhere') } });
  expect(without.code).toBe(1);
  expect(without.stdout).toContain(
    'leaks could not be looked for: the key of the sealed scenarios is not there',
  );
  expect(without.stdout).not.toContain('✓');

  const open = pipeline().replace('holdout="scripts/scenarios/"', '');
  await using other = await home({ 'spec.md': 'x', 'w/a': 'a', 'p.dot': open, 'agent.json': script(done()) });
  const second = await other.factory(['run', 'p.dot', '--workdir', 'w', '--run-id', 'r1']);
  expect(second.code, second.stderr).toBe(0);
  expect(second.stderr + second.stdout).not.toContain('audit ');
  const told = await other.factory(['audit', 'r1']);
  expect(told.code).toBe(0);
  expect(told.stdout).toContain(
    'this run has no holdout: only changes of tests and of what runs them were looked for',
  );
});

test('a changed test file is a warning, and a spec with text of the scenarios is an error', async () => {
  const asks = pipeline({ prompt: 'Rewrite tests/test_app.py for the new levels.', graph: 'audit=strict' });
  await using it = await home({
    ...base,
    'p.dot': asks,
    'agent.json': script(wrote('tests/test_app.py', 'def test_level():\n    assert level(3) == 7\n')),
    'shows.md': 'Ships lie where zx81-blue-heron says.\n',
  });
  const run = ['run', 'p.dot', '--workdir', 'w', '-q'];
  const ran = await it.factory([...run, '--run-id', 'r1']);
  expect(ran.code, ran.stderr + ran.stdout).toBe(0);
  expect(await it.json(`${at}/audit.json`)).toMatchObject({
    findings: [{ code: 'test-changed', severity: 'warning', sure: 'possible' }],
  });
  const shown = await it.factory([...run, '--run-id', 'r2', '--var', 'spec=shows.md']);
  expect(shown.stdout + shown.stderr).toContain('holdout_leak: the file of the variable "spec"');
  const audited = await it.factory(['audit', 'r2', '--json']);
  expect(JSON.parse(audited.stdout).findings).toMatchObject([
    { code: 'holdout-canary', severity: 'error', where: 'the file of the variable "spec"', line: 1 },
    { code: 'holdout-canary', severity: 'error', where: 'journal.jsonl' },
  ]);
});

test('a test that is restored later is a warning', async () => {
  const weak = 'def test_level():\n    assert level(2) in (4, 5, 6)\n    assert level(3) == 7\n';
  await using it = await home({
    ...base,
    'p.dot': pipeline({ tool: 'grep -q more src/rows.txt' }),
    'agent.json': script(
      done({}, [
        { path: 'src/rows.txt', content: '' },
        { path: 'tests/test_app.py', content: weak },
      ]),
      done({}, [
        { path: 'src/rows.txt', content: 'more\n' },
        { path: 'tests/test_app.py', content: base['w/tests/test_app.py'] },
      ]),
    ),
  });
  const ran = await it.factory(['run', 'p.dot', '--workdir', 'w', '--run-id', 'r1', '-q']);
  expect(ran.code, ran.stderr).toBe(0);
  expect(await it.json(`${at}/audit.json`)).toMatchObject({
    findings: [
      { severity: 'warning', visit: 1, message: expect.stringMatching(/restored by the end of the run\)$/) },
    ],
  });
});
