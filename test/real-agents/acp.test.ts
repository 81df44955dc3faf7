/** Whole runs with the real programs that speak the Agent Client Protocol, through the built command line, against model servers of
 *  ours (`npm run test:system`). */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startAcpDesk } from '../support/acp-programs.ts';
import { type AcpName, realProgram, type Step } from '../support/real-programs.ts';
import {
  detached,
  makesTwice,
  type Rung,
  realRun,
  rungs,
  workPipeline,
  worksOnUsedHome,
} from '../support/real-run.ts';
import { onDisk } from '../support/temporary.ts';

onDisk();

const rig = async (
  name: AcpName,
  sandbox: Rung,
  steps: readonly Step[],
  { more = '', ...options }: Parameters<typeof realRun>[3] & { readonly more?: string } = {},
) =>
  realRun(await startAcpDesk(name, steps), realProgram(name).path, sandbox, {
    pipeline: (attributes) => workPipeline(`${attributes}${more}`),
    ...options,
  });

/** What the program finds of its user's, and what of it no program may see. */
const logins: Readonly<Record<AcpName, string>> = {
  gemini: '.gemini/oauth_creds.json',
  opencode: '.local/share/opencode/auth.json',
  'codex-acp': '.codex/auth.json',
};
const said = [
  '.gemini/tmp/other/chats/session-1.jsonl',
  '.gemini/history/other/1.txt',
  '.local/share/opencode/storage/session/1.json',
  '.local/share/opencode/log/opencode.log',
  '.codex/sessions/2026/01/02/rollout-2026-01-02T00-00-00-6affb302-3e34-436f-b334-5ca7e9546ede.jsonl',
  '.codex/history.jsonl',
  '.claude/.credentials.json',
  '.ssh/id_ed25519',
];

/** Prints what it finds, and tries to write to what lies outside. The words are split: the command must not find itself. */
const look = `cat README.md scripts/scenarios/judge.sh; cat "$HOME/outside.txt" "$HOME/.factory/runs/r1/journal.jsonl"
grep -rhoas 'what-was-sai[d]-[0-9]*' "$HOME" /tmp /var/tmp; env | grep OTHER_API_KE[Y]
for login in ${Object.values(logins).join(' ')}; do test -r "$HOME/$login" && echo "login: $login"; done
for out in w/README.md .ssh/id_ed25519 .factory/runs/r1/x; do echo stolen >> "$HOME/$out"; done; true`;

async function works(name: AcpName, sandbox: Rung): Promise<void> {
  const files = Object.fromEntries([
    ...said.map((path, n) => [path, `what-was-said-${n}\n`]),
    ...Object.values(logins).map((path) => [path, '{}']),
  ]);
  await using it = await rig(
    name,
    sandbox,
    [
      { run: sandbox === 'bwrap' ? look : 'cat README.md; ls scripts/scenarios; true' },
      { run: 'printf made > made.txt' },
      { write: { path: 'notes.md', text: 'a note' } },
      { answer: { notes: 'all is done' } },
    ],
    { files, more: ', acp.permissions=allow' },
  );
  const ran = await it.run({ env: { OTHER_API_KEY: 'sk-other-1234567890' } });
  expect(ran.code, ran.stderr).toBe(0);
  expect(await it.status()).toMatchObject({ outcome: 'success', notes: 'all is done' });
  expect(await it.json('.factory/runs/r1/a/workspace.diff.json')).toEqual({
    created: ['made.txt', 'notes.md'],
    modified: [],
    deleted: [],
  });
  expect((await it.read('.factory/runs/r1/workspace/notes.md')).trim()).toBe('a note');
  const sent = it.desk.bodies().join('\n');
  expect(sent).toContain('read me');
  expect(sent).not.toMatch(/the-judge|judge\.sh\\n/);
  if (sandbox === 'bwrap') {
    expect(sent.match(/login: \.[^\s"\\]*/g)?.[0]).toBe(`login: ${logins[name]}`);
    for (const other of Object.values(logins).filter((path) => path !== logins[name]))
      expect(sent).not.toContain(`login: ${other}`);
    expect(sent).not.toMatch(/the-outside|what-was-said-\d|"RunStarted"|OTHER_API_KEY/);
    expect(await it.read('w/README.md')).toBe('read me\n');
    expect(existsSync(join(it.path, '.factory/runs/r1/x'))).toBe(false);
    for (const [path, text] of Object.entries(files)) expect(await it.read(path)).toBe(text);
  }
  const acted = (await it.records('.factory/runs/r1/events.jsonl')).filter(
    ({ type }) => type === 'AgentActed',
  );
  expect(acted.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed']);
  const usage = await it.json('.factory/runs/r1/a/usage.json');
  // Opencode reports its last call only.
  const calls = name === 'opencode' ? 1 : 4;
  expect(usage).toMatchObject({ input_tokens: 11 * calls, output_tokens: 7 * calls });
  expect(it.left()).toEqual([]);
  await it.desk[Symbol.asyncDispose]();
  const replayed = await it.factory(['replay', 'r1', '--check', '--json', '--run-id', 'again', '-q'], {
    env: { FACTORY_SANDBOX: sandbox },
  });
  expect(replayed.code, replayed.stderr + replayed.stdout).toBe(0);
}

type Ending = { readonly code: number; readonly status?: string; readonly failure_class?: string };
const suspended = (status: string): Ending => ({ code: 75, status });
/** How the run ends, by what the model's server does. */
const endings: Readonly<Record<AcpName, readonly (readonly [string, Step, Ending, string?])[]>> = {
  gemini: [
    ['a refused key', { status: 401 }, suspended('paused_auth')],
    ['a bad request', { status: 400 }, { code: 1, failure_class: 'agent' }],
  ],
  opencode: [['a bad request', { status: 400 }, { code: 1, failure_class: 'agent' }]],
  'codex-acp': [
    ['a refused key', { status: 401 }, suspended('paused_auth')],
    ['a limit', { status: 429 }, suspended('paused_quota'), ', response_format=text'],
    ['an outage', { status: 503 }, suspended('paused_outage'), ', response_format=text'],
    ['a bad request', { status: 400 }, { code: 1, failure_class: 'agent' }, ', response_format=text'],
  ],
};

for (const name of ['gemini', 'opencode', 'codex-acp'] as const) {
  const { skipped } = realProgram(name);
  describe.skipIf(skipped !== '')(`the real ${name}${skipped}`, { timeout: 120_000 }, () => {
    test.for(rungs)('with sandbox=%s reads, runs, writes and answers, and sees nothing else', (sandbox) =>
      works(name, sandbox),
    );

    test.runIf(rungs[0] === 'bwrap')('works in the sandbox in a home that it has used', async () => {
      await using it = await rig(name, 'none', makesTwice, { more: ', acp.permissions=allow' });
      await worksOnUsedHome(it);
    });

    test.for(endings[name])('%s ends the run by its class', async ([, step, { code, ...status }, more]) => {
      await using it = await rig(name, rungs[0], [step], more === undefined ? {} : { more });
      const ran = await it.run();
      expect(ran.code, ran.stderr).toBe(code);
      if (code === 75) expect(await it.json('.factory/runs/r1/checkpoint.json')).toMatchObject(status);
      else expect(await it.status()).toMatchObject({ outcome: 'fail', ...status });
      expect(it.left()).toEqual([]);
    });

    // Codex has its own sandbox, and asks for nothing within it.
    test.skipIf(name === 'codex-acp')('without a sandbox is refused what it asks for', async () => {
      await using it = await rig(name, 'none', [
        // Opencode asks only for what it takes for a path outside.
        { run: 'touch /nowhere/made.txt' },
        { write: { path: 'notes.md', text: 'a note' } },
        { answer: { outcome: 'fail', failure_reason: 'may do nothing' } },
      ]);
      expect((await it.run()).code).toBe(1);
      expect(await it.list('.factory/runs/r1/workspace')).not.toContain('notes.md');
      const result = (await it.json('.factory/runs/r1/result.json')) as { readonly denied: object };
      expect(JSON.stringify(result.denied)).toContain('touch /nowhere/made.txt');
      expect(it.left()).toEqual([]);
    });

    test.skipIf(name === 'opencode')('without a login suspends the run', async () => {
      await using it = await rig(name, rungs[0], [{ answer: {} }], {
        files: { '.codex/config.toml': 'model = "gpt-5.2"\n' },
      });
      const ran = await it.run({ env: { GOOGLE_GEMINI_BASE_URL: '', GEMINI_API_KEY: '' } });
      expect(ran.code, ran.stderr).toBe(75);
      expect(await it.json('.factory/runs/r1/checkpoint.json')).toMatchObject({ status: 'paused_auth' });
      expect(it.desk.bodies()).toEqual([]);
    });

    test('a model that hangs is a timeout, and nothing is left', async () => {
      await using it = await rig(name, rungs[0], [detached, { hang: true }], { more: ', timeout=10s' });
      const ran = await it.run();
      expect(ran.code, ran.stderr).toBe(1);
      expect(await it.status()).toMatchObject({ failure_class: 'timeout' });
      expect(it.left()).toEqual([]);
    });

    test('interrupted it leaves nothing', async () => {
      await using it = await rig(name, 'none', [detached, { hang: true }], {
        more: ', acp.permissions=allow',
      });
      let begun: readonly string[] = [];
      const ran = await it.run({
        watch(line, engine) {
          if (!line.includes('node started node=a')) return;
          const look = setInterval(() => {
            if (it.desk.bodies().length < 2) return;
            clearInterval(look);
            begun = it.left();
            engine.kill('SIGINT');
          }, 20);
        },
      });
      expect(ran.code, ran.stderr).toBe(130);
      expect(begun.length).toBeGreaterThan(0);
      expect(it.left()).toEqual([]);
    });
  });
}
