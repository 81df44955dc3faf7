/** Tools and verifications of a replay, answered from the record. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { house, treeOf } from '../support/house.ts';
import { damageText } from '../support/run-texts.ts';
import { base, script, pipeline as sealedPipeline, wrote } from '../support/sealed-run.ts';

const runs = '.factory/runs';
type House = Awaited<ReturnType<typeof house>>;
const dirOf = (it: House, run: string) => join(it.path, runs, run);
const ended = (it: House, run: string) =>
  it
    .records(`${runs}/${run}/events.jsonl`)
    .filter(({ type }) => type === 'StageCompleted' || type === 'StageFailed')
    .map(({ node_id, replayed }) => `${node_id}${replayed === true ? ' (record)' : ''}`);
const ran = (it: House, run: string) =>
  it
    .records(`${runs}/${run}/events.jsonl`)
    .filter(({ type }) => type === 'ReplayRan')
    .map(({ node_id, visit, why }) => `${node_id}@${visit}: ${why}`);

const pays = `echo paid >> $OUTSIDE; mkdir -p d; echo $$ > d/id; chmod 600 d/id; ln -s id d/link; printf '{"context_updates":{"at":"%s","verification.plan":{"files":["d/id"],"commands":["node -v"]}}}' "$PWD/d" > $FACTORY_OUTPUT`;

/** A tool with a side effect outside the workspace, one that fails twice, one that writes outside its scope, a verification. */
const pipeline = `digraph g {
  workdir="none"
  vars="limit=1, other=x"
  start [shape=Mdiamond]
  pay [shape=parallelogram, sets_plan=true, tool_command=${JSON.stringify(pays)}]
  flaky [shape=parallelogram, tool_command="echo x >> tries; echo try $FACTORY_ATTEMPT; test $(wc -l < tries) -ge 3", max_retries=5, retry_on=fail, retry_delay=1ms]
  stray [shape=parallelogram, tool_command="echo 1 > allowed.txt; echo 2 > stray.txt", allowed_write_paths="allowed.txt"]
  check [type=verification, verification.allowed_commands="node"]
  see [shape=parallelogram, tool_command="cat d/id; echo \${var.limit} > limit"]
  exit [shape=Msquare]
  start -> pay -> flaky -> stray
  stray -> check [condition="outcome=fail && failure_class=guardrail"]
  check -> see [condition="outcome=success"]
  see -> exit [condition="outcome=success"]
}`;

async function recorded(files: Record<string, string> = { 'p.dot': pipeline }) {
  const it = await house(files, () => ({ FACTORY_SANDBOX: 'none' }));
  it.environment({ FACTORY_SANDBOX: 'none', OUTSIDE: join(it.path, 'outside.txt') });
  const told = await it.run('p.dot', { runId: 'base', quiet: true });
  expect(told.code, told.err + told.out).toBe(0);
  return it;
}

/** All artifacts of nodes. */
const artifacts = (it: House, run: string) => {
  const nodes = ['pay', 'flaky', 'stray', 'check', 'see'];
  const tree = nodes.flatMap((node) =>
    Object.entries(treeOf(join(dirOf(it, run), node))).map(([path, is]) => [`${node}/${path}`, is]),
  );
  return Object.fromEntries(tree.filter(([path]) => !/stage\.json$|^pay\/status/.test(path ?? '')));
};

test('tools and verifications of a replay are answered from the record with their artifacts, and side effects do not happen twice', async () => {
  await using it = await recorded();
  const checked = await it.replay('base', { runId: 'r', check: true });
  expect(checked.out, checked.err).toMatch(/^equal/);
  expect(ended(it, 'r')).toEqual([
    'start',
    'pay (record)',
    'flaky (record)',
    'stray (record)',
    'check (record)',
    'see (record)',
    'exit',
  ]);
  expect(it.read('outside.txt')).toBe('paid\n');
  expect(treeOf(join(dirOf(it, 'r'), 'workspace'))).toEqual(treeOf(join(dirOf(it, 'base'), 'workspace')));
  expect(artifacts(it, 'r')).toEqual(artifacts(it, 'base'));
  const result = (run: string) => {
    const { status, stages, failed_stages, retries, evidence } = it.json(`${runs}/${run}/result.json`);
    expect(evidence.commands).not.toEqual([]);
    return { status, stages, failed_stages, retries, commands: evidence.commands };
  };
  expect(result('r')).toEqual(result('base'));
  // Places are its own: a later stage of it must not reach into the other run.
  expect(it.json(`${runs}/r/checkpoint.json`).context.at).toBe(join(dirOf(it, 'r'), 'workspace/d'));
  const again = await it.replay('r', { runId: 'rr', check: true });
  expect(again.out, again.err).toMatch(/^equal/);
  expect(it.read('outside.txt')).toBe('paid\n');
});

test('tools and verifications of a replay: run with --run-tools', async () => {
  await using it = await recorded();
  const told = await it.replay('base', { runId: 'r', runTools: true, quiet: true });
  expect(told.code, told.err + told.out).toBe(0);
  expect(ended(it, 'r').filter((one) => one.includes('record'))).toEqual([]);
  expect(it.read('outside.txt')).toBe('paid\npaid\n');
});

test('tools and verifications of a replay: run where the record does not fit, and the replay reports where and why', async () => {
  await using it = await recorded();
  const told = await it.replay('base', { runId: 'r', var: ['limit=2'] });
  expect(told.code, told.err + told.out).toBe(0);
  expect(ran(it, 'r')).toEqual(['see@1: its attributes or variables are not the recorded ones']);
  expect(told.err).toContain('the record does not fit; the node runs');
  expect(it.read(`${runs}/r/workspace/limit`)).toBe('2\n');
  expect((await it.replay('base', { runId: 's', var: ['other=y'], quiet: true })).code).toBe(0);
  expect(ran(it, 's')).toEqual([]);
});

test('the record of a node before its attributes were changed does not answer', async () => {
  await using it = await recorded();
  writeFileSync(join(it.path, 'q.dot'), pipeline.replace('cat d/id', 'true').replace('echo x', 'echo y'));
  const forked = await it.fork('base', {
    at: 'see@1',
    before: true,
    pipeline: 'q.dot',
    runId: 'f',
    quiet: true,
  });
  expect(forked.code, forked.err).toBe(0);
  const told = await it.replay('f', { from: 'start', runId: 'r', quiet: true });
  expect(told.code, told.err).toBe(0);
  const other = 'its attributes or variables are not the recorded ones';
  expect(ran(it, 'r')).toEqual([
    `flaky@1: ${other}`,
    expect.stringMatching(/^stray@1: the workspace before it is not the recorded one: tries$/),
    expect.stringMatching(/^check@1: /),
    expect.stringMatching(/^see@1: the workspace/),
  ]);
  expect(it.read(`${runs}/r/workspace/tries`)).toBe('y\ny\ny\n');
});

test('a changed byte in the text of a variable is refused before anything is created', async () => {
  const reads = pipeline.replace('other=x', 'other=x, text=@text.md');
  await using it = await recorded({ 'p.dot': reads, 'text.md': 'A text.\n' });
  damageText(dirOf(it, 'base'), 'text');
  const told = await it.replay('base', { runId: 'r' });
  expect(told.code).toBe(2);
  expect(told.err.replace(/\s+/g, ' ')).toContain('no longer has the text of variable "text"');
});

test.for(['manifest.json', 'journal.jsonl'])(
  'a changed byte in %s is refused before anything is created',
  async (name) => {
    await using it = await recorded();
    const path = join(dirOf(it, 'base'), name);
    const bytes = readFileSync(path, 'utf8');
    writeFileSync(
      path,
      name === 'journal.jsonl' ? bytes.replace('"notes":""', '"notes":"!"') : bytes.replace(/t$|t/, 'T'),
    );
    expect(readFileSync(path, 'utf8')).not.toBe(bytes);
    const told = await it.replay('base', { runId: 'r' });
    expect(told.code).toBe(2);
    expect(told.err.replace(/\s+/g, '')).toContain(path);
  },
);

test('a changed artifact is refused before anything is created', async () => {
  await using it = await recorded();
  const path = join(dirOf(it, 'base'), 'flaky/tool.stdout.txt');
  const whole = readFileSync(path);
  writeFileSync(path, 'try 9\n');
  const told = await it.replay('base', { runId: 'r' });
  expect(told.code).toBe(2);
  expect(told.err).toContain('error[replay-damaged]');
  expect(told.err.replace(/\s+/g, '')).toContain(path);
  expect(readdirSync(join(it.path, runs)).filter((name) => !name.startsWith('.'))).toEqual(['base']);
  writeFileSync(path, whole);
  expect((await it.replay('base', { runId: 'r', quiet: true })).code).toBe(0);
  expect(statSync(join(dirOf(it, 'r'), 'pay/context.json')).mode & 0o777).toBe(0o444);
});

/** Prints bytes that no compression changes, the same every time. */
const noise = `import { createHash } from 'node:crypto';
for (let n = 0; n < 2000; n++) process.stdout.write(createHash('sha512').update(String(n)).digest());`;

test('a node whose recorded files are damaged runs in the workspace of before', async () => {
  const tool = 'ls > found; echo one-content > a.txt; node noise.mjs > z.txt';
  await using it = await house({
    'w/s.txt': 's\n',
    'w/noise.mjs': noise,
    'p.dot': `digraph g { start [shape=Mdiamond]; exit [shape=Msquare]
      t [shape=parallelogram, tool_command="${tool}"]; start -> t -> exit }`,
  });
  expect((await it.run('p.dot', { workdir: 'w', runId: 'base', quiet: true })).code).toBe(0);
  const store = join(dirOf(it, 'base'), 'contents');
  const three = readFileSync(join(dirOf(it, 'base'), 'workspace/z.txt'));
  for (const name of readdirSync(store).filter((one) => one.startsWith('pack'))) {
    const bytes = readFileSync(join(store, name));
    const content = bytes.indexOf(three);
    if (content >= 0) bytes.fill(0, content, content + three.length);
    writeFileSync(join(store, name), bytes);
  }
  const told = await it.replay('base', { runId: 'r' });
  expect(told.code, told.err).toBe(0);
  expect(ran(it, 'r')).toEqual([expect.stringMatching(/^t@1: the content store is damaged: /)]);
  expect(it.read(`${runs}/r/workspace/found`)).toBe('found\nnoise.mjs\ns.txt\n');
  expect(readFileSync(join(dirOf(it, 'r'), 'workspace/z.txt')).equals(three)).toBe(true);
});

test('a write to the holdout is a violation in a replay as well', async () => {
  await using it = await house({
    ...base,
    'p.dot': sealedPipeline().replace(
      'start -> work -> tool',
      'start -> work; work -> tool [condition="outcome=fail"]',
    ),
    'agent.json': script(wrote('scripts/scenarios/judge.sh', 'exit 0\n')),
  });
  const told = await it.run('p.dot', { workdir: 'w', runId: 'base', quiet: true });
  expect(told.code, told.err + told.out).toBe(0);
  const status = (run: string) => it.json(`${runs}/${run}/work/status.json`);
  expect(status('base').failure_reason).toContain('wrote disallowed files: scripts/scenarios/judge.sh');
  const checked = await it.replay('base', { runId: 'r', check: true });
  expect(checked.out, checked.err).toMatch(/^equal/);
  expect(status('r')).toEqual(status('base'));
});
