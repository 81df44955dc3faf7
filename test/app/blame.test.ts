/** Classes of failures in whole runs: which agent is asked for a fix, what is run again, and which loop is stopped. */
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { house } from '../support/house.ts';

const run = '.factory/runs/r1';
const options = { runId: 'r1', workdir: 'w', agent: 'fake' };
const loop = (judge: string, more = '') => `digraph g { ${more}
  start [shape=Mdiamond]; exit [shape=Msquare]
  ${judge}
  fix [prompt="repair it", response_file="app/x"]
  start -> judge; judge -> exit [condition="outcome=success"]; judge -> fix [condition="outcome=fail"]; fix -> judge }`;
const tool = (attributes: string) => loop(`judge [shape=parallelogram, ${attributes}]`);
const judged = tool('tool_command="sh scripts/scenarios/a.sh app"');
/** A run of a scenario on a product that holds what the fake agent never writes. */
const scenario = (script: string, pipeline = judged, env?: (path: string) => Record<string, string>) =>
  house({ 'p.dot': pipeline, 'w/scripts/scenarios/a.sh': script, 'w/app/x': 'bad\n' }, env);

test('a failure of the product goes to the fix loop, and its fix is accepted', async () => {
  await using it = await scenario('grep -q good $1/x || { echo failure_class=product >&2; exit 1; }\n');
  const script = {
    format: 'factory-script/1',
    answers: { fix: [{ text: 'bad again\n' }, { text: 'good\n' }] },
  };
  await writeFile(join(it.path, 'agent.json'), JSON.stringify(script));
  const ended = await it.run('p.dot', { ...options, agent: 'scripted', script: 'agent.json' });
  expect(ended.code, ended.err).toBe(0);
  const visits = it
    .records(`${run}/journal.jsonl`)
    .filter(({ type }) => type === 'Visit')
    .map(({ node }) => node);
  expect(visits).toEqual(['start', 'judge', 'fix', 'judge', 'fix', 'judge', 'exit']);
  expect(it.json(`${run}/judge/visits/1/status.json`).attribution).toEqual({
    class: 'product',
    how: 'said',
    why: 'failure_class=product in standard error; failed alike in a clean copy',
  });
  expect(it.json(`${run}/judge/visits/1/rerun.json`)).toMatchObject({ result: 'alike', exit_code: 1 });
});

describe('no fix is paid for', () => {
  // A fork keeps the scenarios of its run.
  const next = {
    scenario: /^factory fork r1 --before judge --holdout DIR /,
    infra: / fork \S+ --at judge --before$/,
    config:
      / fork \S+ --at judge --before --pipeline p\.dot # after fixing judge in p\.dot, or what it runs$/,
  };
  const verified =
    loop(`plan [shape=parallelogram, sets_plan=true, tool_command="echo '{\\"context_updates\\":{\\"verification.plan\\":{\\"files\\":[],\\"commands\\":[\\"sh scripts/scenarios/a.sh app\\"]}}}' > $FACTORY_OUTPUT"]
    judge [type=verification, verification.allowed_commands="sh scripts/scenarios/a.sh"]`).replace(
      'start -> judge',
      'start -> plan -> judge',
    );
  test.for([
    [
      'when the scenario says that it is broken',
      'echo failure_class=scenario >&2; exit 1',
      judged,
      'scenario',
      'said',
    ],
    [
      'when it says that the machine is at fault',
      'echo failure_class=infra; exit 3',
      judged,
      'infra',
      'said',
    ],
    ['after exit code 86', 'exit 86', judged, 'infra', 'evidence'],
    ['when a program is missing', 'nosuchprogram; exit $?', judged, 'config', 'evidence'],
    ['when the scenario is no script', 'if then', judged, 'scenario', 'evidence'],
    [
      'when a verification reports it',
      'echo failure_class=scenario >&2; exit 1',
      verified,
      'scenario',
      'said',
    ],
    ['when a verification ends with 86', 'exit 86', verified, 'infra', 'evidence'],
  ] as const)('%s', async ([, script, pipeline, of, how]) => {
    await using it = await scenario(`${script}\n`, pipeline);
    const ended = await it.run('p.dot', options);
    expect(ended.code, ended.err).toBe(1);
    const result = it.json(`${run}/result.json`);
    expect(result.reason).toMatch(
      /^unfixable_failure_source: failed node judge .*no change by fix fixes; fix the/,
    );
    expect(result.failure_class).toBe(of);
    expect(result.next).toMatch(next[of]);
    expect(it.json(`${run}/judge/status.json`).attribution).toMatchObject({ class: of, how });
    expect(existsSync(join(it.path, run, 'fix'))).toBe(false);
    // Only what blames the product is looked at again.
    expect(existsSync(join(it.path, run, 'judge/rerun.json'))).toBe(false);
  });

  test('but an agent that leads nowhere back may report it', async () => {
    await using it = await scenario(
      'exit 86\n',
      `digraph g { start [shape=Mdiamond]; out [shape=Msquare, outcome=fail]; exit [shape=Msquare]
        judge [shape=parallelogram, tool_command="sh scripts/scenarios/a.sh app"]; report [prompt="tell it"]
        start -> judge; judge -> exit [condition="outcome=success"]; judge -> report [condition="outcome=fail"]; report -> out }`,
    );
    const ended = await it.run('p.dot', options);
    expect(ended.code, ended.err).toBe(1);
    expect(it.json(`${run}/result.json`).exit_node).toBe('out');
    expect(existsSync(join(it.path, run, 'report/prompt.md'))).toBe(true);
  });
});

describe('a scenario that failed is run again in a clean copy', () => {
  const flaky = (then: string) =>
    `echo trace > left-behind\nif [ -e "$MARK" ]; then ${then}; fi\ntouch "$MARK"; echo wrong >&2; exit 1\n`;
  const mark = (path: string) => ({ MARK: join(path, 'mark') });
  const traceless = (it: { path: string }) => {
    expect(existsSync(join(it.path, run, '.scratch/.rerun'))).toBe(false);
    expect(existsSync(join(it.path, run, 'workspace/left-behind'))).toBe(true);
  };

  test('where it passes, it is the scenario that is at fault', async () => {
    await using it = await scenario(flaky('echo fine; exit 0'), judged, mark);
    const ended = await it.run('p.dot', options);
    expect(ended.code, ended.err).toBe(1);
    const why = 'flaky: failed, then passed in a clean copy';
    expect(it.json(`${run}/judge/status.json`)).toMatchObject({
      failure_class: 'scenario',
      failure_reason: `${why} (tool_exit_code_1)`,
      attribution: { class: 'scenario', how: 'rerun', why },
      rerun: { result: 'passed', first_exit_code: 1, exit_code: 0, failure_class: null },
    });
    expect(it.read(`${run}/judge/rerun.stdout.txt`)).toBe('fine\n');
    expect(it.read(`${run}/judge/tool.stderr.txt`)).toBe('wrong\n');
    const events = it.records(`${run}/events.jsonl`);
    expect(events.filter(({ type }) => type === 'ScenarioRerun')).toMatchObject([
      { node_id: 'judge', result: 'passed' },
    ]);
    const trace = it.records(`${run}/trace.jsonl`);
    expect(
      trace.find(({ node_id, type }) => type === 'NodeOutputCaptured' && node_id === 'judge'),
    ).toMatchObject({
      attribution: { how: 'rerun' },
      rerun: { result: 'passed' },
    });
    expect(it.json(`${run}/result.json`).reason).toMatch(
      /^unfixable_failure_source: .*flaky: failed, then passed/,
    );
    traceless(it);
  });

  test('a passing attempt has no record of an earlier second run', async () => {
    const again = tool(
      'tool_command="sh scripts/scenarios/a.sh app", retry_on=fail, max_retries=1, retry_delay="1ms"',
    );
    await using it = await scenario('test -e seen && exit 0; touch seen; echo wrong >&2; exit 1\n', again);
    const ended = await it.run('p.dot', options);
    expect(ended.code, ended.err).toBe(0);
    const types = it.records(`${run}/events.jsonl`).map(({ type }) => type);
    expect(types).toContain('ScenarioRerun');
    const left = readdirSync(join(it.path, run, 'judge')).filter((name) => name.startsWith('rerun.'));
    expect(left).toEqual([]);
  });

  test('where it fails in another way, too', async () => {
    await using it = await scenario(flaky('exit 7'), judged, mark);
    await it.run('p.dot', options);
    expect(it.json(`${run}/judge/status.json`)).toMatchObject({
      failure_class: 'scenario',
      rerun: { result: 'differently', first_exit_code: 1, exit_code: 7 },
    });
    traceless(it);
  });

  test('and sees the workspace as the first run found it, with the sealed files, but not its traces', async () => {
    await using it = await scenario(
      'cat scripts/scenarios/a.sh >/dev/null && cat app/x && ! [ -e left ] || exit 9\ntouch left; pwd; exit 1\n',
    );
    await it.run('p.dot', { ...options, agent: 'stub' });
    expect(it.json(`${run}/judge/visits/1/rerun.json`).result).toBe('alike');
    expect(it.read(`${run}/judge/visits/1/rerun.stdout.txt`)).toMatch(/^bad\n\/.*\.rerun\/workspace\n$/);
  });

  test.for([
    ['not with rerun=false', tool('rerun=false, tool_command="sh scripts/scenarios/a.sh app"'), false],
    [
      'not for a node that works on the run itself',
      tool('access="run", sees_holdout=true, tool_command="sh scripts/scenarios/a.sh app"'),
      false,
    ],
    ['not for a command that is no scenario', tool('tool_command="echo no; exit 1"'), false],
    ['for a node that is said to be a judge', tool('judge=true, tool_command="echo no; exit 1"'), true],
  ] as const)('%s', async ([, pipeline, again]) => {
    await using it = await scenario('exit 1\n', pipeline);
    await it.run('p.dot', { ...options, agent: 'fake' });
    expect(existsSync(join(it.path, run, 'judge/rerun.json'))).toBe(again);
    expect(it.json(`${run}/judge/status.json`).failure_class).toBe('product');
  });
});

describe('a loop in which nothing comes of the fixes', () => {
  const noisy = 'echo "$(date) pid $$: wrong in $(mktemp -u), after 0.$$ s" >&2; exit 1\n';
  const reason = (it: Awaited<ReturnType<typeof house>>) => it.json(`${run}/result.json`).reason;

  test('is stopped at the third failure alike, whatever numbers it prints', async () => {
    await using it = await scenario(noisy);
    const ended = await it.run('p.dot', options);
    expect(ended.code, ended.err).toBe(1);
    expect(reason(it)).toMatch(
      /^loop_stopped: node judge failed alike 3 times with no change in between \(visits 1, 2, 3\): tool_exit_code_1: .*wrong in <tmp>/,
    );
    expect(
      it
        .records(`${run}/journal.jsonl`)
        .filter(({ type }) => type === 'Visit')
        .filter(({ node }) => node === 'fix'),
    ).toHaveLength(2);
    // One more try for the resume.
    const again = await it.resume('r1');
    expect(again.code, again.err).toBe(1);
    expect(reason(it)).toMatch(/^loop_stopped: node judge failed alike 4 times .*\(visits 1, 2, 3, 4\)/);
  });

  test('is stopped also where temporary files are in a separate folder', async () => {
    const named = 'echo "nothing in $(mktemp -u "$TMPDIR/abcXXXXXX")" >&2; exit 1\n';
    // Not below one of those that every system has.
    const there = await mkdtemp(join(process.cwd(), 'node_modules', '.scratch-'));
    try {
      await using it = await scenario(named, judged, () => ({ TMPDIR: there, FACTORY_SANDBOX: 'none' }));
      const ended = await it.run('p.dot', options);
      expect(ended.code, ended.err).toBe(1);
      expect(reason(it)).toMatch(/^loop_stopped: node judge failed alike 3 times/);
    } finally {
      await rm(there, { recursive: true });
    }
  });

  test('continues where each fix changes something, until a cap ends it', async () => {
    await using it = await scenario(noisy, judged.replace('repair it"', 'repair it", max_visits=4'));
    const answers = { fix: [1, 2, 3, 4].map((n) => ({ text: `try ${n}\n` })) };
    await writeFile(join(it.path, 'agent.json'), JSON.stringify({ format: 'factory-script/1', answers }));
    await it.run('p.dot', { ...options, agent: 'scripted', script: 'agent.json' });
    expect(reason(it)).toMatch(/^max_visits/);
  });

  test('is stopped where a goal gate sends the run back, too', async () => {
    const gate = `digraph g { start [shape=Mdiamond]; exit [shape=Msquare]
      judge [shape=parallelogram, goal_gate=true, retry_target=fix, tool_command="sh scripts/scenarios/a.sh app"]
      fix [prompt="repair it"]; start -> judge; judge -> exit [condition="outcome=success || outcome=fail"]; fix -> judge }`;
    await using it = await scenario(noisy, gate);
    await it.run('p.dot', options);
    expect(reason(it)).toMatch(/^loop_stopped: node judge failed alike 3 times/);
  });

  test('is left alone with breaker=0', async () => {
    await using it = await scenario(
      noisy,
      tool('breaker=0, max_visits=4, tool_command="sh scripts/scenarios/a.sh"'),
    );
    await it.run('p.dot', options);
    expect(reason(it)).toMatch(/^max_visits/);
  });

  test('is none where a tool asks again and again by itself', async () => {
    await using it = await scenario(
      'exit 1\n',
      `digraph g { breaker=2; start [shape=Mdiamond]; exit [shape=Msquare]
        wait [shape=parallelogram, max_visits=5, tool_command="echo not yet; exit 1"]
        start -> wait; wait -> exit [condition="outcome=success"]; wait -> wait [condition="outcome=fail"] }`,
    );
    await it.run('p.dot', options);
    expect(reason(it)).toMatch(/^max_visits/);
    expect(
      it
        .records(`${run}/journal.jsonl`)
        .filter(({ type }) => type === 'Visit')
        .filter(({ node }) => node === 'wait'),
    ).toHaveLength(5);
  });
});
