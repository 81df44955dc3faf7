/** What a stage leaves outside of its scope, whatever it is, and what an attempt must not take from the one before it. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { house } from '../support/house.ts';

const at = '.factory/runs/r1';
const ws = `${at}/workspace`;

/** One tool, as a separate script, and the edge for its failure. */
async function ran(
  script: string,
  more: {
    readonly command?: string;
    readonly node?: string;
    readonly edges?: string;
    readonly graph?: string;
  } = {},
) {
  const it = await house({
    'w/src/a.txt': 'a\n',
    'w/stage.sh': script,
    'p.dot': `digraph g { ${more.graph ?? ''}
      start [shape=Mdiamond] exit [shape=Msquare] other [shape=parallelogram, tool_command="true"]
      t [shape=parallelogram, tool_command="${more.command ?? 'sh stage.sh'}", ${more.node ?? ''}]
      start -> t; other -> exit
      ${more.edges ?? 't -> exit [condition="outcome=success"]; t -> other [condition="outcome=fail"]'} }`,
  });
  const told = await it.run('p.dot', { workdir: 'w', runId: 'r1', quiet: true, json: true });
  return { it, told, status: it.json(`${at}/t/status.json`) };
}

const socket = `node -e "require('net').createServer().listen('s.sock', () => process.exit())"`;
const scope = 'allowed_write_paths="out/"';

test('a pipe outside of the scope is a violation, a socket that a program left is none, and both go', async () => {
  const { it, told, status } = await ran(`mkfifo p; ${socket}`, { node: scope });
  await using _ = it;
  expect(told.code, told.err).toBe(0);
  expect(status).toMatchObject({
    failure_class: 'guardrail',
    failure_reason: 'guardrail_violation: wrote disallowed files: p',
  });
  expect(readdirSync(join(it.path, ws)).sort()).toEqual(['src', 'stage.sh']);
});

test('and where everything may be written, they go all the same', async () => {
  const { it, told, status } = await ran(`mkfifo p src/p; ${socket}`);
  await using _ = it;
  expect(told.code, told.err).toBe(0);
  expect(status.outcome).toBe('success');
  expect(readdirSync(join(it.path, ws, 'src'))).toEqual(['a.txt']);
  expect(readdirSync(join(it.path, ws)).sort()).toEqual(['src', 'stage.sh']);
});

test('the mode of a folder outside of the scope is put back, inside of it stays', async () => {
  const script = 'mkdir -m 750 -p out/in; chmod 700 src';
  const { it, status } = await ran(script, { node: scope });
  await using _ = it;
  expect(status.failure_reason).toBe('guardrail_violation: wrote disallowed files: src');
  const modes = ['src', 'out/in'].map((path) => statSync(join(it.path, ws, path)).mode & 0o777);
  expect(modes[0]).not.toBe(0o700);
  expect(modes[1]).toBe(0o750);
});

test('what was built of a file outside of the scope that said something else for a while does not count as fresh', async () => {
  const script = `cp src/a.txt keep; echo other > src/a.txt; mkdir out; cp src/a.txt out/x; touch -d @2000000000 out/x
    cat keep > src/a.txt; rm keep; touch -d @2000000001 src/a.txt`;
  const { it, told, status } = await ran(script, { node: scope });
  await using _ = it;
  expect([told.code, status.outcome]).toEqual([0, 'success']);
  const seconds = (path: string) => Math.floor(statSync(join(it.path, ws, path)).mtimeMs / 1000);
  expect([seconds('src/a.txt'), seconds('out/x')]).toEqual([2_000_000_001, 2_000_000_000]);
});

test('a stage that broke and wrote outside of its scope leaves by no edge without a condition', async () => {
  const { it, told, status } = await ran('', {
    command: 'echo x > stray; kill -9 $$',
    node: scope,
    edges: 't -> exit; t -> other [condition="outcome=success"]',
  });
  await using _ = it;
  expect(told.code).toBe(1);
  expect(JSON.parse(told.out).reason).toContain('no route from node t');
  expect(status.failure_reason).toContain('wrote disallowed files: stray (the node also failed: ');
  expect(existsSync(join(it.path, ws, 'stray'))).toBe(false);
});

test.for([
  ['0', '', 1],
  ['3', '', 1],
  ['3', '[condition="failure_class=config"]', 0],
  ['3', '[condition="failure_class=deterministic"]', 0],
] as const)(
  'a tool that says nonsense and exits with %s leaves by an edge %s: exit code %i',
  async ([exit, condition, code]) => {
    const { it, told } = await ran('', {
      command: `echo nonsense > $FACTORY_OUTPUT; exit ${exit}`,
      edges: `t -> other ${condition}; t -> exit [condition="outcome=success"]`,
    });
    await using _ = it;
    expect(told.code, told.err + told.out).toBe(code);
    expect(JSON.parse(told.out).reason).toContain(code === 0 ? '' : 'no route from node t');
  },
);

test.for([
  ['a link', 'echo \'{"outcome":"fail"}\' > said; ln -s "$PWD/said" "$FACTORY_OUTPUT"'],
  ['a folder', 'mkdir "$FACTORY_OUTPUT"'],
  ['a pipe', 'mkfifo "$FACTORY_OUTPUT"'],
] as const)(
  'a tool that makes %s of its answer has given none, whatever its exit code',
  async ([, script]) => {
    const { it, status } = await ran(script);
    await using _ = it;
    expect(status).toMatchObject({
      failure_class: 'config',
      failure_reason: expect.stringContaining('$FACTORY_OUTPUT is not a regular file'),
    });
  },
);

test('an attempt that says nothing says nothing of what the one before it said', async () => {
  const said = '{"outcome":"retry","preferred_next_label":"bad","context_updates":{"x":1},"notes":"old"}';
  const { it, told, status } = await ran(
    `test -e tried && exit 0; touch tried; echo '${said}' > "$FACTORY_OUTPUT"`,
    { node: 'retry_delay="1ms"', graph: 'default_max_retries=1' },
  );
  await using _ = it;
  expect(told.code, told.err + told.out).toBe(0);
  expect(status).toMatchObject({
    outcome: 'success',
    preferred_next_label: '',
    notes: '',
    context_updates: {},
  });
  const { context, retry_counts } = it.json(`${at}/checkpoint.json`);
  expect(context).not.toHaveProperty('x');
  expect(retry_counts).toEqual({ t: 1 });
});

test('an attempt whose files cannot be recorded reports no changes, also not those of the attempt before it', async () => {
  const deep = 'd=$(printf "%0200d" 0); for i in $(seq 25); do mkdir $d; cd $d; done; exit 0';
  const { it, status } = await ran(
    `if test -e tried; then ${deep}; fi; touch tried; echo '{"outcome":"retry"}' > "$FACTORY_OUTPUT"`,
    { node: 'max_retries=1, retry_delay="1ms"' },
  );
  await using _ = it;
  expect(status.failure_reason).toMatch(/the path is longer .*everything that the node wrote was undone$/);
  expect(readdirSync(join(it.path, ws)).sort()).toEqual(['src', 'stage.sh', 'tried']);
  expect(it.json(`${at}/t/workspace.diff.json`)).toEqual({ created: [], modified: [], deleted: [] });
});

test('retries are counted over all visits of a node, and the variables of a node have them', async () => {
  const script = `node -e "
    const { readFileSync, writeFileSync, existsSync } = require('fs');
    const { current_node } = JSON.parse(readFileSync(process.env.FACTORY_CONTEXT, 'utf8'));
    const n = existsSync('n') ? Number(readFileSync('n', 'utf8')) + 1 : 1;
    writeFileSync('n', String(n));
    writeFileSync(process.env.FACTORY_OUTPUT, JSON.stringify({ outcome: n % 2 ? 'retry' : n < 4 ? 'fail' : 'success', notes: current_node }));
  "`;
  const { it, told, status } = await ran(script, {
    node: 'max_retries=1, retry_delay="1ms"',
    edges:
      't -> exit [condition="outcome=success"]; t -> t [condition="outcome=fail"]; t -> other [label=no]',
  });
  await using _ = it;
  expect(told.code, told.err + told.out).toBe(0);
  expect(it.json(`${at}/t/visits/1/status.json`).notes).toBe('t');
  expect(status.notes).toBe('t');
  expect(it.json(`${at}/checkpoint.json`)).toMatchObject({ retry_counts: { t: 2 } });
});
