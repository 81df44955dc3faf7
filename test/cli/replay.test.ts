/** Replays of runs, and their exported scripts. */
import { existsSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Exchange, exchangeSchema } from '../../src/core/records/exchange.ts';
import { bodiesIn } from '../../src/run/exchanges.ts';
import { root } from '../support/cli.ts';
import { house, treeOf } from '../support/house.ts';
import { startModelServer } from '../support/model-server.ts';
import { damageContent, textsOfRun } from '../support/run-texts.ts';

const runs = '.factory/runs';
type House = Awaited<ReturnType<typeof house>>;
const dirOf = (it: House, run: string) => join(it.path, runs, run);
const exchanges = (it: House, run: string) =>
  it
    .records(`${runs}/${run}/journal.jsonl`)
    .filter(({ type }) => type === 'Exchange')
    .map((record) => exchangeSchema().parse(record));
const resultOf = (it: House, run: string) => it.json(`${runs}/${run}/result.json`);
const workspace = (it: House, run: string) => treeOf(join(dirOf(it, run), 'workspace'));

async function started(it: House, pipeline: string, options = {}, code = 0) {
  const ran = await it.run(pipeline, { runId: 'base', quiet: true, ...options });
  expect(ran.code, ran.err + ran.out).toBe(code);
}

/** The replay equals the run, which is unchanged. */
async function checks(it: House, run = 'base', options = {}) {
  const before = treeOf(dirOf(it, run));
  const checked = await it.replay(run, { check: true, runId: `of-${run}`, quiet: true, ...options });
  expect(checked.out + checked.err).toMatch(/^equal: \d+ executions/);
  expect(checked.code).toBe(0);
  expect(treeOf(dirOf(it, run))).toEqual(before);
  expect(workspace(it, `of-${run}`)).toEqual(workspace(it, run));
  const told = (id: string) => {
    const { status, exit_code, exit_node, stages, failed_stages, retries } = resultOf(it, id);
    return { status, exit_code, exit_node, stages, failed_stages, retries };
  };
  expect(told(`of-${run}`)).toEqual(told(run));
}

const loop = `digraph loop {
  workdir="none"
  vars="limit=2, topic=tea"
  start [shape=Mdiamond]
  answer [shape=box, prompt="Say it of \${var.topic}", response_file="answer.txt", allowed_write_paths="answer.txt"]
  count [shape=parallelogram, tool_command="cat answer.txt >> log.txt; pwd; date; test $(wc -l < log.txt) -ge \${var.limit}"]
  exit [shape=Msquare]
  start -> answer -> count
  count -> exit [condition="outcome=success"]
  count -> answer [condition="outcome=fail"]
}`;
const files = {
  'loop.dot': loop,
  'script.json': JSON.stringify({
    format: 'factory-script/1',
    answers: { answer: [{ text: 'one\n' }, { text: 'two\n' }, { text: 'three\n' }] },
  }),
};
const scripted = { agent: 'scripted', script: 'script.json' };

test('a replay equals its run, prompts with directories and times included, and so does the replay of a replay', async () => {
  await using it = await house(files);
  await started(it, 'loop.dot', scripted);
  expect(
    exchanges(it, 'base').map(({ node, visit, call, complete }) => [node, visit, call, complete]),
  ).toEqual([
    ['answer', 1, 1, true],
    ['answer', 2, 2, true],
  ]);
  // The second prompt has the first failure, with the folder and the time in it.
  expect(exchanges(it, 'base')[1]?.prompt).toContain(join(dirOf(it, 'base'), 'workspace'));
  await checks(it);
  await checks(it, 'of-base');
  const listed = await it.runs();
  expect(listed.out).toMatch(/^of-base .* replay of base;/m);
  expect(listed.out).toMatch(/^of-of-base .* replay of of-base;/m);
  expect(listed.out).not.toMatch(/^base .*replay/m);
  const runsOf = JSON.parse((await it.runs({ json: true })).out).runs;
  expect(
    Object.fromEntries(runsOf.map((run: Record<string, unknown>) => [run['run_id'], run['replay_of']])),
  ).toEqual({
    base: null,
    'of-base': 'base',
    'of-of-base': 'of-base',
  });
  expect(it.json(`${runs}/of-base/manifest.json`).replay_of).toMatchObject({ run_id: 'base', live: false });
  expect(exchanges(it, 'of-base').every(({ replayed }) => replayed !== null)).toBe(true);
});

test('a run with branches is replayed, files and prompts of each branch included, though they end in another order', async () => {
  await using it = await house({
    'p.dot': `digraph p {
      workdir="none"
      start [shape=Mdiamond]
      fan [shape=component]
      slow [shape=parallelogram, tool_command="echo slow > slow.txt; cat slow.txt"]
      say [prompt="Say it", fidelity="summary:high", response_file="said.txt"]
      fail [shape=parallelogram, tool_command="echo made > made.txt; exit 1"]
      more [prompt="More", fidelity="summary:high", response_file="more.txt"]
      join [shape=tripleoctagon]
      after [prompt="Sum up", fidelity="summary:high", response_file="sum.txt"]
      done [shape=Msquare]
      start -> fan; fan -> slow; fan -> fail
      slow -> say [condition="outcome=success"]; say -> join; fail -> more; more -> fail2; fail2 -> join
      fail2 [shape=parallelogram, tool_command="cat more.txt"]
      join -> after -> done [condition="outcome=success"]
    }`,
    'script.json': JSON.stringify({
      format: 'factory-script/1',
      answers: { say: [{ text: 'said\n' }], more: [{ text: 'more\n' }], after: [{ text: 'sum\n' }] },
    }),
  });
  await started(it, 'p.dot', scripted);
  await checks(it);
  expect(Object.keys(workspace(it, 'of-base')).filter((path) => !path.startsWith('.'))).toEqual(
    expect.arrayContaining(['said.txt', 'slow.txt', 'sum.txt']),
  );
});

test('a replay cancels branches where the recorded run did, one that asked a person there too', async () => {
  await using it = await house({
    'p.dot': `digraph p {
      workdir="none"
      start [shape=Mdiamond]
      fan [shape=component, join_policy=first_success, max_parallel=2]
      asks [shape=parallelogram, tool_command="echo asks > asks.txt"]
      ask [shape=hexagon, label="Go?"]
      loops [shape=parallelogram, max_visits=3, tool_command="echo loops >> loops.txt; test $FACTORY_VISIT = 2 || exit 1; while true; do sleep 0.1; done"]
      wins [shape=parallelogram, tool_command="sleep 0.5; echo wins > wins.txt"]
      join [shape=tripleoctagon]
      after [prompt="Sum up", response_file="sum.txt"]
      done [shape=Msquare]
      start -> fan; fan -> asks -> ask -> join; fan -> loops; fan -> wins -> join
      loops -> join [condition="outcome=success"]; loops -> loops [condition="outcome=fail"]
      join -> after -> done [condition="outcome=success"]
    }`,
    'script.json': JSON.stringify({ format: 'factory-script/1', answers: { after: [{ text: 'sum\n' }] } }),
  });
  await started(it, 'p.dot', scripted);
  await checks(it);
});

test('a replay begins at the execution that --from names', async () => {
  await using it = await house(files);
  await started(it, 'loop.dot', scripted);
  await checks(it, 'base', { from: 'answer@2' });
  expect(it.json(`${runs}/of-base/manifest.json`).forked_from).toMatchObject({
    node: 'answer',
    visit: 2,
    before: true,
  });
  const none = await it.replay('base', { from: 'answr' });
  expect(none.code).toBe(2);
  expect(none.err).toContain('did you mean "answer"');
});

test('a fork is replayed from where it began, and on request from the start', async () => {
  await using it = await house(files);
  await started(it, 'loop.dot', scripted);
  const forked = await it.fork('base', { at: 'count@1', runId: 'f', quiet: true, var: ['limit=3'] });
  expect(forked.code, forked.err).toBe(0);
  expect(exchanges(it, 'f').map(({ call }) => call)).toEqual([1, 2, 3]);
  await checks(it, 'f');
  const whole = await it.replay('f', { from: 'start', runId: 'whole' });
  expect(whole.code, whole.err + whole.out).toBe(0);
  // Before the fork the variable was another one.
  expect(whole.err).toContain('its attributes or variables are not the recorded ones');
  expect(workspace(it, 'whole')).toEqual(workspace(it, 'f'));
});

test('a replay with another variable stops at the first prompt that has it, or continues live', async () => {
  await using it = await house(files);
  await started(it, 'loop.dot', scripted);
  const stopped = await it.replay('base', { var: ['topic=coffee'], runId: 'r' });
  expect(stopped.code).toBe(1);
  expect(stopped.out).toContain('diverged from the record at answer@1, call 1');
  expect(stopped.out).toMatch(/line 1 was "Say it of tea" and is "Say it of coffee"/);
  expect(resultOf(it, 'r').divergence).toMatchObject({
    node: 'answer',
    visit: 1,
    call: 1,
    kind: 'prompt',
    diff: '- Say it of tea\n+ Say it of coffee',
  });
  expect(resultOf(it, 'r').next).toBe('factory resume r --live');
  const again = await it.resume('r', { quiet: true });
  expect(again.code).toBe(1);
  const on = await it.resume('r', { live: true, quiet: true });
  expect(on.code, on.err + on.out).toBe(0);
  expect(
    exchanges(it, 'r')
      .filter(({ complete }) => complete)
      .map(({ replayed }) => replayed),
  ).toEqual([null, null]);
  const live = await it.replay('base', { var: ['topic=coffee'], live: true, runId: 'l' });
  expect(live.code, live.err).toBe(0);
  expect(live.err).toContain('diverged from the record; it continues live');
  expect(workspace(it, 'l')).toEqual(workspace(it, 'base'));
});

test('a changed variable counts where it reads like a time', async () => {
  await using it = await house(files);
  await started(it, 'loop.dot', { ...scripted, var: ['topic=20 ms'] });
  const changed = await it.replay('base', { var: ['topic=30 ms'], runId: 'r' });
  expect(changed.out, changed.err).toMatch(/line 1 was "Say it of 20 ms" and is "Say it of 30 ms"/);
});

test.for([
  ['a file', '@new.md', 'Say it "well"\\now', 0],
  ['itself', 'Say ${var.topic}', 'Say tea', 0],
  ['a file that is not there', '@none.md', 'there is no such file', 2],
  ['nothing', '', 'the text is empty', 2],
] as const)('a prompt that is set to %s', async ([, value, said, code]) => {
  await using it = await house({ ...files, 'new.md': 'Say it "well"\\now\n' });
  await started(it, 'loop.dot', scripted);
  const set = await it.replay('base', {
    set: [`prompt.answer=${value}`],
    live: true,
    runId: 'r',
    quiet: true,
  });
  expect(set.code, set.err).toBe(code);
  expect(existsSync(dirOf(it, 'r'))).toBe(code === 0);
  if (code === 0) expect(exchanges(it, 'r')[0]?.prompt).toBe(said);
  else expect(set.err).toContain(said);
});

test('single-turn answers: another route stops the replay', async () => {
  const pipeline = loop
    .replace('date;', 'date; test -z $SPOILED || exit 1;')
    .replace(
      'count -> answer',
      'bad [shape=Msquare, outcome=fail]\n  count -> bad [condition="outcome=fail && failure_class=x"]\n  count -> answer',
    );
  await using it = await house({ ...files, 'loop.dot': pipeline });
  await started(it, 'loop.dot', scripted);
  it.environment({ SPOILED: 'yes' });
  await checks(it);
  const parted = await it.replay('base', { runId: 'r', quiet: true, runTools: true });
  expect(parted.code).toBe(1);
  expect(resultOf(it, 'r').divergence).toMatchObject({ node: 'count', visit: 2, kind: 'route' });
  expect(parted.out).toContain('the route was to "exit" (outcome success) and is to "answer" (outcome fail)');
});

test('a live replay that diverged by a route and is resumed keeps its divergence', async () => {
  await using it = await house({ ...files, 'loop.dot': loop.replace('date; ', '') });
  await started(it, 'loop.dot', scripted);
  const options = { live: true, var: ['limit=3'], quiet: true };
  await it.replay('base', { ...options, runId: 'whole' });
  const cut = await it.replay('base', { ...options, runId: 'cut', maxSteps: '5' });
  expect(cut.code).toBe(1);
  expect((await it.resume('cut', { quiet: true, maxSteps: '50' })).code).toBe(0);
  expect(resultOf(it, 'whole').divergence).toMatchObject({ node: 'count', visit: 2, kind: 'route' });
  expect(resultOf(it, 'cut').divergence).toEqual(resultOf(it, 'whole').divergence);
  // Damaged, it says nothing, and ends nothing.
  writeFileSync(join(dirOf(it, 'cut'), '.replay/divergence.json'), '{');
  expect((await it.resume('cut', { quiet: true })).code).toBe(0);
});

test('a run that has not ended is replayed to where it is', async () => {
  await using it = await house(files);
  await started(it, 'loop.dot', { ...scripted, maxSteps: '3' }, 1);
  await checks(it);
  const cut = await it.run('loop.dot', { ...scripted, runId: 'cut' }, (line) => line.includes('node=count'));
  expect(cut.code).toBe(130);
  const ended = await it.replay('cut', { runId: 'of-cut', quiet: true });
  expect(ended.code).toBe(1);
  expect(resultOf(it, 'of-cut').divergence.kind).toBe('end_of_record');
});

describe('what calls cost', () => {
  const usage = { model: 'm', input_tokens: 100, output_tokens: 50, cost_usd: 0.6 };
  const priced = {
    'loop.dot': loop,
    'script.json': JSON.stringify({
      format: 'factory-script/1',
      answers: { answer: ['one', 'two'].map((text) => ({ text: `${text}\n`, usage })) },
    }),
  };

  test('a replayed call is reported with its cost, is not paid, and counts for no limit', async () => {
    await using it = await house(priced);
    await started(it, 'loop.dot', { ...scripted, maxCostUsd: '2' });
    expect(resultOf(it, 'base').spent).toMatchObject({ calls: 2, cost_usd: 1.2 });
    await checks(it, 'base', { maxCostUsd: '0', maxTokens: '0' });
    expect(resultOf(it, 'of-base').spent).toMatchObject({ calls: 0, cost_usd: 0 });
    expect(it.read(`${runs}/of-base/journal.jsonl`)).not.toContain('"type":"Call');
    const told = (run: string) =>
      it.records(`${runs}/${run}/events.jsonl`).flatMap((one) => one['usage'] ?? []);
    expect(told('of-base')).toEqual([usage, usage]);
  });

  test('live calls after the record ends are paid and count for limits', async () => {
    await using it = await house(priced);
    await started(it, 'loop.dot', { ...scripted, maxSteps: '3' }, 1);
    const live = { live: true, ...scripted, quiet: true };
    const paid = await it.replay('base', { ...live, runId: 'paid', maxSteps: '20' });
    expect(paid.code, paid.err).toBe(0);
    expect(resultOf(it, 'paid').spent).toMatchObject({ calls: 1, cost_usd: 0.6 });
    const poor = await it.replay('base', { ...live, runId: 'poor', maxSteps: '20', maxCostUsd: '0' });
    expect(poor.code).toBe(1);
    expect(resultOf(it, 'poor')).toMatchObject({
      reason: expect.stringMatching(/^max_cost_usd: /),
      spent: { calls: 0 },
    });
  });
});

describe('records that cannot be used', () => {
  test('a changed byte in a text is refused before anything is created', async () => {
    await using it = await house({
      ...files,
      'long.dot': loop.replace('Say it', `Say it ${'long '.repeat(600)}`),
    });
    await started(it, 'long.dot', scripted);
    const prompt = exchanges(it, 'base')[0]?.prompt;
    const hash = typeof prompt === 'object' ? prompt.sha256 : '';
    damageContent(dirOf(it, 'base'), hash);
    const refused = await it.replay('base', { runId: 'r' });
    expect(refused.code, refused.err).toBe(2);
    expect(refused.err).toContain('error[replay-damaged]');
    expect(refused.err.replace(/\s+/g, '')).toContain(hash);
    expect(refused.err).toMatch(/call 1 of node "answer"/);
    expect((await it.exported('base')).code).toBe(2);
    expect(readdirSync(join(it.path, runs)).filter((name) => !name.startsWith('.'))).toEqual(['base']);
  });

  test('a run that called no agent is replayed', async () => {
    await using it = await house({
      'tool.dot':
        'digraph g { workdir="none"; start [shape=Mdiamond]; t [shape=parallelogram, tool_command="echo 1 > a"]; exit [shape=Msquare]; start -> t -> exit }',
    });
    await started(it, 'tool.dot', { runId: 'tools' });
    await checks(it, 'tools');
  });
});

const pipeline = `digraph g {
    start [shape=Mdiamond]
    a [prompt="Do it", agent.backend=codex, codex.json=true, allowed_write_paths="src/, b.bin, link", max_retries=1, retry_delay=1h]
    check [shape=parallelogram, tool_command="test -e src/second"]
    exit [shape=Msquare]
    start -> a
    a -> check [condition="outcome=success"]
    a -> a [condition="outcome=fail"]
    check -> exit [condition="outcome=success"]
    check -> a [condition="outcome=fail"]
  }`;
const said =
  '{"type":"item.completed","item":{"id":"1","type":"command_execution","command":"make","exit_code":0}}';
const does = `case $FACTORY_VISIT in
    1) echo out > outside.txt; mkdir -p src/new; echo 1 > src/new/a; ok ;;
    2) echo '${said}'; rm src/old.txt; printf '\\377\\000' > b.bin; echo 2 > src/main.txt; chmod 755 src/main.txt; ln -s main.txt src/link; ok ;;
    3) touch src/second; echo done > src/main.txt; ok ;;
  esac`;
const made = () =>
  house({ 'p.dot': pipeline, 'w/src/main.txt': 'main\n', 'w/src/old.txt': 'old\n' }, () => ({
    STAND_IN: does,
    ATTRACTOR_CODEX_PATH: join(root, 'test/support/codex-stand-in.sh'),
  }));

test('agents that work in the workspace: their changes of files are repeated and checked against scopes, and no program is started', async () => {
  await using it = await made();
  await started(it, 'p.dot', { workdir: 'w' });
  const [first, second] = exchanges(it, 'base');
  expect(first?.files?.changes.map(({ change, path }) => `${change} ${path}`)).toContain(
    'created outside.txt',
  );
  expect(second?.actions).toMatchObject([{ detail: 'make' }]);
  const program = JSON.parse(String(readItem(it, second)));
  expect(program).toMatchObject({
    kind: 'program',
    exit: { kind: 'exited', code: 0 },
    stdout: { name: 'codex.stdout.log' },
  });
  it.environment({ STAND_IN: 'touch src/ran', ATTRACTOR_CODEX_PATH: '/nowhere/codex' });
  await checks(it);
  const told = (run: string) => it.records(`${runs}/${run}/events.jsonl`).map(({ type }) => type);
  expect(told('of-base')).toEqual(told('base'));
  expect(told('base')).toContain('AgentActed');
});

test('the exported script makes the same changes, bytes, modes, links and deletions included', async () => {
  await using it = await made();
  await started(it, 'p.dot', { workdir: 'w' });
  expect((await it.exported('base', 's.json')).code).toBe(0);
  const played = { agent: 'scripted', script: 's.json', runId: 'played', quiet: true };
  writeFileSync(join(it.path, 'p2.dot'), pipeline.replace('agent.backend=codex, ', ''));
  const ran = await it.run('p2.dot', { ...played, workdir: 'w' });
  expect(ran.code, ran.err).toBe(0);
  expect(workspace(it, 'played')).toEqual(workspace(it, 'base'));
  expect(resultOf(it, 'played').stages).toBe(resultOf(it, 'base').stages);
});

test('the exported script replaces files by folders and folders by links', async () => {
  const swaps =
    'rm f; mkdir f; echo in > f/in; rm -r d; echo d > d; rm -r l; ln -s f l; rm ln; mkdir ln; echo x > ln/x; rm -r gone';
  const files = { 'w/f': 'f\n', 'w/d/a': 'a\n', 'w/l/q': 'q\n', 'w/gone/deep/a': 'a\n' };
  const one = (agent: string) =>
    `digraph g { start [shape=Mdiamond]; exit [shape=Msquare]; a [prompt="Do it", ${agent}]; start -> a -> exit }`;
  const coded = one('agent.backend=codex, codex.json=true');
  await using it = await house({ ...files, 'p.dot': coded, 'q.dot': one('agent.backend=scripted') }, () => ({
    STAND_IN: `${swaps}; ok`,
    ATTRACTOR_CODEX_PATH: join(root, 'test/support/codex-stand-in.sh'),
  }));
  symlinkSync('f', join(it.path, 'w/ln'));
  await started(it, 'p.dot', { workdir: 'w' });
  expect((await it.exported('base', 's.json')).code).toBe(0);
  const ran = await it.run('q.dot', { script: 's.json', runId: 'played', quiet: true, workdir: 'w' });
  expect(ran.code, ran.err).toBe(0);
  expect(workspace(it, 'played')).toEqual(workspace(it, 'base'));
});

test('a stalled agent is recorded with its failure', async () => {
  await using it = await made();
  writeFileSync(
    join(it.path, 'c.dot'),
    pipeline.replace('max_retries=1', 'max_same_calls=2, stall_timeout=1h'),
  );
  it.environment({
    STAND_IN: `case $FACTORY_VISIT in
        1) echo '${said}'; echo '${said}'; echo '${said}'; exec sleep 1000 ;;
        *) touch src/second; ok ;;
      esac`,
    ATTRACTOR_CODEX_PATH: join(root, 'test/support/codex-stand-in.sh'),
  });
  await started(it, 'c.dot', { workdir: 'w' });
  expect(exchanges(it, 'base').map(({ call, complete }) => [call, complete])).toEqual([
    [1, true],
    [2, true],
  ]);
  expect(readReport(it, exchanges(it, 'base')[0])).toMatchObject({
    kind: 'failed',
    class: 'stalled',
    reason: expect.stringContaining('it made the same call 2 times'),
  });
  await checks(it);
});

test('an interrupted attempt is recorded as incomplete, and answers no replay', async () => {
  await using it = await made();
  it.environment({
    STAND_IN: `if [ -e "$HOME/begun" ]; then ${does}\nelse echo half > src/half; touch "$HOME/begun"; exec sleep 1000; fi`,
    ATTRACTOR_CODEX_PATH: join(root, 'test/support/codex-stand-in.sh'),
  });
  const begun = join(it.path, 'begun');
  const cut = await it.runUntil('p.dot', { workdir: 'w', runId: 'base', quiet: true }, () =>
    existsSync(begun),
  );
  expect(cut.code).toBe(130);
  expect(exchanges(it, 'base').map(({ call, complete }) => [call, complete])).toEqual([[1, false]]);
  const resumed = await it.resume('base', { quiet: true });
  expect(resumed.code, resumed.err).toBe(0);
  expect(exchanges(it, 'base').map(({ call, complete }) => [call, complete])).toEqual([
    [1, false],
    [1, true],
    [2, true],
    [3, true],
  ]);
  await checks(it);
});

const readReport = (it: House, exchange: Exchange | undefined) =>
  JSON.parse(readItem(it, exchange === undefined ? exchange : { ...exchange, items: exchange.report ?? '' }));

function readItem(it: House, exchange: Exchange | undefined): string {
  const items = exchange?.items;
  return items === undefined ? '' : bodiesIn(dirOf(it, 'base'))(items).trim();
}

const key = 'sk-test-0123456789';
const asking = `digraph g {
    workdir="none"
    start [shape=Mdiamond]
    ask [prompt="Write", response_file="a.txt", max_retries=2, retry_delay=1h, retry_on=fail]
    exit [shape=Msquare]
    start -> ask -> exit
  }`;

// An answer with a key is not written to a file.
const withoutFile = asking.replace('response_file="a.txt", ', '');

test('a key in the pieces of a chat completion is not recorded', async () => {
  const say = (content: string, finish_reason: string | null = null) => ({
    choices: [{ index: 0, delta: { content }, finish_reason }],
  });
  const events = [say('the key is '), say(key.slice(0, 9)), say(key.slice(9), 'stop')];
  await using server = await startModelServer([{ events }], ['chat']);
  await using it = await house(
    { 'p.dot': withoutFile.replace('[prompt', '[openai.api=chat, prompt') },
    () => ({
      OPENAI_API_KEY: key,
      OPENAI_BASE_URL: server.url,
    }),
  );
  await started(it, 'p.dot', { model: 'some-model' });
  const everything = allText(dirOf(it, 'base'));
  expect(everything).toContain('chat/completions');
  expect(everything).not.toContain(key.slice(0, 9));
  expect(everything).not.toContain(key.slice(9));
});

test('a model over the network: requests and events are recorded without the key, and are not sent again', async () => {
  await using server = await startModelServer([{ text: `the key is ${key}, in pieces` }]);
  await using it = await house({ 'p.dot': withoutFile }, () => ({
    OPENAI_API_KEY: key,
    OPENAI_BASE_URL: server.url,
  }));
  await started(it, 'p.dot', { model: 'some-model' });
  const [exchange] = exchanges(it, 'base');
  const items = readItem(it, exchange)
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(items[0]).toMatchObject({
    kind: 'request',
    body: { model: 'some-model', input: 'Write', stream: true },
  });
  expect(items.at(-1)).toMatchObject({ kind: 'event', event: { type: 'response.completed' } });
  expect(exchange?.usage).toMatchObject({ input_tokens: 11, output_tokens: 7 });
  const everything = allText(dirOf(it, 'base'));
  expect(everything).toContain('in pieces');
  expect(everything).not.toContain(key);
  expect(everything.replaceAll(/"delta":"([^"]*)"/g, '')).not.toContain('sk-test');
  // No key, and a port where nobody listens.
  await server.close();
  it.environment({ OPENAI_BASE_URL: 'http://127.0.0.1:9' });
  const replayed = await it.replay('base', { check: true, runId: 'r', quiet: true });
  expect(replayed.out).toMatch(/^equal/);
  expect(server.requests).toHaveLength(1);
});

test('a suspended run is replayed without the wait, or up to it while it waits', async () => {
  await using server = await startModelServer((_, index) =>
    index < 1 ? { status: 429, headers: { 'retry-after': '3600' } } : { text: 'yes\n' },
  );
  await using it = await house({ 'p.dot': asking }, () => ({
    OPENAI_API_KEY: key,
    OPENAI_BASE_URL: server.url,
  }));
  await started(it, 'p.dot', {}, 75);
  const early = await it.replay('base', { runId: 'early', quiet: true });
  expect(early.code, early.err).toBe(1);
  expect(resultOf(it, 'early')).toMatchObject({ status: 'failed', divergence: { kind: 'end_of_record' } });
  const resumed = await it.resume('base', { now: true, quiet: true });
  expect(resumed.code, resumed.err).toBe(0);
  expect(exchanges(it, 'base').map(({ call, complete }) => [call, complete])).toEqual([
    [1, true],
    [1, true],
  ]);
  it.environment({ OPENAI_BASE_URL: 'http://127.0.0.1:9' });
  await checks(it);
});

test('a retry after a failed call is replayed without its delay', async () => {
  await using server = await startModelServer((_, index) =>
    index < 1 ? { refusal: 'no' } : { text: 'yes\n' },
  );
  await using it = await house({ 'p.dot': asking.replace('1h', '1ms') }, () => ({
    OPENAI_API_KEY: key,
    OPENAI_BASE_URL: server.url,
  }));
  await started(it, 'p.dot');
  expect(exchanges(it, 'base').map(({ call }) => call)).toEqual([1, 2]);
  it.environment({ OPENAI_BASE_URL: 'http://127.0.0.1:9' });
  await checks(it);
});

const allText = (run: string): string =>
  textsOfRun(run)
    .map(({ bytes }) => bytes.toString('utf8'))
    .join('\n');
