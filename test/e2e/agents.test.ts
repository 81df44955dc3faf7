/** Agents in whole runs, through the built command line: several in order, several models in turn, one that stalls. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Home, home, root } from '../support/in-process.ts';

const standIn = join(root, 'test/support/agent-stand-in.sh');
const project = (nodes: string, more: Readonly<Record<string, string>> = {}) =>
  home({
    'p.dot': `digraph g { start [shape=Mdiamond] exit [shape=Msquare]\n${nodes}\n}`,
    'w/src/main.txt': 'main\n',
    ...more,
  });
const run = (it: Home, env: Readonly<Record<string, string>>, ...flags: readonly string[]) =>
  it.factory(['run', 'p.dot', '--run-id', 'r1', '--workdir', 'w', ...flags], { env });
const dir = '.factory/runs/r1';
const outputs = async (it: Home, node: string) =>
  (await it.records(`${dir}/trace.jsonl`)).filter(
    (record) => record['type'] === 'NodeOutputCaptured' && record['node_id'] === node,
  );
const ending = async (it: Home, node: string) =>
  (await it.records(`${dir}/events.jsonl`)).filter(
    (event) => /^Stage(Completed|Failed)$/.test(String(event['type'])) && event['node_id'] === node,
  );

test('if an agent cannot answer, the next one does, and trace, status and usage name it', async () => {
  await using it = await project(`
    a [prompt="Do it", agent="codex,claude", codex.path="/nowhere/codex"]
    start -> a -> exit
  `);
  const ran = await run(it, { STAND_IN: 'echo new > new.txt; ok', FACTORY_CLAUDE_PATH: standIn });
  expect(ran.code, ran.stderr).toBe(0);
  const by = { agent: 'claude', tried: [{ agent: 'codex', class: 'config' }] };
  expect(await it.json(`${dir}/a/status.json`)).toMatchObject({ outcome: 'success', answered_by: by });
  expect(await outputs(it, 'a')).toMatchObject([{ answered_by: by }]);
  expect(await it.json(`${dir}/a/usage.json`)).toMatchObject({ agent: 'claude', cost_usd: 0.25 });
  expect(await ending(it, 'a')).toMatchObject([{ usage: { agent: 'claude', cost_usd: 0.25 } }]);
  expect(await it.json(`${dir}/manifest.json`)).toMatchObject({ agent: { name: 'codex,claude' } });
  expect(ran.stderr).toContain('codex could not answer; claude is asked');
});

test('a run with a list of agents resumes with that list', async () => {
  await using it = await project(`
    a [prompt="Do it"] b [prompt="Do it"]
    start -> a -> b -> exit
  `);
  const env = { STAND_IN: 'ok', FACTORY_CLAUDE_PATH: standIn, ATTRACTOR_CODEX_PATH: '/nowhere/codex' };
  const flags = ['--agent', 'codex,claude', '--model', 'm1'];
  await run(it, { ...env, ATTRACTION_TEST_STOP_AFTER_NODE: 'a' }, ...flags);
  const resumed = await it.factory(['resume', 'r1'], { env });
  expect(resumed.code, resumed.stderr).toBe(0);
  expect(await it.json(`${dir}/b/status.json`)).toMatchObject({
    answered_by: { agent: 'claude', model: 'm1' },
  });
});

test('each product failure that leads back to a node selects the next model; after a success it is the first again', async () => {
  await using it = await project(`
    fix [prompt="Fix it", agent.backend=fake, llm_model="small,middle,large"]
    check [shape=parallelogram, tool_command="echo x >> n; test $(wc -l < n) -ge 4"]
    again [shape=parallelogram,
      tool_command="test -e seen && exit; touch seen; echo '{\\"outcome\\":\\"partial_success\\"}' > $FACTORY_OUTPUT"]
    start -> fix -> check
    check -> fix [condition="outcome=fail"]
    check -> again [condition="outcome=success"]
    again -> fix [condition="outcome=partial_success"]
    again -> exit [condition="outcome=success"]
  `);
  const ran = await run(it, {});
  expect(ran.code, ran.stderr).toBe(0);
  expect((await outputs(it, 'fix')).map((one) => one['answered_by'])).toEqual([
    { agent: 'fake', model: 'small', escalation: 0 },
    { agent: 'fake', model: 'middle', escalation: 1 },
    { agent: 'fake', model: 'large', escalation: 2 },
    { agent: 'fake', model: 'large', escalation: 3 },
    { agent: 'fake', model: 'small', escalation: 0 },
  ]);
});

const stalling = (graph: string, attributes: string) => `
  ${graph}
  bad [shape=Msquare, outcome=fail]
  a [prompt="Do it", agent="codex,claude", codex.path="/nowhere/codex"${attributes}]
  start -> a
  a -> exit [condition="failure_class=stalled"]
  a -> bad [condition="failure_class!=stalled"]
`;

test.for([
  [
    'is silent',
    'stall_timeout=1s',
    '',
    'exec sleep 1000',
    /^the agent claude was stopped: it was silent for 1s \(stall_timeout\); its partial work \(1 changed file\) is snapshot [0-9a-f]{64}$/,
  ],
  [
    'repeats itself',
    '',
    ', max_same_calls=4',
    // Rewriting the same content is no change.
    'for i in 1 2 3 4 5 6 7 8 9; do echo half > half.txt; did $i "cat x"; sleep 0.05; done; exec sleep 1000',
    /^the agent claude was stopped: it made the same call 4 times without a change in the workspace \(max_same_calls\): cat x; its partial/,
  ],
] as const)(
  'an agent that %s is stopped with a separate failure class, and its partial work is kept',
  async ([, graph, limit, does, reason]) => {
    await using it = await project(stalling(graph, limit));
    const ran = await run(it, {
      STAND_IN: `echo half > half.txt; echo $$ > "$HOME/pid"; ${does}`,
      FACTORY_CLAUDE_PATH: standIn,
    });
    expect(ran.code, ran.stderr).toBe(0);
    const status = (await it.json(`${dir}/a/status.json`)) as Record<string, string>;
    expect(status).toMatchObject({
      failure_class: 'stalled',
      answered_by: { agent: 'claude' },
      failure_reason: expect.stringMatching(reason),
    });
    const kept = (await it.json(`${dir}/a/stalled.json`)) as { snapshot: string; created: string[] };
    expect(status['failure_reason']).toContain(kept.snapshot);
    expect(kept.created).toEqual(['half.txt']);
    const out = await it.factory(['checkout', 'r1', '--at', kept.snapshot, 'look']);
    expect(out.stdout, out.stderr).toContain(`run r1 at ${kept.snapshot.slice(0, 12)}: 2 files in `);
    expect(await it.list('look')).toContain('half.txt');
    expect((await it.factory(['checkout', 'r1', '--at', 'f'.repeat(64), 'none'])).code).toBe(1);
    expect(readdirSync(join(it.path, dir, 'workspace'))).toContain('half.txt');
    expect(existsSync(`/proc/${(await it.read('pid')).trim()}`)).toBe(false);
  },
);

test.for([
  [
    'a link that leads out of the workspace',
    'ln -s "$ELSEWHERE" out',
    'it leads out of the workspace by a link',
  ],
  ['a folder instead of it', 'mkdir -p out/answer.md/x', 'EISDIR'],
] as const)(
  'an answer that cannot be written because of an earlier node is reported as that, and requested once: %s',
  async ([, make, why]) => {
    await using it = await project(
      `
    m [shape=parallelogram, tool_command="sh make.sh"]
    a [prompt="Do it", response_file="out/answer.md"]
    agent_script="s.json"
    start -> m; m -> a [condition="outcome=success"]; m -> exit; a -> exit
  `,
      {
        'w/make.sh': make,
        's.json': '{"format":"factory-script/1","answers":{"a":[{"text":"said"}]}}',
        'elsewhere/kept': '',
      },
    );
    const ran = await run(it, { ELSEWHERE: join(it.path, 'elsewhere') });
    expect(ran.code, ran.stderr).toBe(1);
    expect(await it.json(`${dir}/a/status.json`)).toMatchObject({
      failure_class: 'config',
      failure_reason: expect.stringMatching(
        new RegExp(`^response_file "out/answer\\.md" cannot be written: .*${why}`),
      ),
    });
    expect(await it.read(`${dir}/a/response.md`)).toBe('said');
    expect((await it.records(`${dir}/events.jsonl`)).map(({ type }) => type)).not.toContain('StageRetrying');
    expect(await it.list('elsewhere')).toEqual(['kept']);
  },
);
