/** Permissions and outcomes of nodes, with the built command line. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
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

describe('$FACTORY_OUTPUT', () => {
  const rows: readonly { says: string; command: string; outcome: string; class?: string; reason?: RegExp }[] =
    [
      {
        says: 'absent: the exit code decides',
        command: 'exit 4',
        outcome: 'fail',
        class: 'product',
        reason: /^tool_exit_code_4$/,
      },
      {
        says: 'exit 0 may say fail',
        command: `echo '{\\"outcome\\":\\"fail\\",\\"failure_reason\\":\\"no\\",\\"failure_class\\":\\"scenario\\"}' > $FACTORY_OUTPUT`,
        outcome: 'fail',
        class: 'scenario',
        reason: /^no$/,
      },
      {
        says: 'exit 0 may say skipped',
        command: `echo '{\\"outcome\\":\\"skipped\\"}' > $FACTORY_OUTPUT`,
        outcome: 'skipped',
      },
      {
        says: 'another exit code is a failure whatever the file says, with the reason of the file',
        command: `echo '{\\"outcome\\":\\"success\\",\\"failure_reason\\":\\"because\\"}' > $FACTORY_OUTPUT; exit 2`,
        outcome: 'fail',
        reason: /^because$/,
      },
      {
        says: 'bad JSON is a failure of the configuration',
        command: 'echo nonsense > $FACTORY_OUTPUT',
        outcome: 'fail',
        class: 'config',
      },
      {
        says: 'more than 1 MiB is too much, also in characters of several bytes',
        command: `printf '{\\"notes\\":\\"%0524288d\\"}' 0 | sed s/0/é/g > $FACTORY_OUTPUT`,
        outcome: 'fail',
        class: 'config',
        reason: /larger than 1 MiB$/,
      },
      {
        says: 'a class on standard error counts',
        command: 'echo failure_class=infra >&2; exit 1',
        outcome: 'fail',
        class: 'infra',
      },
      { says: 'exit 86 means the machine', command: 'exit 86', outcome: 'fail', class: 'infra' },
      {
        says: 'exit 127 means the configuration',
        command: 'no-such-program-here',
        outcome: 'fail',
        class: 'config',
      },
    ];
  test.for(rows)('$says', async ({ command, outcome, class: failureClass, reason }) => {
    await using it = await withTool(`tool_command="${command}"`);
    await run(it);
    const said = await status(it, 't');
    expect(said['outcome']).toBe(outcome);
    if (failureClass !== undefined) expect(said['failure_class']).toBe(failureClass);
    if (reason !== undefined) expect(said['failure_reason']).toMatch(reason);
  });
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

test('megabytes on both streams at once are stored completely', async () => {
  await using it = await withTool(
    `tool_command="node -e \\"for (let i = 0; i < 3000; i++) { process.stdout.write('o'.repeat(1000)); process.stderr.write('e'.repeat(1000)) }\\""`,
  );
  expect((await run(it)).code).toBe(0);
  expect((await it.read('.factory/runs/r1/t/tool.stdout.txt')).length).toBe(3_000_000);
  expect((await it.read('.factory/runs/r1/t/tool.stderr.txt')).length).toBe(3_000_000);
});

describe('secrets', () => {
  const secret = 'hunter2-hunter2';
  test('are withheld from a tool, and masked wherever they occur', async () => {
    await using it = await withTool('tool_command="echo token=$MY_TOKEN; cat leak.txt"');
    const { writeFile } = await import('node:fs/promises');
    await writeFile(join(it.path, 'w/leak.txt'), `the token is ${secret}\n`);
    expect((await run(it, [], { MY_TOKEN: secret })).code).toBe(0);
    expect(await it.read('.factory/runs/r1/t/tool.stdout.txt')).toBe('token=\nthe token is ***\n');
  });
  test('reach a tool that names them, and are masked nevertheless', async () => {
    await using it = await withTool(
      'env_pass="MY_TOKEN", tool_command="test $MY_TOKEN = hunter2-hunter2 && echo got $MY_TOKEN"',
    );
    expect((await run(it, [], { MY_TOKEN: secret })).code).toBe(0);
    expect(await it.read('.factory/runs/r1/t/tool.stdout.txt')).toBe('got ***\n');
  });
});

test('values in a tool_command are single words, whatever they contain', async () => {
  const value = `a b'c"d$(touch pwned);e`;
  await using it = await home({
    'p.dot': `digraph g { vars="x=1" start [shape=Mdiamond] t [shape=parallelogram, tool_command="printf %s \${var.x}"] exit [shape=Msquare] start -> t -> exit }`,
    'w/seed.txt': '',
  });
  expect((await run(it, ['--var', `x=${value}`])).code).toBe(0);
  expect(await it.read('.factory/runs/r1/t/tool.stdout.txt')).toBe(value);
  expect(await it.list('.factory/runs/r1/workspace')).toEqual(['seed.txt']);
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

test('a step limit ends the run with a separate reason, and a higher one lets it continue', async () => {
  await using it = await home({
    'p.dot': pipeline(
      't [shape=parallelogram, tool_command="echo x >> n; test $(wc -l < n) -ge 6"]',
      't; t -> exit [condition="outcome=success"]; t -> t [condition="outcome=fail"]; t -> bad [condition="outcome=retry"]',
    ),
    'w/seed.txt': '',
  });
  const capped = await run(it, ['--max-steps', '4']);
  expect(capped.code).toBe(1);
  expect(capped.stdout).toContain('max_steps');
  const on = await it.factory(['resume', 'r1', '--max-steps', '100']);
  expect(on.code, on.stderr).toBe(0);
  expect((await it.read('.factory/runs/r1/workspace/n')).split('\n')).toHaveLength(7);
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
  expect(ran.stderr).toContain('stage failed node=t reason="tool_exit_code_-1 (ended by SIGKILL)"');
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
  ] as const)('is put back where it was %s, and the stage fails', async ([, command]) => {
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
