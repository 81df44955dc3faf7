/** Whole runs with the real agent programs, through the built command line, against model servers of ours
 *  (`npm run test:system`): in our sandbox and without it, paid for, cut, recorded and replayed. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { cli } from '../support/cli.ts';
import { type Name, realProgram, type Step, startDesk } from '../support/real-programs.ts';
import {
  detached,
  workPipeline as graph,
  makesTwice,
  type Rung,
  realRun,
  rungs,
  worksOnUsedHome,
} from '../support/real-run.ts';
import { onDisk } from '../support/temporary.ts';

onDisk();

/** Whom else runs are tried as: to anybody but root a sandbox, and another one in it, are made in another way. */
const nobody = 64999;
const mayBeNobody = (name: Name, sandbox: Rung): boolean => {
  if (process.getuid?.() !== 0) return false;
  // Codex has a separate folder in /tmp, whatever TMPDIR says; not every machine lets everybody write there.
  const tried = `const { accessSync } = require('node:fs');
    for (const file of process.argv.slice(1)) accessSync(file);
    ${name === 'codex' && sandbox === 'none' ? "accessSync('/tmp', 2);" : ''}`;
  const files = [cli, realProgram(name).path];
  const as = { uid: nobody, gid: nobody, cwd: '/' };
  return spawnSync(process.execPath, ['-e', tried, ...files], as).status === 0;
};

const rig = async (
  name: Name,
  sandbox: Rung,
  steps: readonly Step[],
  options?: Parameters<typeof realRun>[3],
) => realRun(await startDesk(name, steps), realProgram(name).path, sandbox, options);

/** A run with all that an agent does in it, and its replay once the program and the server are gone. */
async function works(name: Name, sandbox: Rung, uid?: number): Promise<void> {
  await using it = await rig(
    name,
    sandbox,
    [
      {
        run: 'cat README.md; cat scripts/scenarios/judge.sh; echo "home: $HOME"; cat "$HOME/outside.txt"',
        tokens: { input: 1201, output: 31 },
      },
      {
        run: `printf made > made.txt; echo stolen >> "$HOME/w/README.md"; echo x > "$HOME/x"`,
        tokens: { input: 1502, output: 47, cached: 1000 },
      },
      { write: { path: 'notes.md', text: 'a note' }, tokens: { input: 1603, output: 53 } },
      { answer: { notes: 'all is done' }, tokens: { input: 1704, output: 61, cached: 1500 } },
    ],
    { uid },
  );
  const ran = await it.run();
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
  expect(sent).not.toContain('the-judge');
  if (sandbox === 'bwrap') {
    expect(sent).toContain(`home: ${it.path}`);
    expect(sent).not.toContain('the-outside');
    expect(await it.read('w/README.md')).toBe('read me\n');
    expect(existsSync(join(it.path, 'x'))).toBe(false);
  }

  const { input, output, cached } = it.desk.counted();
  const usage = { input_tokens: input, output_tokens: output, cached_input_tokens: cached };
  expect(await it.json('.factory/runs/r1/a/usage.json')).toMatchObject(usage);
  const result = (await it.json('.factory/runs/r1/result.json')) as { readonly spent: object };
  expect(result.spent).toMatchObject({ calls: 1, unknown_cost: 0, ...usage, cost_usd: expect.any(Number) });
  const [call] = (await it.records('.factory/runs/r1/journal.jsonl')).filter(
    ({ type }) => type === 'Exchange',
  );
  expect(call).toMatchObject({ node: 'a', complete: true });
  expect(JSON.stringify(call)).toContain(`"input_tokens":${input}`);
  expect(it.left()).toEqual([]);

  await it.desk[Symbol.asyncDispose]();
  const replayed = await it.factory(['replay', 'r1', '--check', '--json', '--run-id', 'again', '-q'], {
    env: { FACTORY_SANDBOX: sandbox },
    ...(uid === undefined ? {} : { uid }),
  });
  expect(replayed.code, replayed.stderr + replayed.stdout).toBe(0);
  expect(JSON.parse(replayed.stdout)).toMatchObject({ equal: true });
  expect(await it.list('.factory/runs/again/workspace')).toEqual(await it.list('.factory/runs/r1/workspace'));
}

/** Where the programs, and what installs them, keep what was said in other sessions; `#` is replaced by what tells them apart. */
const otherSessions: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    [
      '.codex/sessions/2026/01/02/rollout-2026-01-02T00-00-00-6affb302-3e34-436f-b334-5ca7e9546ede.jsonl',
      '.codex/archived_sessions/rollout-2026-01-01T00-00-00-6affb302-3e34-436f-b334-5ca7e9546edf.jsonl',
      '.codex/history.jsonl',
      '.codex/session_index.jsonl',
      '.codex/log/codex-tui.log',
      '.codex/memories/raw_memories.md',
      '.codex/shell_snapshots/6affb302-3e34-436f-b334-5ca7e9546ede.sh',
      '.codex/state_9.sqlite',
      '.codex/tmp/said.txt',
      '.claude/projects/-w/713a28ae-2985-4d16-82e8-a4a9097f6e7d.jsonl',
      '.claude/projects/-w/memory/MEMORY.md',
      '.claude/todos/713a28ae-2985-4d16-82e8-a4a9097f6e7d-agent-1.json',
      '.claude/tasks/713a28ae-2985-4d16-82e8-a4a9097f6e7d/1.json',
      '.claude/plans/a-plan.md',
      '.claude/history.jsonl',
      '.claude/file-history/713a28ae-2985-4d16-82e8-a4a9097f6e7d/a@v1',
      '.claude/shell-snapshots/snapshot-bash-1.sh',
      '.claude/session-env/713a28ae-2985-4d16-82e8-a4a9097f6e7d/x.sh',
      '.claude/debug/713a28ae-2985-4d16-82e8-a4a9097f6e7d.txt',
      '.claude/paste-cache/1.txt',
      '.claude/backups/.claude.json.backup.1',
      '.claude.json.backup',
      '.cache/claude-cli-nodejs/-w/mcp-logs/1.txt',
      '.local/state/claude/said.txt',
      'tmp/claude-0/-w/713a28ae-2985-4d16-82e8-a4a9097f6e7d/tasks/1.output',
    ].map((path, n) => [path, `{"said":"what-was-said-${n}-elsewhere"}\n`]),
  ),
  '.claude.json': '{"projects":{"/w":{"history":["what-was-said-98-elsewhere"]}},"numStartups":3}\n',
};

async function readsNoOther(name: Name): Promise<void> {
  // The command must not find itself.
  const search =
    'grep -rhoas \'what-was-said-[0-9]*-elsewher[e]\' "$HOME" /tmp /var/tmp; ' +
    'echo "own: $(find ~/.codex/sessions ~/.claude/projects -name \'*.jsonl\' 2> /dev/null | wc -l)"';
  await using it = await rig(
    name,
    'bwrap',
    [{ run: 'echo what-was-said-99-elsewhere' }, { answer: {} }, { run: search }, { answer: {} }],
    { pipeline: twoNodes, files: otherSessions },
  );
  const ran = await it.run();
  expect(ran.code, ran.stderr).toBe(0);
  const [, , , seen = ''] = it.desk.bodies();
  // Codex begins its file late.
  expect(seen).toMatch(name === 'codex' ? /own: [01]\b/ : /own: 1\b/);
  expect(seen).not.toMatch(/what-was-said-\d+-elsewhere/);
  for (const [path, text] of Object.entries(otherSessions)) expect(await it.read(path)).toBe(text);
}

const twoNodes = (attributes: string) => `digraph g {
  start [shape=Mdiamond] exit [shape=Msquare]
  a [prompt="Do it", max_retries=0, ${attributes}]
  b [prompt="Do more", max_retries=0, ${attributes}]
  start -> a
  a -> b [condition="outcome=success"]
  b -> exit [condition="outcome=success"]
}`;

const inThread = (attributes: string): string =>
  twoNodes(`fidelity=full, thread_id=t, ${attributes}`).replace('Do more', 'Do the next thing');

const usersOwn: Readonly<Record<Name, string>> = {
  codex: '.codex/sessions/2026/01/02/rollout-2026-01-02T00-00-00-6affb302-3e34-436f-b334-5ca7e9546ede.jsonl',
  claude: '.claude/projects/-w/713a28ae-2985-4d16-82e8-a4a9097f6e7d.jsonl',
};

/** Two nodes share a conversation; the engine is killed in the turn of the second, and the run is resumed. */
async function continues(name: Name, sandbox: Rung): Promise<void> {
  const own = { [usersOwn[name]]: 'of the user\n' };
  await using it = await rig(
    name,
    sandbox,
    [
      { run: 'echo seen-at-first' },
      { answer: { notes: 'the first is done' } },
      { run: 'echo never-said' },
      { hang: true },
      { run: 'echo seen-at-last' },
      { answer: { notes: 'the second is done' } },
    ],
    { pipeline: inThread, files: { ...own, 't.txt': '' } },
  );
  const sessions = () =>
    (readdirSync(it.path, { recursive: true }) as string[])
      .filter((path) => path.endsWith('.jsonl') && /^\.(?:codex|claude)\/(?:sessions|projects)\//.test(path))
      .sort();
  const killed = await it.run({
    watch(line, engine) {
      if (!line.includes('node started node=b')) return;
      const look = setInterval(() => {
        if (it.desk.bodies().length < 4) return;
        clearInterval(look);
        engine.kill('SIGKILL');
      }, 20);
    },
  });
  expect(killed.signal).toBe('SIGKILL');
  expect(sessions().length).toBe(sandbox === 'bwrap' ? 1 : 2);
  const resumed = await it.factory(['resume', 'r1'], { env: it.env });
  expect(resumed.code, resumed.stderr).toBe(0);
  expect(resumed.stderr).not.toContain('cannot be continued');

  const [first = '', , second = '', , again = ''] = it.desk.bodies();
  expect(first).not.toContain('Do the next thing');
  for (const body of [second, again]) {
    expect(body).toContain('seen-at-first');
    expect(body).toContain('the first is done');
    expect(body.split('Do the next thing').length).toBe(2);
  }
  expect(again).not.toContain('never-said');
  expect(sessions()).toEqual([usersOwn[name]]);
  expect(await it.read(usersOwn[name])).toBe('of the user\n');
  const usage = await it.json('.factory/runs/r1/b/usage.json');
  expect(usage).toMatchObject({ input_tokens: 22, output_tokens: 14 });
  const verified = await it.factory(['verify', 'r1'], { env: it.env });
  expect(verified.code, verified.stdout + verified.stderr).toBe(0);

  // In another workspace, from where the first node left it.
  const forked = await it.factory(['fork', 'r1', '--at', 'a', '--run-id', 'f1'], { env: it.env });
  expect(forked.code, forked.stderr).toBe(0);
  expect(forked.stderr).not.toContain('cannot be continued');
  const [last = ''] = it.desk.bodies().slice(6);
  expect(last).toContain('the first is done');
  expect(last).not.toContain('the second is done');
  expect(sessions()).toEqual([usersOwn[name]]);
}

async function interrupted(name: 'codex' | 'claude', sandbox: Rung) {
  const begun: string[] = [];
  /** Acts once the model has been asked `asked` times: everything is started then. */
  const once = (it: Awaited<ReturnType<typeof rig>>, asked: number, act: () => void) => (line: string) => {
    if (!line.includes('node started node=a')) return;
    const look = setInterval(() => {
      if (it.desk.bodies().length < asked) return;
      clearInterval(look);
      begun.push(...it.left());
      act();
    }, 20);
  };

  await using it = await rig(name, sandbox, [
    detached,
    { hang: true },
    detached,
    { hang: true },
    detached,
    { answer: {} },
  ]);
  const interrupted = await it.run({
    watch: (line, engine) => once(it, 2, () => engine.kill('SIGINT'))(line),
  });
  expect(interrupted.code, interrupted.stderr).toBe(130);
  expect(it.left()).toEqual([]);
  const killed = await it.factory(['resume', 'r1'], {
    env: it.env,
    watch: (line, engine) => once(it, 4, () => engine.kill('SIGKILL'))(line),
  });
  expect(killed.signal).toBe('SIGKILL');
  const resumed = await it.factory(['resume', 'r1'], { env: it.env });
  expect(resumed.code, resumed.stderr).toBe(0);
  expect(it.left()).toEqual([]);
  // Codex ends by itself what a command leaves in its own sandbox.
  const own = name === 'codex' && sandbox === 'none';
  for (const words of [name, ...(own ? [] : ['sleep\0' + '3001'])])
    expect(begun.filter((line) => line.includes(words)).length, words).toBeGreaterThanOrEqual(2);
  expect(await it.read('.factory/runs/r1/workspace/made.txt')).toBe('made');
  const { spent } = (await it.json('.factory/runs/r1/result.json')) as { readonly spent: object };
  // An interrupted call has cost at least what was reported until then, and for codex, which reports nothing before
  // the end of a turn, its prompt (four characters to a token); the rest is unknown.
  const told = name === 'codex' ? { input: 2, output: 0 } : { input: 11, output: 1 };
  expect(spent).toMatchObject({
    calls: 3,
    unknown_cost: 2,
    input_tokens: 22 + 2 * told.input,
    output_tokens: 14 + 2 * told.output,
  });
}

const cases = (['codex', 'claude'] as const).flatMap((name) =>
  rungs.map((sandbox) => ({ name, sandbox, skipped: realProgram(name).skipped })),
);

for (const { name, sandbox, skipped } of cases) {
  describe.skipIf(skipped !== '')(
    `the real ${name} with sandbox=${sandbox}${skipped}`,
    { timeout: 120_000 },
    () => {
      test('reads, runs, writes and answers; what it used is what the server counted; it replays without it', () =>
        works(name, sandbox));

      test.runIf(skipped === '' && mayBeNobody(name, sandbox))(
        'and the same for a user who is not root',
        () => works(name, sandbox, nobody),
      );

      test.runIf(sandbox === 'bwrap')('works in a home that it has used without the sandbox', async () => {
        await using it = await rig(name, sandbox, makesTwice);
        await worksOnUsedHome(it);
      });

      test.runIf(sandbox === 'bwrap')(
        'reads in no session but its own, wherever others are kept, and leaves them as they are',
        () => readsNoOther(name),
      );

      test('continues the conversation of another node, without a turn that was killed', () =>
        continues(name, sandbox));

      // Without a sandbox the agents' own tests show the same.
      test.runIf(sandbox === rungs[0]).for<[string, Step, number, object]>([
        ['400', { status: 400 }, 1, { failure_class: 'agent' }],
        ['401', { status: 401 }, 75, { status: 'paused_auth' }],
        ['429', { status: 429 }, 75, { status: 'paused_quota' }],
        // Codex reports every server error as one of high demand.
        name === 'codex'
          ? ['500', { status: 500 }, 75, { status: 'paused_outage' }]
          : ['500', { status: 500 }, 3, { failure_class: 'infra' }],
        ['a cut stream', { cut: true }, 75, { status: 'paused_outage' }],
        ['prose in place of the answer', { prose: 'All done.' }, 1, { failure_class: 'agent' }],
      ])('%s ends the run by its class, and nothing is left', async ([, step, code, status]) => {
        await using it = await rig(name, sandbox, [step]);
        const ran = await it.run();
        expect(ran.code, ran.stderr).toBe(code);
        if (code === 75) expect(await it.json('.factory/runs/r1/checkpoint.json')).toMatchObject(status);
        else expect(await it.status()).toMatchObject({ outcome: 'fail', ...status });
        expect(it.left()).toEqual([]);
      });

      test('a model that hangs is a timeout; what a command detached is ended with it', async () => {
        await using it = await rig(name, sandbox, [detached, { hang: true }], {
          pipeline: (attributes) => graph(`${attributes}, timeout=6s`),
        });
        const ran = await it.run();
        expect(ran.code, ran.stderr).toBe(1);
        expect(await it.status()).toMatchObject({ failure_class: 'timeout' });
        expect(it.left()).toEqual([]);
      });

      test('interrupted, or killed and resumed, it leaves nothing, and what it cost is summed', () =>
        interrupted(name, sandbox));
    },
  );
}
