/** Permissions and outcomes of nodes, with the built command line. */
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { type Home, home } from '../support/in-process.ts';

const pipeline = (nodes: string, edges: string) => `digraph g { graph [goal="g"]
  start [shape=Mdiamond] exit [shape=Msquare] bad [shape=Msquare, outcome=fail]
  ${nodes}
  start -> ${edges} }`;
const run = async (it: Home, args: readonly string[] = [], env: Record<string, string> = {}) =>
  it.factory(['run', 'p.dot', '--run-id', 'r1', '--workdir', 'w', ...args], { env });
const status = async (it: Home, node: string) =>
  (await it.json(`.factory/runs/r1/${node}/status.json`)) as Record<string, unknown>;
const withTool = (attributes: string) =>
  home({
    'p.dot': pipeline(
      `t [shape=parallelogram, ${attributes}]`,
      't; t -> exit [condition="outcome=success || outcome=partial_success || outcome=skipped"]; t -> bad [condition="outcome=fail"]',
    ),
    'w/seed.txt': 'seed\n',
  });

/** What `$FACTORY_OUTPUT` holds, the command, the outcome, and for a failure its class and reason. */
const outputs: readonly (readonly [string, string, string, string?, RegExp?])[] = [
  ['absent: the exit code decides', 'exit 4', 'fail', 'product', /^tool_exit_code_4$/],
  [
    'exit code 0 may come with fail',
    `echo '{\\"outcome\\":\\"fail\\",\\"failure_reason\\":\\"no\\",\\"failure_class\\":\\"scenario\\"}' > $FACTORY_OUTPUT`,
    'fail',
    'scenario',
    /^no$/,
  ],
  ['exit code 0 may come with skipped', `echo '{\\"outcome\\":\\"skipped\\"}' > $FACTORY_OUTPUT`, 'skipped'],
  [
    'another exit code is a failure whatever the file contains, with the reason of the file',
    `echo '{\\"outcome\\":\\"success\\",\\"failure_reason\\":\\"because\\"}' > $FACTORY_OUTPUT; exit 2`,
    'fail',
    'product',
    /^because$/,
  ],
  ['invalid JSON is a failure of the configuration', 'echo nonsense > $FACTORY_OUTPUT', 'fail', 'config'],
  [
    'more than 1 MiB is too much, also in characters of several bytes',
    `printf '{\\"notes\\":\\"%0524288d\\"}' 0 | sed s/0/é/g > $FACTORY_OUTPUT`,
    'fail',
    'config',
    /larger than 1 MiB$/,
  ],
  ['a class on standard error counts', 'echo failure_class=infra >&2; exit 1', 'fail', 'infra'],
  ['exit 86 means the machine', 'exit 86', 'fail', 'infra'],
  ['exit 127 means the configuration', 'no-such-program-here', 'fail', 'config'],
];
test.for(outputs)('$FACTORY_OUTPUT: %s', async ([, command, outcome, failureClass, reason = /^/]) => {
  await using it = await withTool(`tool_command="${command}"`);
  await run(it);
  const found = await status(it, 't');
  expect(found).toMatchObject({ outcome, ...(failureClass && { failure_class: failureClass }) });
  expect(found['failure_reason'] ?? '').toMatch(reason);
});

test('secrets are masked in a file that is too large to be read', async () => {
  await using it = await withTool(
    `env_pass="MY_TOKEN", tool_command="(yes filler-$MY_TOKEN-filler | head -n 70000) > $FACTORY_OUTPUT"`,
  );
  await run(it, [], { MY_TOKEN: 's3cret-value-9' });
  const left = await it.read('.factory/runs/r1/t/output.json');
  expect(left.slice(0, 35)).toBe('filler-***-filler\nfiller-***-filler');
  expect(left).not.toContain('s3cret');
  expect((await it.factory(['verify', 'r1'])).code).toBe(0);
});

test('a node that times out is ended with all its children, and leaves only by a condition', async () => {
  await using it = await home({
    'p.dot': pipeline(
      't [shape=parallelogram, timeout=500ms, tool_command="setsid sh -c \'echo $$ > pid; exec sleep 600\' & sleep 600"]',
      't; t -> exit; t -> bad [condition="failure_class=timeout"]',
    ),
    'w/seed.txt': '',
  });
  // In a sandbox a process has another id.
  const ran = await run(it, [], { FACTORY_SANDBOX: 'none' });
  expect(ran.code).toBe(1);
  expect(await status(it, 't')).toMatchObject({ outcome: 'fail', failure_class: 'timeout' });
  const pid = Number(await it.read('.factory/runs/r1/workspace/pid'));
  const state = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => 'gone');
  expect(state === 'gone' || / Z /.test(state)).toBe(true);
  const events = await it.records('.factory/runs/r1/events.jsonl');
  expect(events.filter((e) => e['type'] === 'StageStarted').map((e) => e['node_id'])).toEqual([
    'start',
    't',
    'bad',
  ]);
});

test('a node that runs again keeps the files of its earlier executions', async () => {
  await using it = await home({
    'p.dot': pipeline(
      't [shape=parallelogram, tool_command="echo x >> n; test $(wc -l < n) -ge 3"]',
      't; t -> exit [condition="outcome=success"]; t -> t [condition="outcome=fail"]; t -> bad [condition="outcome=retry"]',
    ),
    'w/seed.txt': '',
  });
  expect((await run(it)).code).toBe(0);
  expect(await it.list('.factory/runs/r1/t/visits')).toEqual(['1', '2']);
  expect(await it.json('.factory/runs/r1/t/visits/2/status.json')).toMatchObject({ outcome: 'fail' });
  expect(await status(it, 't')).toMatchObject({ outcome: 'success' });
});

test('a tool ended by a signal has the matching exit code as its reason, and the message names the signal', async () => {
  const it = await home({
    'p.dot': pipeline(
      't [shape=parallelogram, tool_command="kill -9 $$"]',
      't; t -> exit [condition="outcome=success"]; t -> bad [condition="outcome=retry"]',
    ),
    'w/seed.txt': 'seed\n',
  });
  const ran = await run(it);
  expect(ran.code).toBe(1);
  expect(await status(it, 't')).toMatchObject({
    failure_reason: 'tool_exit_code_-1',
    notes: 'ended by SIGKILL',
    attribution: { why: 'ended by SIGKILL' },
  });
  expect(ran.stderr).toContain('node failed node=t reason="tool_exit_code_-1 (ended by SIGKILL)"');
  expect(ran.stderr).toContain('for outcome fail: tool_exit_code_-1 (ended by SIGKILL)');
  const { context } = (await it.json('.factory/runs/r1/checkpoint.json')) as {
    context: Record<string, string>;
  };
  expect(context['last_failure.reason']).toBe('tool_exit_code_-1');
  expect(context['last_failure.summary']).toContain('(ended by SIGKILL)');
});

describe('a file variable of the run', () => {
  const judged = (stage: string) =>
    home({
      'p.dot': `digraph g { graph [goal="g", vars="spec=@spec.md"]
        start [shape=Mdiamond] exit [shape=Msquare] bad [shape=Msquare, outcome=fail]
        work [${stage}]
        judge [shape=parallelogram, tool_command="grep -q 42 \${var.spec}"]
        start -> work; work -> judge [condition="outcome=success"]; work -> judge [condition="outcome=fail"]
        judge -> exit [condition="outcome=success"]; judge -> bad [condition="outcome=fail"] }`,
      'spec.md': 'It prints 42.\n',
      'w/seed.txt': 'seed\n',
      'other.md': 'It prints 41.\n',
    });
  const spec = '.factory/runs/r1/workspace/.factory/in/spec.md';

  test.for([
    ['written', 'echo 41 > .factory/in/spec.md'],
    ['removed', 'rm .factory/in/spec.md'],
    [
      'in a replaced folder',
      'mv .factory/in elsewhere && mkdir .factory/in && echo 41 > .factory/in/spec.md',
    ],
    ['behind a link', 'rm -r .factory && mkdir -p x/in && echo 41 > x/in/spec.md && ln -s x .factory'],
  ] as const)('is restored where it was %s, and the node fails', async ([, command]) => {
    await using it = await judged(`shape=parallelogram, tool_command="${command}"`);
    const ran = await run(it);
    expect(ran.code, ran.stderr).toBe(0);
    expect(await status(it, 'work')).toMatchObject({
      outcome: 'fail',
      failure_class: 'guardrail',
      failure_reason: expect.stringMatching(
        /^guardrail_violation: wrote disallowed files: .*\.factory\/in\/spec\.md \(1 of them files given to the run as variables\)$/,
      ),
    });
    expect(await it.read(spec)).toBe('It prints 42.\n');
  });

  test.for(['.factory/in/spec.md', '.factory/'])(
    'may be changed by a node whose scope is %s',
    async (scope) => {
      await using it = await judged(
        `shape=parallelogram, tool_command="echo 42 42 > .factory/in/spec.md", allowed_write_paths="${scope}"`,
      );
      const ran = await run(it);
      expect(ran.code, ran.stderr).toBe(0);
      expect(await it.read(spec)).toBe('42 42\n');
    },
  );

  test('may have other modes', async () => {
    await using it = await judged('shape=parallelogram, tool_command="chmod -R a+x ."');
    const ran = await run(it);
    expect(ran.code, ran.stderr).toBe(0);
    expect(await status(it, 'work')).toMatchObject({ outcome: 'success' });
  });

  test('may be the response file of an agent', async () => {
    await using it = await judged(
      'shape=box, prompt="p", agent=command, command.run="echo 42 and more", response_file="./.factory/in/spec.md"',
    );
    const ran = await run(it);
    expect(ran.code, ran.stderr).toBe(0);
    expect(await it.read(spec)).toBe('42 and more\n');
  });
});
