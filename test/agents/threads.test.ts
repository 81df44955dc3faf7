/** Conversations of agent programs: what the program is given of one, and what is kept of it. */
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { claudeAgent } from '../../src/agents/claude.ts';
import { codexAgent } from '../../src/agents/codex.ts';
import type { AgentReport } from '../../src/core/contracts/agent.ts';
import { handClock } from '../support/clock.ts';
import { onDisk } from '../support/temporary.ts';
import { wellFormed } from './contract.ts';
import { programTask } from './program-task.ts';

onDisk();

const id = '6affb302-3e34-436f-b334-5ca7e9546ede';
const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

type Stand = {
  readonly program: string;
  readonly home: string;
  readonly folder: string;
  /** A session with that id, as the program names and writes it. */
  readonly name: string;
  readonly session: string;
  /** In words of the shell: reports the session, the turn, and the answer. */
  readonly begun: string;
  readonly over: string;
};

const stands: Readonly<Record<'codex' | 'claude', Stand>> = {
  codex: {
    program: 'codex-stand-in.sh',
    home: '.codex',
    folder: 'sessions',
    name: `2026/01/02/rollout-2026-01-02T00-00-00-${id}.jsonl`,
    session: `{"type":"session_meta","payload":{"id":"${id}"}}
{"type":"event_msg","payload":{"type":"token_count","info":null}}
{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":30,"cached_input_tokens":5,"output_tokens":10}}}}
`,
    begun: `say '{"type":"thread.started","thread_id":"'$ID'"}'; say '{"type":"turn.started"}'`,
    over: `ok; say '{"type":"turn.completed","usage":{"input_tokens":37,"cached_input_tokens":7,"output_tokens":13}}'`,
  },
  claude: {
    program: 'agent-stand-in.sh',
    home: '.claude',
    folder: 'projects',
    name: `-w/${id}.jsonl`,
    session: `{"type":"user","message":"hi","sessionId":"${id}"}\n`,
    begun: `say '{"type":"system","subtype":"init","model":"big-1","session_id":"'$ID'"}'`,
    over: 'ok',
  },
};

const both = ['codex', 'claude'] as const;
const rungs = both.flatMap((name) => (['bwrap', 'group'] as const).map((rung) => [name, rung] as const));

/** One turn of a stand-in. `does` runs with `$ID`, the session's id, and `$FILE`, its file. */
async function turn(
  name: 'codex' | 'claude',
  does: (stand: Stand) => string,
  {
    rung = 'bwrap',
    before,
    stopsAt,
    env = {},
  }: {
    readonly rung?: 'bwrap' | 'group';
    readonly before?: string;
    /** The file in `$SEEN` at which it is stopped. */
    readonly stopsAt?: string;
    readonly env?: Readonly<Record<string, string>>;
  } = {},
) {
  const stand = stands[name];
  const it = await programTask({}, env);
  it.env['SEEN'] = join(it.nodeDir, 'seen');
  const home = it.at(`home/${stand.home}/${stand.folder}`);
  const folder = rung === 'bwrap' ? it.at('scratch/sessions') : home;
  it.env['STAND_IN'] = `say() { printf '%s\\n' "$1"; }
    ID=${id}; FILE='${folder}/${stand.name}'
    for one in $(find '${folder}' -type f); do FILE=$one; ID=$(echo "$one" | sed -E 's/.*(.{36}).jsonl$/\\1/'); done
    mkdir -p "$(dirname "$FILE")"; ${does(stand)}`;
  const agent = { codex: codexAgent, claude: claudeAgent }[name]({ env: it.env, clock: handClock(0) });
  const attributes = {
    [`${name}.path`]: join(import.meta.dirname, '../support', stand.program),
    ...(name === 'codex' ? { 'codex.json': 'true' } : {}),
  };
  const kept: string[] = [];
  const thread = { key: 'k', before, keep: (session: string) => void kept.push(session) };
  const sandbox = async () => ({ rung, nests: true, scratch: it.at('scratch') });
  const stop = new AbortController();
  const work = agent.work(it.task({ attributes, thread, sandbox }, stop.signal), stop.signal);
  if (stopsAt !== undefined) await it.made(`seen/${stopsAt}`);
  if (stopsAt !== undefined) stop.abort();
  const report: AgentReport = wellFormed(await work);
  const left = (path: string) =>
    existsSync(it.at(path))
      ? (readdirSync(it.at(path), { recursive: true }) as string[]).filter((one) => uuid.test(one))
      : [];
  return { ...it, report, kept, home, left };
}

const append = `printf '%s\\n' '{"more":1}' >> "$FILE"`;
const writes = ({ session }: Stand) => `printf '%s' '${session}' > "$FILE"`;
const works = (stand: Stand) => `${stand.begun}; ${writes(stand)}; ${append}; ${stand.over}`;
const continues = (stand: Stand) => `${stand.begun}; ${append}; ${stand.over}`;

describe.for(rungs)('%s with the sandbox %s', ([name, rung]) => {
  const { session } = stands[name];

  test('begins a conversation: the text of its session is kept, and the session is gone from the home', async () => {
    await using it = await turn(name, works, { rung });
    expect(it.report).toMatchObject({ kind: 'finished' });
    expect(it.kept).toEqual([`${session}{"more":1}\n`]);
    expect(it.left('home')).toEqual([]);
    const { home } = JSON.parse(it.read('agent.program.json'));
    const shown = { path: it.home, write: true, from: it.at('scratch/sessions') };
    if (rung === 'bwrap') expect(home.at(-1)).toEqual(shown);
    else expect(home).not.toContainEqual(expect.objectContaining({ path: it.home }));
    expect(it.read('seen/argv')).not.toMatch(/resume/);
  });

  test('continues a copy under a new id', async () => {
    await using it = await turn(name, continues, { rung, before: session });
    expect(it.report).toMatchObject({
      kind: 'finished',
      usage: { input_tokens: 7, cached_input_tokens: 2, output_tokens: 3 },
    });
    const argv = it.lines('seen/argv');
    const [copy = ''] = argv.slice(argv.findIndex((word) => /^(?:--)?resume$/.test(word)) + 1);
    expect(copy).toMatch(uuid);
    expect(copy).not.toBe(id);
    expect(it.kept).toEqual([`${session.replaceAll(id, copy)}{"more":1}\n`]);
    expect(it.left('home')).toEqual([]);
    if (rung === 'group') expect(readdirSync(it.at('scratch'))).toEqual([]);
  });

  test('keeps nothing of a turn that fails or is stopped', async () => {
    const fails = (stand: Stand) => `${stand.begun}; ${append}; exit 1`;
    await using failed = await turn(name, fails, { rung, before: session });
    expect(failed.report).toMatchObject({ kind: 'failed', class: 'agent' });
    expect(failed.report).not.toHaveProperty('threadLost');
    const hangs = (stand: Stand) => `${stand.begun}; ${append}; touch "$SEEN/hangs"; exec sleep 1000`;
    await using stopped = await turn(name, hangs, { rung, before: session, stopsAt: 'hangs' });
    expect(stopped.report.kind).toBe('cancelled');
    expect([...failed.kept, ...stopped.kept]).toEqual([]);
    expect([...failed.left('home'), ...stopped.left('home')]).toEqual([]);
  });

  test('that ends before a model is asked has lost the conversation', async () => {
    await using it = await turn(name, () => 'echo "what session?" >&2; exit 1', { rung, before: session });
    expect(it.report).toMatchObject({
      ...{ kind: 'failed', class: 'agent', threadLost: true, unbilled: true },
      reason: expect.stringContaining('what session?'),
    });
    await using first = await turn(name, () => 'echo "what key?" >&2; exit 1', { rung });
    expect(first.report).not.toHaveProperty('threadLost');
  });
});

test.for(both)('%s does not continue what is no session of its own', async (name) => {
  const other = stands[name === 'codex' ? 'claude' : 'codex'];
  await using it = await turn(name, continues, { before: other.session });
  expect(it.report).toMatchObject({ kind: 'failed', threadLost: true, unbilled: true });
  expect(existsSync(join(it.nodeDir, 'seen'))).toBe(false);
});

test.for(both)('%s that writes no session is reported, and its answer counts', async (name) => {
  await using it = await turn(name, (stand) => `${stand.begun}; ${stand.over}`);
  expect(it.report).toMatchObject({ kind: 'finished' });
  expect(it.kept).toEqual([]);
  expect(it.logged).toContainEqual({
    level: 'warn',
    message: `${name} wrote no session: the conversation "k" is not kept`,
    fields: { ids: [id] },
  });
});

test.for(both)('%s that continues a session under another id is followed', async (name) => {
  const { session } = stands[name];
  const renamed = (stand: Stand) =>
    `ID=${id}; ${stand.begun}; FILE="$(dirname "$FILE")/x-${id}.jsonl"; ${writes(stand)}; ${append}; ${stand.over}`;
  for (const rung of ['bwrap', 'group'] as const) {
    await using it = await turn(name, renamed, { rung, before: session });
    expect(it.kept).toEqual([`${session}{"more":1}\n`]);
    expect(it.left('home')).toEqual([]);
  }
});

test('without a sandbox the database of codex, which repeats the turns of a session, is a private one', async () => {
  const looks = (stand: Stand) => `ls -d "$CODEX_SQLITE_HOME" > "$SEEN/base"; ${works(stand)}`;
  await using it = await turn('codex', looks, { rung: 'group' });
  expect(it.lines('seen/base')).toEqual([it.at('scratch/aside')]);
  expect(it.lines('seen/argv')).toContain('features.memories=false');
  await using inside = await turn('codex', works);
  expect(inside.read('seen/env')).not.toContain('CODEX_SQLITE_HOME');
  expect(inside.lines('seen/argv')).not.toContain('features.memories=false');
});

test('while it works without a sandbox, the session is noted for the next owner of the run', async () => {
  const looks = (stand: Stand) => `${continues(stand)}; cp "$SEEN/../../scratch/session.json" "$SEEN/note"`;
  await using it = await turn('codex', looks, { rung: 'group', before: stands.codex.session });
  expect(JSON.parse(it.read('seen/note'))).toEqual({
    ...{ program: 'codex', home: dirname(it.home) },
    ids: [expect.stringMatching(uuid)],
  });
});

test('a home that takes no session loses the conversation, and nothing else', async () => {
  const { session } = stands.claude;
  await using it = await turn('claude', continues, {
    ...{ rung: 'group', before: session },
    env: { CLAUDE_CONFIG_DIR: '/dev/null/claude' },
  });
  expect(it.report).toMatchObject({
    ...{ kind: 'failed', threadLost: true },
    reason: expect.stringContaining('cannot continue the conversation'),
  });
});
