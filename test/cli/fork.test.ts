/** Forks of a run. */
import fs, { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { openRun } from '../../src/run/open-run.ts';
import { house, treeOf } from '../support/house.ts';
import { damageText } from '../support/run-texts.ts';
import { withoutSync } from '../support/without-sync.ts';

/** Agent calls, retries, a loop with conditions, values of earlier stages, and context that a tool sets. */
const loop = `digraph loop {
  workdir="none"
  vars="limit=2, spec=@spec.md"
  start [shape=Mdiamond]
  answer [shape=box, prompt="Say it", response_file="answer.txt", allowed_write_paths="answer.txt"]
  note [shape=parallelogram, retry_on=fail, max_retries=1, retry_delay=1ms,
        tool_command="[ -e again ] || { touch again; exit 1; }; rm again; echo $(cat answer.txt) \${node.answer.outcome} >> log.txt"]
  count [shape=parallelogram,
         tool_command="printf '{\\"context_updates\\":{\\"lines\\":%s}}' $(wc -l < log.txt) > $FACTORY_OUTPUT"]
  enough [shape=parallelogram, tool_command="test \${ctx.lines} -ge \${var.limit}"]
  gate [shape=diamond]
  exit [shape=Msquare]
  start -> answer -> note -> count -> enough
  enough -> gate
  gate -> exit [condition="outcome=success"]
  gate -> answer [condition="outcome=fail && lines<\\"9\\""]
}`;
const script = JSON.stringify({
  format: 'factory-script/1',
  answers: { answer: [{ text: 'one' }, { text: 'two' }, { text: 'three' }, { text: 'four' }] },
});
const files = {
  'loop.dot': loop,
  'script.json': script,
  'spec.md': 'the old text\n',
  'new.md': 'the new text\n',
};
const scripted = { agent: 'scripted', script: 'script.json', quiet: true };
const runs = '.factory/runs';

/** What a run has come to, whichever run it is and whenever it was. */
async function endOf(dir: string) {
  const read = openRun(dir).history();
  if (!read.ok) throw new Error(read.why);
  const { run_id: _, epoch: __, at: ___, elapsed_ms: ____, node_ms: _____, ...state } = read.checkpoint;
  return { ...state, workspace: treeOf(join(dir, 'workspace')) };
}

let it: Awaited<ReturnType<typeof house>>;
let base: string;
let end: Awaited<ReturnType<typeof endOf>>;
let tree: Record<string, string>;
beforeAll(async () => {
  it = await house({
    ...files,
    'lacks.dot': loop.replaceAll('enough', 'plenty'),
    'broken.dot': 'digraph {',
    'bound.json': JSON.stringify({ ...JSON.parse(script), inputs: { spec: '0'.repeat(64) } }),
    file: '',
  });
  const ran = await it.run('loop.dot', { ...scripted, runId: 'base' });
  expect(ran.code, ran.err).toBe(0);
  base = join(it.path, runs, 'base');
  end = await endOf(base);
  tree = treeOf(base);
});
afterAll(() => it[Symbol.asyncDispose]());
afterEach(() => expect(treeOf(base)).toEqual(tree));

test('the end is what it was, with all that was counted', () => {
  expect(end.calls).toEqual({ answer: 2 });
  expect(end.retry_counts).toEqual({ note: 2 });
  expect(it.records(`${runs}/base/journal.jsonl`).filter(({ type }) => type === 'Visit')).toHaveLength(12);
});

test.for([
  ['start', true, 'base'],
  ['note@1', true, 'base'],
  ['count@1', false, 'at-note@1'],
  ['gate@1', true, 'at-count@1'],
  ['answer@2', false, 'base'],
  ['exit', true, 'at-answer@2'],
] as const)('a fork at %s (before: %s) of %s ends as the run itself did', async ([at, before, from]) => {
  const id = (name: string) => name.replace('@', '-');
  const forked = await it.fork(id(from), { at, before, runId: id(`at-${at}`), quiet: true });
  expect(forked.code, forked.err).toBe(0);
  expect(await endOf(join(it.path, runs, id(`at-${at}`)))).toEqual(end);
  const result = it.json(`${runs}/${id(`at-${at}`)}/result.json`);
  expect(result).toMatchObject({ stages: 12, failed_stages: 2, retries: 2, status: 'completed' });
  expect(result.forked_from).toMatchObject({
    run_id: id(from),
    node: at.split('@')[0],
    before,
    changed: [],
  });
});

test('a fork is linked to the forked run in its manifest, events and trace', async () => {
  expect((await it.fork('base', { at: 'note@2', runId: 'f', json: true })).code).toBe(0);
  const link = { run_id: 'base', node: 'note', visit: 2, before: false };
  const manifest = it.json(`${runs}/f/manifest.json`);
  expect(manifest.forked_from).toMatchObject({ ...link, seq: 9, changed: [] });
  expect(manifest.workspace_path).toBe(join(it.path, runs, 'f/workspace'));
  const own = (file: string) => it.records(`${runs}/f/${file}`);
  expect(own('events.jsonl')[0]).toMatchObject({ type: 'PipelineStarted', run_id: 'f', forked_from: link });
  expect(own('trace.jsonl')[1]).toMatchObject({
    type: 'ForkLoaded',
    forked_from: link,
    last_completed_node: 'note',
    context: { lines: 1 },
  });
  const visits = own('journal.jsonl');
  expect(visits.every((r, n) => r['run_id'] === 'f' && r['seq'] === n + 1)).toBe(true);
  expect(it.read(`${runs}/f/answer/visits/1/response.md`)).toContain('one');
  expect(it.read(`${runs}/f/answer/response.md`)).toContain('two');
});

test('what a fork copies is flushed before it has its name', async () => {
  const { openSync } = fs;
  const opened: string[] = [];
  fs.openSync = (path, ...rest) => {
    opened.push(String(path).replace(/^.*\.new\//, ''));
    return openSync(path, ...rest);
  };
  syncBuiltinESMExports();
  const alone = withoutSync();
  try {
    expect((await it.fork('base', { at: 'note@2', runId: 'flushed', quiet: true })).code).toBe(0);
  } finally {
    alone[Symbol.dispose]();
    fs.openSync = openSync;
    syncBuiltinESMExports();
  }
  expect(opened).toEqual(expect.arrayContaining(['contents', 'journal.jsonl']));
});

test.for([['pipeline starting'], ['node started node=count visit=2']])(
  'a fork that is interrupted at "%s" and resumed comes to the same end',
  async ([line = '']) => {
    const runId = `cut-${line.length}`;
    const cut = await it.fork('base', { at: 'enough@1', runId }, (told) => told.includes(line));
    expect(cut.code, cut.err).toBe(130);
    const resumed = await it.resume(runId, { quiet: true });
    expect(resumed.code, resumed.err).toBe(0);
    expect(await endOf(join(it.path, runs, runId))).toEqual(end);
  },
);

test('what cannot be forked is refused with the reason, and nothing is created', async () => {
  const there = treeOf(it.path);
  for (const [options, words] of [
    [{ at: 'exit' }, /reached its end with exit@1.*--before/s],
    [{ at: 'anwser' }, /did you mean "answer"\? finished are: start, answer@1-2/],
    [{ at: 'note@7' }, /no finished visit 7: its last one is 2/],
    [{ at: 'note@x' }, /--at "note@x": a visit is a whole number/],
    [{}, /--at is missing/],
    [{ at: 'note', runId: 'base' }, /there is a run "base"/],
    [{ at: 'note', runId: '../x' }, /--run-id/],
    [{ at: 'note', runsdir: 'file' }, /is not a directory/],
    [{ at: 'note', runsdir: `${runs}/base/inner` }, /is in the directory of the run/],
    [{ at: 'note', var: ['nope=1'] }, /declares no variable "nope"/],
    [{ at: 'note', var: ['spec=missing.md'] }, /there is no file/],
    [
      { at: 'count', pipeline: 'lacks.dot' },
      /continues with node "enough", which the pipeline lacks.dot does not/,
    ],
    [{ at: 'note', pipeline: 'broken.dot' }, /error/],
    [{ at: 'note', pipeline: 'missing.dot' }, /there is no pipeline file/],
    [{ at: 'note', script: 'bound.json' }, /spec/],
    [{ at: 'note', script: 'missing.json' }, /there is no agent script/],
    [{ at: 'note', agent: 'nobody' }, /nobody/],
    [{ at: 'note', maxSteps: 'x' }, /--max-steps x/],
  ] as const) {
    const told = await it.fork('base', options);
    expect(told.err).toMatch(words);
    expect(told.code).toBe(2);
  }
  expect(await it.fork('bass', { at: 'note' })).toMatchObject({
    code: 2,
    err: expect.stringContaining('no run "bass"'),
  });
  expect(treeOf(it.path)).toEqual(there);
});

const waits = `digraph waits {
  workdir="none"
  vars="mode=wait"
  start [shape=Mdiamond]
  one [shape=parallelogram, tool_command="echo one > one.txt"]
  wait [shape=parallelogram,
        tool_command="[ \${var.mode} = go ] || until [ -e \\"$GATE\\" ]; do sleep 0.02; done; echo \${var.mode} > gone.txt"]
  exit [shape=Msquare]
  start -> one -> wait -> exit
}`;

test('a run that is under way can be forked and checked out, and continues', async () => {
  await using it = await house({ 'waits.dot': waits }, (path) => ({
    GATE: join(path, 'gate'),
    // The stage waits for a file outside of its workspace.
    FACTORY_SANDBOX: 'none',
  }));
  let forked: ReturnType<typeof it.fork> | undefined;
  const going = it.run('waits.dot', { runId: 'live' }, (line) => {
    if (line.includes('node=wait'))
      forked ??= it.fork('live', { at: 'one', var: ['mode=go'], runId: 'f', quiet: true });
    return false;
  });
  await expect.poll(() => forked !== undefined, { timeout: 30_000 }).toBe(true);
  const ended = await forked;
  expect(ended?.code, ended?.err).toBe(0);
  expect(it.json(`${runs}/f/manifest.json`).forked_from.changed).toEqual(['var mode']);
  expect(await it.checkout('live', 'out')).toMatchObject({ code: 0 });
  expect(treeOf(join(it.path, 'out'))).toEqual({ 'one.txt': expect.any(String) });
  expect(existsSync(join(it.path, runs, 'live/result.json'))).toBe(false);
  writeFileSync(join(it.path, 'gate'), '');
  const live = await going;
  expect(live.code, live.err).toBe(0);
  expect(it.read(`${runs}/live/workspace/gone.txt`)).toBe('wait\n');
  expect(it.read(`${runs}/f/workspace/gone.txt`)).toBe('go\n');
});

test('what is changed by flags and by another pipeline is used and recorded', async () => {
  await using it = await house(files);
  await it.run('loop.dot', { ...scripted, runId: 'base' });
  // The texts of the run are its own: those that it was started with may be gone.
  for (const name of ['spec.md', 'script.json', 'loop.dot']) rmSync(join(it.path, name));
  writeFileSync(join(it.path, 'more.json'), script.replace('three', 'drei'));
  writeFileSync(
    join(it.path, 'other.dot'),
    loop
      .replace(
        'exit [',
        'goal="G"\n  last [shape=parallelogram, tool_command="echo last >> log.txt"]\n  exit [',
      )
      .replace(
        'gate -> exit [condition="outcome=success"]',
        'gate -> last [condition="outcome=success"]\n last -> exit',
      ),
  );
  const forked = await it.fork('base', {
    at: 'enough@1',
    runId: 'f',
    pipeline: 'other.dot',
    var: ['limit=4', 'spec=new.md'],
    script: 'more.json',
    maxSteps: '90',
    quiet: true,
  });
  expect(forked.code, forked.err).toBe(0);
  expect(it.read(`${runs}/f/workspace/log.txt`)).toBe(
    ['one success', 'two success', 'drei success', 'four success', 'last', ''].join('\n'),
  );
  expect(it.read(`${runs}/f/workspace/.factory/in/spec.md`)).toBe('the new text\n');
  expect(it.read(`${runs}/base/workspace/.factory/in/spec.md`)).toBe('the old text\n');
  const manifest = it.json(`${runs}/f/manifest.json`);
  expect(manifest.forked_from.changed).toEqual(['pipeline', 'var limit', 'var spec', 'script', 'caps']);
  expect(manifest).toMatchObject({ pipeline_path: 'other.dot', goal: 'G', caps: { max_steps: 90 } });
  expect(it.json(`${runs}/f/checkpoint.json`).context['graph.goal']).toBe('G');

  // Of a fork with a changed text, also a moment before it began has that text.
  const again = await it.fork('f', { at: 'note@1', runId: 'ff', quiet: true });
  expect(again.code, again.err).toBe(0);
  expect(it.read(`${runs}/ff/workspace/.factory/in/spec.md`)).toBe('the new text\n');
  expect(it.read(`${runs}/ff/workspace/log.txt`)).toBe(it.read(`${runs}/f/workspace/log.txt`));
});

test('a run that lost its agent script needs another one', async () => {
  await using it = await house(files);
  await it.run('loop.dot', { ...scripted, runId: 'base' });
  damageText(join(it.path, runs, 'base'), 'agent-script.json');
  const told = await it.fork('base', { at: 'note@1' });
  expect(told).toMatchObject({
    code: 2,
    err: expect.stringMatching(/contents no longer has the agent script of run base/),
  });
  const forked = await it.fork('base', { at: 'note@1', script: 'script.json', runId: 'f', quiet: true });
  expect(forked.code, forked.err).toBe(0);
  expect(it.json(`${runs}/f/manifest.json`).forked_from.changed).toEqual([]);
});

test('a fork keeps the texts of the forked run though their files have changed, also when it is resumed', async () => {
  await using it = await house({
    ...files,
    'say.md': 'Say it',
    'loop.dot': loop.replace('Say it', '@say.md'),
  });
  expect((await it.run('loop.dot', { ...scripted, runId: 'base' })).code).toBe(0);
  writeFileSync(join(it.path, 'say.md'), 'Sing it');
  writeFileSync(join(it.path, 'loop.dot'), loop.replace('Say it', '@say.md').replace('limit=2', 'limit=1'));
  const options = { at: 'answer@1', before: true, quiet: true, runId: 'f' };
  expect((await it.fork('base', { ...options, maxSteps: '3' })).code).toBe(1);
  const other = await it.run('loop.dot', { resume: true, runId: 'f', maxSteps: '90', quiet: true });
  expect(other.err).toContain('the pipeline loop.dot has changed');
  const resumed = await it.resume('f', { maxSteps: '90', quiet: true });
  expect(resumed.code, resumed.err).toBe(0);
  const [f, base] = ['f', 'base'].map((run) => join(it.path, runs, run));
  expect((await endOf(f ?? '')).workspace).toEqual((await endOf(base ?? '')).workspace);
});

test('a limit that ended a run can be raised for its fork', async () => {
  await using it = await house(files);
  const capped = await it.run('loop.dot', { ...scripted, runId: 'base', maxVisits: '1' });
  expect(capped.code).toBe(1);
  expect((await it.fork('base', { at: 'gate', runId: 'same', quiet: true })).out).toContain('max_visits');
  const forked = await it.fork('base', { at: 'gate', maxVisits: '2', runId: 'more', quiet: true });
  expect(forked.code, forked.err).toBe(0);
  expect(it.json(`${runs}/more/manifest.json`).forked_from.changed).toEqual(['caps']);
});

test('the artifacts of a failed node are those in the directory of the fork', async () => {
  await using it = await house({
    'fails.dot': `digraph g {
      workdir="none"
      start [shape=Mdiamond]
      bad [shape=parallelogram, tool_command="echo why >&2; exit 3"]
      look [shape=parallelogram, tool_command="cp $FACTORY_CONTEXT seen.json"]
      exit [shape=Msquare]
      start -> bad
      bad -> look [condition="outcome=fail"]
      look -> exit
    }`,
  });
  expect((await it.run('fails.dot', { runId: 'base', quiet: true })).code).toBe(0);
  expect((await it.fork('base', { at: 'bad', runId: 'f', quiet: true })).code).toBe(0);
  rmSync(join(it.path, runs, 'base'), { recursive: true });
  const { 'last_failure.artifacts': artifacts } = it.json(`${runs}/f/workspace/seen.json`);
  expect(artifacts.tool_stderr).toBe(join(it.path, runs, 'f/bad/tool.stderr.txt'));
  expect(readFileSync(artifacts.tool_stderr, 'utf8')).toBe('why\n');
  expect((await it.fork('f', { at: 'bad', runId: 'ff', runsdir: 'elsewhere', quiet: true })).code).toBe(0);
  expect(it.json('elsewhere/ff/workspace/seen.json')['last_failure.artifacts'].status).toBe(
    join(it.path, 'elsewhere/ff/bad/status.json'),
  );
});

test('a node whose outcome no edge fits runs again in a fork after it', async () => {
  await using it = await house({
    'stuck.dot': `digraph g {
      workdir="none"
      vars="code=1"
      start [shape=Mdiamond]
      try [shape=parallelogram, tool_command="echo x >> tries.txt; exit \${var.code}"]
      exit [shape=Msquare]
      start -> try
      try -> exit [condition="outcome=success"]
    }`,
  });
  expect((await it.run('stuck.dot', { runId: 'base', quiet: true })).code).toBe(1);
  expect((await it.fork('base', { at: 'try', runId: 'f', var: ['code=0'], quiet: true })).code).toBe(0);
  expect(it.read(`${runs}/f/workspace/tries.txt`)).toBe('x\nx\n');
});

test('a run with a damaged snapshot is not forked, and the message names the file', async () => {
  await using it = await house({ 'waits.dot': waits });
  expect((await it.run('waits.dot', { runId: 'base', var: ['mode=go'], quiet: true })).code).toBe(0);
  const pack = join(it.path, runs, 'base/contents/pack');
  expect(existsSync(pack)).toBe(true);
  writeFileSync(pack, readFileSync(pack).fill(0));
  const told = await it.fork('base', { at: 'one' });
  expect(told).toMatchObject({ code: 2, err: expect.stringContaining('damaged') });
  expect(told.err).toContain(pack);
  expect(readdirSync(join(it.path, runs))).toEqual(['base']);
});
