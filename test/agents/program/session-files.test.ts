import { existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import {
  claudeSessionName,
  codexSessionName,
  noteSession,
  readSession,
  removeNotedSessions,
  removeSession,
  type SessionProgram,
  sessionCopy,
  sessionIdIn,
  writeSession,
} from '../../../src/agents/program/session-files.ts';
import { temp } from '../../platform/temp.ts';

const ids = { codex: '01a224c5-48b2-71f2-a17a-211574828f09', claude: '9076abd5-7f2e-40bd-8038-e7569eed151f' };
const other = '6affb302-3e34-436f-b334-5ca7e9546ede';

/** Lines that the programs have written, without what is long in them. */
const sessions: Readonly<Record<SessionProgram, string>> = {
  codex: `{"timestamp":"2026-11-29T00:45:43.125Z","ordinal":0,"type":"session_meta","payload":{"account_scoped":true,"session_id":"${ids.codex}","id":"${ids.codex}","timestamp":"2026-11-29T00:45:43.106Z","cwd":"/w","originator":"codex_exec","cli_version":"0.169.0","source":"exec","base_instructions":{"text":"Say {\\"id\\":\\"${other}\\"}"}}}
{"timestamp":"2026-11-29T00:45:43.173Z","ordinal":11,"type":"response_item","payload":{"type":"message","id":"msg_01a224c3-d385-78d1-9d42-5d66bcd48b18","role":"user","content":[{"type":"input_text","text":"do it"}]}}
{"timestamp":"2026-11-29T00:45:43.174Z","ordinal":12,"type":"event_msg","payload":{"type":"item_completed","thread_id":"${ids.codex}","item":{"type":"UserMessage","id":"01a224c3-d385-78d1-9d42-5d74e73b4c52"}}}
`,
  claude: `{"type":"queue-operation","operation":"enqueue","timestamp":"2026-11-29T00:45:45.306Z","sessionId":"${ids.claude}","content":"do it: \\"sessionId\\":\\"${other}\\""}
{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"do it"},"uuid":"355240fd-a5fe-4a46-8bfc-092627646e64","cwd":"/w","sessionId":"${ids.claude}","version":"2.1.197"}
{"type":"last-prompt","lastPrompt":"do it","leafUuid":"355240fd-a5fe-4a46-8bfc-092627646e64","sessionId":"${ids.claude}"}
`,
};
const programs = ['codex', 'claude'] as const;

test.for(programs)('a session of %s is copied under a new id, and only its id is another one', (program) => {
  const text = sessions[program];
  expect(sessionIdIn(program, text)).toBe(ids[program]);
  const [one, two] = [sessionCopy(program, text), sessionCopy(program, text)];
  expect(one?.id).not.toBe(two?.id);
  expect(sessionIdIn(program, one?.text ?? '')).toBe(one?.id);
  expect(one?.text).not.toContain(ids[program]);
  expect(one?.text.replaceAll(one.id, ids[program])).toBe(text);
});

test.for([
  ['codex', sessions.claude],
  ['claude', sessions.codex],
  ['codex', ''],
  ['claude', '{"type":"user","message":"hi"}\n'],
  ['codex', `{"type":"turn_context","payload":{"id":"${ids.codex}"}}\n`],
  ['codex', `{"type":"session_meta","payload":{"id":"../../${ids.codex}"}}\n`],
] as const)('%s has no session in %j', ([program, text]) => {
  expect(sessionCopy(program, text)).toBeUndefined();
});

test.for([
  ['/w', '-w'],
  ['/home/ada/.factory/runs/01ABC/workspace', '-home-ada--factory-runs-01ABC-workspace'],
  ['/w/a_b c.é', '-w-a-b-c--'],
  // As the program itself names it.
  [`/${'a'.repeat(220)}`, `-${'a'.repeat(199)}-${'7upm6p'}`],
] as const)('claude looks for sessions of %s in %s', ([cwd, folder]) => {
  expect(claudeSessionName(ids.claude, cwd)).toBe(`${folder}/${ids.claude}.jsonl`);
});

test('codex looks for a session in the folder of its day', () => {
  expect(codexSessionName(other, new Date('2026-01-02T03:04:05.678Z'))).toBe(
    `2026/01/02/rollout-2026-01-02T03-04-05-${other}.jsonl`,
  );
});

const nameOf = (program: SessionProgram, id: string) =>
  program === 'codex' ? codexSessionName(id, new Date(0)) : claudeSessionName(id, '/w');

test.for(programs)('a session of %s is read wherever it lies, but not through a link', async (program) => {
  await using it = await temp();
  const folder = it.at('sessions');
  const id = ids[program];
  await writeSession(folder, nameOf(program, id), sessions[program]);
  expect(statSync(join(folder, nameOf(program, id))).mode & 0o777).toBe(0o600);
  expect(readSession(program, folder, id)).toBe(sessions[program]);
  // Another one of that name is not this one.
  await writeSession(folder, nameOf(program, other), sessions[program]);
  expect(readSession(program, folder, other)).toBeUndefined();
  for (const place of ['file', 'folder'] as const) {
    const linked = it.at(place);
    const path = join(linked, nameOf(program, id));
    mkdirSync(place === 'file' ? dirname(path) : dirname(dirname(path)), { recursive: true });
    const real = join(folder, nameOf(program, id));
    if (place === 'file') symlinkSync(real, path);
    else symlinkSync(dirname(real), dirname(path));
    expect(readSession(program, linked, id), place).toBeUndefined();
  }
});

const keptBy: Readonly<Record<SessionProgram, (id: string) => readonly string[]>> = {
  codex: (id) => [
    `sessions/${codexSessionName(id, new Date(0))}`,
    `shell_snapshots/${id}.1.sh`,
    `thread-writer-locks/${id}.lock`,
  ],
  claude: (id) => [
    `projects/${claudeSessionName(id, '/w')}`,
    `projects/-w/${id}/subagents/agent-1.jsonl`,
    `session-env/${id}/x.sh`,
    `file-history/${id}/a@v1`,
    `todos/${id}-agent-${id}.json`,
    `tasks/${id}/1.json`,
    `debug/${id}.txt`,
  ],
};

test.for(programs)('a session of %s that is removed takes nothing with it of another', async (program) => {
  await using it = await temp();
  const home = it.at('home');
  const files = (id: string) => keptBy[program](id).map((path) => join(home, path));
  const write = (paths: readonly string[]) => {
    for (const path of paths) {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, 'x');
    }
  };
  write(files(ids[program]));
  write(files(other));
  await removeSession(program, home, ids[program]);
  expect(files(ids[program]).filter((path) => existsSync(path))).toEqual([]);
  expect(files(other).filter((path) => !existsSync(path))).toEqual([]);
  mkdirSync(join(home, 'projects/-w/memory'), { recursive: true });
  await removeSession(program, home, other);
  const left = (readdirSync(home, { recursive: true }) as string[]).filter((path) => path.includes('/'));
  expect(left).toEqual(program === 'codex' ? ['projects/-w', 'projects/-w/memory'] : []);
});

test('a session that a killed engine noted is removed later, and a note that is none removes nothing', async () => {
  await using it = await temp();
  const home = it.at('home');
  const path = join(home, 'sessions', codexSessionName(other, new Date(0)));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, sessions.codex);
  await removeNotedSessions(it.at('scratch'));
  mkdirSync(it.at('scratch'));
  for (const note of ['{', JSON.stringify({ program: 'codex', home, ids: ['', 'jsonl'] })]) {
    writeFileSync(it.at('scratch/session.json'), note);
    await removeNotedSessions(it.at('scratch'));
    expect(existsSync(path)).toBe(true);
  }
  await noteSession(it.at('scratch'), { program: 'codex', home, ids: [ids.codex, other] });
  await removeNotedSessions(it.at('scratch'));
  expect(existsSync(path)).toBe(false);
  expect(readdirSync(it.at('scratch'))).toEqual([]);
});
