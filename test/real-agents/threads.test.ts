/** Conversations of the real agent programs, without a sandbox, in a home with a session of its user (`npm run test:system`). */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import { claudeAgent } from '../../src/agents/claude.ts';
import { codexAgent } from '../../src/agents/codex.ts';
import type { AgentReport } from '../../src/core/contracts/agent.ts';
import { realClock } from '../../src/platform/clock.ts';
import { programTask } from '../agents/program-task.ts';
import { type Name, realProgram, type Step, startDesk } from '../support/real-programs.ts';
import { onDisk } from '../support/temporary.ts';

onDisk();

const usersOwn: Readonly<Record<Name, string>> = {
  codex: '.codex/sessions/2026/01/02/rollout-2026-01-02T00-00-00-6affb302-3e34-436f-b334-5ca7e9546ede.jsonl',
  claude: '.claude/projects/-w/713a28ae-2985-4d16-82e8-a4a9097f6e7d.jsonl',
};

async function rig(name: Name, steps: readonly Step[]) {
  const desk = await startDesk(name, steps);
  const it = await programTask({}, desk.env);
  // Another execution at the same time, for the same user.
  const other = await programTask({}, { ...desk.env, HOME: it.at('home') });
  const files = { ...desk.files, [usersOwn[name]]: '{"what":"the user said"}\n' };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(it.at(`home/${path}`)), { recursive: true });
    writeFileSync(it.at(`home/${path}`), text);
  }
  const agent = { codex: codexAgent, claude: claudeAgent }[name]({ env: it.env, clock: realClock });
  const attributes = {
    [`${name}.path`]: realProgram(name).path,
    ...(name === 'codex' ? { 'codex.env_keys': 'MOCK_KEY', 'codex.sandbox': 'danger-full-access' } : {}),
  };
  return {
    ...it,
    ...{ desk, other },
    /** One turn; `kept` is what the thread has of it. */
    async turn(
      prompt: string,
      before: string | undefined,
      { signal = new AbortController().signal, at = it } = {},
    ): Promise<{ readonly report: AgentReport; readonly kept: string | undefined }> {
      let kept: string | undefined;
      const keep = (session: string) => {
        kept = session;
      };
      const sandbox = async () => ({ rung: 'group', nests: true, scratch: at.at('scratch') }) as const;
      const task = at.task({ attributes, prompt, thread: { key: 'k', before, keep }, sandbox }, signal);
      return { report: await agent.work(task, signal), kept };
    },
    /** Files of the home's sessions, and of whatever is named after one. */
    sessions: () =>
      (readdirSync(it.at('home'), { recursive: true }) as string[])
        .filter((path) => statSync(it.at(`home/${path}`)).isFile())
        .filter((path) => /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|sqlite/.test(path)),
    async [Symbol.asyncDispose]() {
      await desk[Symbol.asyncDispose]();
      await other[Symbol.asyncDispose]();
      await it[Symbol.asyncDispose]();
    },
  };
}

const finished = { kind: 'finished', outcome: 'success' };
const tokens = { input_tokens: 22, output_tokens: 14 };

for (const name of ['codex', 'claude'] as const) {
  const { path, skipped } = realProgram(name);
  describe.skipIf(path === '')(`the real ${name}${skipped}`, { timeout: 120_000 }, () => {
    test('continues a conversation, at its own cost only, and leaves the sessions of its user as they are', async () => {
      await using it = await rig(name, [
        { run: 'echo seen' },
        { answer: { notes: 'the first is done' } },
        { run: 'echo seen-again' },
        { answer: { notes: 'the second is done' } },
      ]);
      const first = await it.turn('do the first', undefined);
      expect(first.report).toMatchObject({ ...finished, usage: tokens });
      expect(first.kept).toContain('do the first');
      expect(it.sessions()).toEqual([usersOwn[name]]);
      const second = await it.turn('do the second', first.kept);
      expect(second.report).toMatchObject({ ...finished, usage: tokens });
      expect(second.kept).toContain('the second is done');
      const [, , asked = ''] = it.desk.bodies();
      for (const said of ['do the first', 'the first is done', 'do the second'])
        expect(asked).toContain(said);
      expect(it.sessions()).toEqual([usersOwn[name]]);
      expect(readFileSync(it.at(`home/${usersOwn[name]}`), 'utf8')).toBe('{"what":"the user said"}\n');
      expect(readdirSync(it.at('scratch'))).toEqual([]);
    });

    test('two continue one conversation at once, and neither knows of the other', async () => {
      await using it = await rig(name, [{ answer: {} }]);
      const { kept } = await it.turn('do the first', undefined);
      const [one, two] = await Promise.all([
        it.turn('say one', kept),
        it.turn('say two', kept, { at: it.other }),
      ]);
      for (const { report } of [one, two]) expect(report).toMatchObject(finished);
      expect(one.kept).toMatch(/do the first[\s\S]*say one/);
      expect(one.kept).not.toContain('say two');
      expect(two.kept).toMatch(/do the first[\s\S]*say two/);
      expect(two.kept).not.toContain('say one');
    });

    test('a turn that is stopped is not in the conversation', async () => {
      await using it = await rig(name, [{ answer: {} }, { run: 'touch begun' }, { hang: true }]);
      const { kept } = await it.turn('do the first', undefined);
      const stop = new AbortController();
      const look = setInterval(() => it.desk.bodies().length > 2 && stop.abort(), 20);
      const second = await it.turn('never ends', kept, { signal: stop.signal });
      clearInterval(look);
      expect(second).toMatchObject({ report: { kind: 'cancelled' }, kept: undefined });
      expect(it.sessions()).toEqual([usersOwn[name]]);
    });

    test('does not take what is no session, and asks no model', async () => {
      await using it = await rig(name, [{ answer: {} }]);
      const { kept = '' } = await it.turn('do the first', undefined);
      const broken = kept
        .split('\n')
        .map((line) => line.replaceAll('"type"', '"kind"'))
        .join('\n');
      for (const before of ['no session', broken]) {
        const { report } = await it.turn('do the second', before);
        expect(report).toMatchObject({ kind: 'failed', threadLost: true, unbilled: true });
      }
      expect(it.desk.bodies().length).toBe(1);
      expect(it.sessions()).toEqual([usersOwn[name]]);
    });
  });
}
