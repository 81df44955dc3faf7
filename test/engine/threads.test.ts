/** Conversations of agents: which one a node continues, and what of it is in the run. */
import { expect, test } from 'vitest';
import { fallbackAgent } from '../../src/agents/fallback.ts';
import { kinds } from '../../src/app/kinds.ts';
import { ContentStore } from '../../src/contents/store.ts';
import type { Agent, AgentReport, AgentTask } from '../../src/core/contracts/agent.ts';
import { layout } from '../../src/core/records/layout.ts';
import { runLoop } from '../../src/engine/loop.ts';
import type { Run } from '../../src/engine/run-context.ts';
import { makeFolder } from '../../src/platform/files/write.ts';
import { bodiesIn, exchangeLog } from '../../src/run/exchanges.ts';
import { openRun } from '../../src/run/open-run.ts';
import { temp } from '../platform/temp.ts';
import { graphOf } from '../support/graph.ts';
import { noSnapshots, prepared } from './prepared-run.ts';

const finished: AgentReport = {
  ...{ kind: 'finished', outcome: 'success', label: '', suggested: [], notes: '', reason: '', updates: {} },
  response: undefined,
};

/** An agent that keeps which nodes it was asked for; `heard` receives each task with what was kept before. */
const talker = (heard: string[], more: Partial<Agent> = {}, reports?: (n: number) => AgentReport): Agent => ({
  name: 'talker',
  describe: 'talks',
  free: true,
  threads: true,
  async work({ node, thread }: AgentTask) {
    heard.push(thread === undefined ? node : `${node}: ${thread.key} <- ${thread.before ?? 'nothing'}`);
    thread?.keep(`${thread.before ?? ''}${node} `);
    return reports?.(heard.length) ?? finished;
  },
  ...more,
});

/** Runs `body` and answers what the journal says of each conversation. */
async function ran(dir: string, body: string, agent: Agent, more: Partial<Run> = {}) {
  const { contents } = layout(dir);
  makeFolder(contents);
  const store = new ContentStore(contents, 'later');
  const lines: Parameters<Run['journal']['note']>[0][] = [];
  const ready = await prepared(dir, graphOf(`start [shape=Mdiamond]; done [shape=Msquare]; ${body}`), {
    kinds,
    snapshots: { ...noSnapshots, store },
    run: { agentFor: () => agent, ...more },
  });
  const run: Run = { ...ready, exchanges: exchangeLog(store, (line) => ready.journal.note(line)) };
  const end = await runLoop(run);
  await store.flush();
  await ready.close();
  const history = openRun(dir).history();
  if (!history.ok) throw new Error(history.why);
  const text = bodiesIn(dir);
  const kept = history.records.flatMap((one) =>
    one.type === 'Visit' && one.thread !== undefined
      ? [`${one.node}: ${one.thread.key} -> ${text(one.thread.session)}`]
      : [],
  );
  return { end, kept, lines, history };
}

test.for([
  [
    'the thread_id of the node before that of the edge',
    'a [fidelity=full, thread_id=t]; b [fidelity=full]; c [fidelity=full, thread_id=t]; start -> a; a -> b [thread_id=t]; b -> c [thread_id=u]; c -> done',
    ['a: t <- nothing', 'b: t <- a ', 'c: t <- a b '],
  ],
  [
    'the thread of the graph',
    'graph [context_thread_default=g, default_fidelity=full]; a; b; start -> a -> b -> done',
    ['a: g <- nothing', 'b: g <- a '],
  ],
  [
    'the class of the subgraph',
    'subgraph cluster_x { label="Front End"; a [fidelity=full]; b [fidelity=full] } c [fidelity=full]; start -> a -> b -> c -> done',
    ['a: front-end <- nothing', 'b: front-end <- a ', 'c: front-end <- a b '],
  ],
  [
    'that of the previous node, and only for the node that the edge leads to',
    'a; b; c; start -> a; a -> b [fidelity=full]; b -> c; c -> done',
    ['a: a <- nothing', 'b: a <- a ', 'c'],
  ],
] as const)('a node with the fidelity full continues %s', async ([, body, wanted]) => {
  await using it = await temp();
  const heard: string[] = [];
  const { kept } = await ran(it.dir, body, talker(heard));
  expect(heard).toEqual(wanted);
  expect(kept).toHaveLength(heard.filter((one) => one.includes(':')).length);
});

test('without fidelity no agent has a conversation, and no line says one', async () => {
  await using it = await temp();
  const heard: string[] = [];
  const { kept, history } = await ran(it.dir, 'a; b; start -> a -> b -> done', talker(heard));
  expect([heard, kept]).toEqual([['a', 'b'], []]);
  expect(JSON.stringify(history.lines)).not.toMatch(/thread|fidelity/);
  expect(history.checkpoint.threads).toBeUndefined();
});

test('a turn that failed is not in the conversation, and what is kept has no secret', async () => {
  await using it = await temp();
  const heard: string[] = [];
  const failure: AgentReport = { kind: 'failed', class: 'infra', reason: 'down' };
  const secret = 'tok-4711-verysecret';
  const agent = talker(heard, {}, (n) => (n === 2 ? failure : finished));
  const { kept } = await ran(
    it.dir,
    'a [fidelity=full, thread_id=t]; b [fidelity=full, thread_id=t, max_retries=1]; start -> a -> b -> done',
    {
      ...agent,
      work: (task, signal) =>
        agent.work(
          task.thread === undefined
            ? task
            : { ...task, thread: { ...task.thread, keep: (text) => task.thread?.keep(text + secret) } },
          signal,
        ),
    },
    { env: { API_TOKEN: secret } },
  );
  expect(heard).toEqual(['a: t <- nothing', 'b: t <- a ***', 'b: t <- a ***']);
  expect(kept).toEqual(['a: t -> a ***', 'b: t -> a ***b ***']);
});

test.for([
  ['cannot continue one', { threads: undefined }, 'the agent mute cannot continue a conversation'],
  ['did not begin it', { threads: true }, 'it was with the agent talker, and mute cannot continue it'],
] as const)('where the agent %s, it is asked without the conversation', async ([, { threads }, why]) => {
  await using it = await temp();
  const [heard, logged]: [string[], string[]] = [[], []];
  const mute: Agent = { ...talker(heard, { name: 'mute' }) };
  const agents: Record<string, Agent> = {
    a: talker(heard),
    b: threads === undefined ? { ...mute, threads: threads as never } : mute,
  };
  const { kept, history } = await ran(
    it.dir,
    'graph [default_fidelity=full, default_thread=t]; a; b; start -> a -> b -> done',
    talker(heard),
    {
      agentFor: ({ id }) => agents[id],
      log: (level, message, fields) =>
        void (level === 'warn' && logged.push(`${message} ${fields?.['why']}`)),
    },
  );
  expect(heard).toEqual(['a: t <- nothing', threads === undefined ? 'b' : 'b: t <- nothing']);
  expect(kept).toEqual(['a: t -> a ', ...(threads === undefined ? [] : ['b: t -> b '])]);
  expect(logged).toEqual([expect.stringContaining(why)]);
  expect(history.exchanges.map(({ thread }) => thread)).toEqual(['begins', 'lost']);
});

test('of a list of agents the next one is asked with a summary where the one of the conversation cannot answer', async () => {
  await using it = await temp();
  const heard: string[] = [];
  const down: AgentReport = { kind: 'failed', class: 'infra', reason: 'down' };
  const first = talker(heard, { name: 'first' }, (n) => (n === 1 ? finished : down));
  const list = fallbackAgent([first, talker(heard, { name: 'second' })]);
  const { kept, history } = await ran(
    it.dir,
    'graph [default_fidelity=full, default_thread=t]; a; b; c; start -> a -> b -> c -> done',
    list,
  );
  expect(heard.map((one) => one.replace(' <-', ''))).toEqual([
    'a: t nothing',
    ...['b: t a ', 'b: t nothing', 'b: t nothing'],
    ...['c: t nothing', 'c: t nothing'],
  ]);
  expect(kept).toEqual(['a: t -> a ', 'b: t -> b ', 'c: t -> c ']);
  expect(history.checkpoint.threads).toMatchObject({ t: { agent: 'second', node: 'c' } });
});

test('a node that may read the scenarios is refused a conversation of one that may not', async () => {
  await using it = await temp();
  const heard: string[] = [];
  const body =
    'a [fidelity=full, thread_id=t]; b [fidelity=full, thread_id=t, "codex.allow_read_scenarios"=true]; start -> a -> b -> done';
  const { end } = await ran(it.dir, body, talker(heard));
  expect(heard).toEqual(['a: t <- nothing']);
  expect(end.state.last_outcome).toMatchObject({
    status: 'fail',
    class: 'config',
    reason:
      'the conversation "t" has texts of "a", which may not read the scenarios, and "b" may: give "b" a separate thread_id',
  });
});

test('a node that begins a conversation is not refused one under the same key', async () => {
  await using it = await temp();
  const heard: string[] = [];
  const body =
    'b [fidelity=full, thread_id=a]; a ["codex.allow_read_scenarios"=true]; c [fidelity=full, "codex.allow_read_scenarios"=true]; start -> b -> a -> c -> done';
  const { end } = await ran(it.dir, body, talker(heard));
  expect(heard).toEqual(['b: a <- nothing', 'a: a <- nothing', 'c: a <- a ']);
  expect(end.state.last_outcome?.status).toBe('success');
});
