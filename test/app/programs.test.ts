/** Whole runs with agent programs: what their ends and answers do to the run. */
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { house } from '../support/house.ts';

const result = (more: object) => `echo '${JSON.stringify({ type: 'result', subtype: 'success', ...more })}'`;
const good = { is_error: false, result: '{"outcome":"success"}', total_cost_usd: 0 };

async function ran(agent: string, program: string, edges: string) {
  const files = {
    'p.dot': `digraph g { workdir=none
      start [shape=Mdiamond]
      a [prompt="do it", max_retries=0, ${agent}, sandbox=none]
      done [shape=Msquare]; bad [shape=Msquare, outcome=fail]
      start -> a; a -> done [condition="outcome=success"]; ${edges} }`,
    program: `#!/bin/sh\ncat > /dev/null\n${program}\n`,
  };
  const it = await house(files, (path) => {
    const program = join(path, 'program');
    return { FACTORY_CLAUDE_PATH: program, ATTRACTOR_CODEX_PATH: program, FACTORY_COMMAND_RUN: program };
  });
  chmodSync(join(it.path, 'program'), 0o755);
  const told = await it.run('p.dot', { runId: 'r1' });
  return { it, ...told, result: it.json('.factory/runs/r1/result.json') };
}

const claude = 'agent=claude';
const codex = 'agent=codex, codex.json=true';
const failing = 'a -> bad [condition="outcome=fail"];';
const turn = (message: string) => `echo '${JSON.stringify({ type: 'turn.failed', error: { message } })}'`;

test.for([
  ['claude', claude, result({ is_error: true, api_error_status: 401, result: 'bad key' })],
  ['claude before its first event', claude, "echo 'Invalid API key · Please run /login'; exit 1"],
  ['codex', codex, turn('unexpected status 401 Unauthorized: bad key')],
] as const)(
  'a key that is refused suspends a run of %s; where an edge takes the failure its exit code is 3',
  async ([, agent, program]) => {
    const parked = await ran(agent, program, 'a -> bad [condition="failure_class=product"];');
    await using _ = parked.it;
    expect([parked.code, parked.result.status]).toEqual([75, 'paused_auth']);
    const taken = await ran(agent, program, failing);
    await using __ = taken.it;
    expect([taken.code, taken.result.exit_node]).toEqual([3, 'bad']);
  },
);

test('an agent program whose own answer is broken ends the run with 1', async () => {
  const broken = await ran(claude, result({ ...good, result: 'All done.' }), failing);
  await using _ = broken.it;
  expect(broken.code).toBe(1);
});

test.for([
  ['a rate limit', result({ is_error: true, result: 'API Error: Rate limit reached' })],
  ['a limit of its plan', 'echo "You\'ve hit your limit · resets 1pm (Europe/Lisbon)"; exit 1'],
] as const)('%s of claude suspends the run, also where an edge takes failures', async ([, program]) => {
  const startedAt = Date.now();
  const parked = await ran(claude, program, failing);
  await using _ = parked.it;
  expect([parked.code, parked.result.status]).toEqual([75, 'paused_quota']);
  // In the hour after the time that it names the limit counts as over.
  expect(Date.parse(parked.result.wake_at)).toBeGreaterThanOrEqual(startedAt);
});

test('what the permissions of claude did not allow is in log, events, result and summary', async () => {
  const permission_denials = [{ tool_name: 'Write', tool_input: { file_path: 'probe.txt' } }];
  const denied = await ran(claude, result({ ...good, permission_denials }), failing);
  await using _ = denied.it;
  expect(denied.code).toBe(0);
  expect(denied.err).toMatch(/WARN +claude was denied the tool Write/);
  expect(denied.out).toMatch(/denied +a: Write probe\.txt/);
  expect(denied.result.denied).toEqual([{ node: 'a', calls: ['Write probe.txt'] }]);
  expect(denied.it.records('.factory/runs/r1/events.jsonl')).toContainEqual(
    expect.objectContaining({
      type: 'AgentActed',
      action: 'file_change',
      detail: 'probe.txt',
      status: 'denied',
    }),
  );
  const free = await ran(claude, result(good), failing);
  await using __ = free.it;
  expect(free.out).not.toContain('denied');
});

test("an agent command's answer without an outcome is no success where edges test it", async () => {
  const command = 'agent=command';
  const refused = await ran(command, `echo "I'm sorry, but I can't help with that."`, failing);
  await using _ = refused.it;
  expect([refused.code, refused.result.exit_node, refused.result.failure_class]).toEqual([1, 'bad', 'agent']);
  expect(refused.err).toContain('outcome-not-asked');
  const behind = 'a -> d; d [shape=diamond]; d -> bad [condition="outcome=fail"]; d -> done;';
  const passed = await ran(command, 'echo Nothing.', behind);
  await using __ = passed.it;
  expect(passed.result.failed_stages).toBe(1);
});

test('plain words are a success where no edge asks', async () => {
  await using it = await house({
    'p.dot': `digraph g { workdir=none; start [shape=Mdiamond]; done [shape=Msquare]
      a [prompt=x, agent=command, command.run="echo All done."]; start -> a -> done }`,
  });
  expect(await it.run('p.dot', {})).toMatchObject({
    code: 0,
    err: expect.not.stringContaining('outcome-not'),
  });
});

test("the fake agent's sequence goes by attempts over the whole run, resumes included", async () => {
  await using it = await house({
    'p.dot': `digraph g { workdir=none; start [shape=Mdiamond]; done [shape=Msquare]
      a [prompt=x, agent=fake, max_retries=0, test.outcome_sequence="fail,fail,success"]
      fix [shape=parallelogram, tool_command=true]
      start -> a; a -> done [condition="outcome=success"]; a -> fix [condition="outcome=fail"]; fix -> a }`,
  });
  const first = await it.run('p.dot', { runId: 'r1', maxSteps: '4', json: true });
  expect(JSON.parse(first.out)).toMatchObject({ exit_node: null, failed_stages: 2 });
  const then = await it.resume('r1', { maxSteps: '20', json: true });
  expect(JSON.parse(then.out)).toMatchObject({ status: 'completed', failed_stages: 2 });
});
