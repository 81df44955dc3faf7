/** The sandbox in whole runs, with the built command line. */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { noBwrap } from '../platform/sandbox/machine.ts';
import { type Home, home, root } from '../support/in-process.ts';
import { onDisk } from '../support/temporary.ts';

onDisk();

const pipeline = (stages: string, edges: string, graph = '') => `digraph g {
  ${graph}
  start [shape=Mdiamond] exit [shape=Msquare] bad [shape=Msquare, outcome=fail]
  ${stages}
  start -> ${edges}
}`;
const tool = (attributes: string, graph = '') =>
  pipeline(
    `t [shape=parallelogram, ${attributes}]`,
    't; t -> exit [condition="outcome=success"]; t -> bad [condition="outcome=fail"]',
    graph,
  );
/** As for a user who sets nothing. */
const whateverWorks = { FACTORY_SANDBOX: '' };

const run = (it: Home, env: Readonly<Record<string, string>> = {}, more: readonly string[] = []) =>
  it.factory(['run', 'p.dot', '--run-id', 'r1', '--workdir', 'w', ...more], {
    env: { ...whateverWorks, ...env },
  });
const at = '.factory/runs/r1';
const reasonOf = async (it: Home) =>
  (await it.json(`${at}/t/status.json`)) as { failure_reason: string; failure_class: string };

/** A PATH with a shell and without a sandbox program. */
async function bare(it: Home): Promise<Record<string, string>> {
  await mkdir(join(it.path, 'bin'));
  for (const name of ['sh', 'cat']) {
    const found = ['/bin', '/usr/bin'].map((folder) => join(folder, name)).find(existsSync);
    if (found !== undefined) await symlink(found, join(it.path, 'bin', name));
  }
  return { PATH: join(it.path, 'bin') };
}

test.skipIf(noBwrap !== undefined)(
  'with bubblewrap: a run is confined, and manifest, trace and `factory show` name the sandbox',
  async () => {
    await using it = await home({
      'p.dot': tool('tool_command="sh look.sh"'),
      'secret.txt': 'secret of the home',
      'w/look.sh': `cat "$HOME/secret.txt" "$HOME/w/look.sh" ../checkpoint.json 2>/dev/null && exit 1
echo kept > kept.txt; echo '{"notes":"told"}' > "$FACTORY_OUTPUT"; test -z "$FACTORY_RUN_DIR"`,
    });
    const ran = await run(it);
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.stderr).not.toContain('not confined');
    expect(await it.read(`${at}/workspace/kept.txt`)).toBe('kept\n');
    expect(await it.json(`${at}/t/status.json`)).toMatchObject({ notes: 'told' });
    // Files that the sandbox needed are removed, as after a resume.
    for (const name of ['.hidden', '.scratch']) expect(await it.list(at)).not.toContain(name);
    expect(await it.json(`${at}/manifest.json`)).toMatchObject({ sandbox: { asked: 'auto', used: 'bwrap' } });
    const trace = await it.records(`${at}/trace.jsonl`);
    expect(trace.find((r) => r['type'] === 'SessionInitialized')).toMatchObject({
      sandbox: { used: 'bwrap' },
    });
    expect(trace.find((r) => r['node_id'] === 't')).toMatchObject({ sandbox: 'bwrap' });
    const shown = await it.factory(['show', 'r1', '--json']);
    expect(JSON.parse(shown.stdout)).toMatchObject({
      run_id: 'r1',
      status: 'completed',
      agent: 'none',
      sandbox: { used: 'bwrap', enforces: expect.arrayContaining([expect.stringContaining('read-only')]) },
      nodes: [
        { node: 'start', sandbox: null },
        { node: 't', type: 'tool', visits: 1, outcome: 'success', sandbox: 'bwrap' },
        { node: 'exit' },
      ],
    });
    const read = await it.factory(['show', 'r1']);
    expect(read.stdout).toMatch(/sandbox +bwrap \(sandbox=auto/);
    expect(read.stdout).toMatch(/t +tool +1 +\S+ +✓ success/);
  },
);

test.skipIf(noBwrap !== undefined).for([
  ['writes to the system', 'echo x > /etc/x', 'sandbox_bind="PATH:rw" on node "t"'],
  [
    'uses the network',
    'node -e "fetch(\'http://192.0.2.1\').catch((e) => { console.error(e.cause.code); process.exit(1) })"',
    'network=on on node "t"',
    'network=off',
  ],
  ['reads a file of the home directory', 'cat ~/login.txt', 'sandbox_bind="HOME/login.txt" on node "t"'],
  ['reads the workdir', 'cat ~/w/do.sh', 'the copy of it is'],
  [
    'reads the run directory',
    'cat ../checkpoint.json',
    'access="run"',
    '',
    'cat "$FACTORY_WORKSPACE/../checkpoint.json" || cat "${FACTORY_WORKSPACE%/workspace}/checkpoint.json"',
  ],
  ['writes too much', 'truncate -s 2M big', 'max_file_size on node "t"', 'max_file_size=1M'],
])(
  'with bubblewrap: a node that %s fails with the setting that permits it',
  async ([, text = '', setting = '', attribute = '', other = '']) => {
    await using it = await home({
      'p.dot': tool(`tool_command="sh do.sh"${attribute === '' ? '' : `, ${attribute}`}`),
      'login.txt': 'x',
      'w/do.sh': `${other || text}\n`,
    });
    const ran = await run(it);
    expect(ran.code, ran.stderr).toBe(1);
    expect((await reasonOf(it)).failure_reason).toContain(setting.replace('HOME', it.path));
  },
);

test.skipIf(noBwrap !== undefined)(
  'with bubblewrap: settings give access to what they name, and no more',
  async () => {
    await using it = await home({
      'p.dot': pipeline(
        `t [shape=parallelogram, access="run", sandbox_bind="~/data:rw,~/login.txt", tool_command="sh do.sh"]
         u [shape=parallelogram, sandbox=none, tool_command="sh none.sh"]`,
        't; t -> u [condition="outcome=success"]; t -> bad [condition="outcome=fail"]; u -> exit [condition="outcome=success"]; u -> bad [condition="outcome=fail"]',
      ),
      'login.txt': 'in',
      'data/x': '',
      'w/do.sh':
        'test -s "$FACTORY_RUN_DIR/checkpoint.json" && cat ~/login.txt > ~/data/copy && ! echo out > ~/login.txt',
      'w/none.sh': 'cat ~/w/none.sh > ~/data/none',
    });
    const ran = await run(it);
    expect(ran.code, ran.stderr).toBe(0);
    expect(await it.read('data/copy')).toBe('in');
    expect(await it.read('login.txt')).toBe('in');
    expect(existsSync(join(it.path, 'data/none'))).toBe(true);
  },
);

test.skipIf(noBwrap !== undefined)(
  'with bubblewrap: an agent sees only its read scope, and its writes at hidden paths are undone',
  async () => {
    await using it = await home({
      'p.dot': pipeline(
        'a [prompt="Do it", agent.backend=codex, read_scope="src/", codex.block_read_paths="src/judge/"]',
        'a; a -> exit [condition="outcome=success"]; a -> bad [condition="outcome=fail"]',
      ),
      'w/src/main.txt': 'main',
      'w/src/judge/rule.txt': 'the rule',
      'w/other/plan.txt': 'the plan',
      'w/top.txt': 'top',
    });
    const ran = await run(it, {
      STAND_IN:
        'cat src/main.txt src/judge/* other/* top.txt > all.txt 2>/dev/null; mv src gone; echo forged > src/judge/rule.txt; ok',
      ATTRACTOR_CODEX_PATH: join(root, 'test/support/codex-stand-in.sh'),
    });
    expect(ran.code).toBe(1);
    expect(await it.json(`${at}/a/status.json`)).toMatchObject({
      failure_class: 'guardrail',
      failure_reason: expect.stringContaining('src/judge/rule.txt'),
    });
    expect(await it.read(`${at}/workspace/all.txt`)).toBe('main');
    expect(await it.read(`${at}/workspace/src/judge/rule.txt`)).toBe('the rule');
    expect(existsSync(join(it.path, at, 'workspace/gone'))).toBe(false);
    expect(await it.json(`${at}/a/agent.program.json`)).toMatchObject({ sandbox: 'bwrap', network: true });
  },
);

test.skipIf(noBwrap !== undefined).for([
  // Its shims start the program of the version next to them.
  ['pyenv outside the home', 'pyenv/shims', 'exec "$(dirname "$0")/../versions/3/bin/python3" "$@"'],
  ['a link to another place', 'links', ''],
  ['a virtual environment', 'venv/bin', ''],
] as const)('with bubblewrap: a node finds the same python3 as outside (%s)', async ([, folder, shim]) => {
  const program = '#!/bin/sh\necho "mine of $0"; cat "$(dirname "$0")/../pyvenv.cfg" 2> /dev/null; true\n';
  await using it = await home({
    'h/.keep': '',
    'p.dot': tool('tool_command="python3 > out.txt"'),
    [`${folder}/.keep`]: '',
    'pyenv/versions/3/bin/python3': program,
    'venv/pyvenv.cfg': 'home\n',
    'w/file.txt': '',
  });
  const path = join(it.path, folder, 'python3');
  chmodSync(join(it.path, 'pyenv/versions/3/bin/python3'), 0o755);
  if (shim === '') symlinkSync(`${'../'.repeat(folder.split('/').length)}pyenv/versions/3/bin/python3`, path);
  else writeFileSync(path, `#!/bin/sh\n${shim}\n`, { mode: 0o755 });
  const PATH = `${join(it.path, folder)}:${process.env['PATH']}`;
  const outside = spawnSync('python3', { env: { PATH }, encoding: 'utf8' }).stdout;
  const ran = await run(it, { PATH, HOME: join(it.path, 'h') });
  expect(ran.code, ran.stderr).toBe(0);
  expect(outside).toContain('mine of');
  expect(await it.read(`${at}/workspace/out.txt`)).toBe(outside);
});

test.skipIf(noBwrap !== undefined)(
  'with bubblewrap: an agent program sees its login and settings, which it cannot change, and no session of the user or of another node',
  async () => {
    await using it = await home({
      'p.dot': pipeline(
        'a [prompt="Do it", agent.backend=codex]; b [prompt="And that", agent.backend=codex]',
        'a; a -> b [condition="outcome=success"]; b -> exit [condition="outcome=success"]; a -> bad; b -> bad',
      ),
      '.codex/auth.json': 'token 1\n',
      '.codex/config.toml': 'model = "m"\n',
      '.codex/prompts/mine.md': 'mine',
      '.codex/skills/mine/SKILL.md': 'mine',
      '.codex/sessions/2026/old.jsonl': 'a scenario',
      '.codex/history.jsonl': 'a scenario',
      '.codex/state_5.sqlite': 'a scenario',
      'w/file.txt': '',
    });
    const ran = await run(it, {
      STAND_IN: [
        'cd ~/.codex; find . -type f | sort >> $FACTORY_NODE_DIR/../workspace/seen.txt',
        'cat auth.json >> $FACTORY_NODE_DIR/../workspace/seen.txt',
        'mkdir -p sessions/2026; echo secret > sessions/2026/new.jsonl; echo secret >> history.jsonl; echo token 2 > auth.json',
        'echo \'notify = ["sh", "-c", "id"]\' >> config.toml; mv config.toml old.toml; rm -f config.toml',
        'mkdir -p skills/.system; echo now do this > skills/mine/SKILL.md',
        'echo now do this > prompts/mine.md; echo and this > prompts/new.md; cat sessions/2026/new.jsonl; ok',
      ].join('; '),
      ATTRACTOR_CODEX_PATH: join(root, 'test/support/codex-stand-in.sh'),
    });
    expect(ran.code, ran.stderr).toBe(0);
    const seen = ['auth.json', 'config.toml', 'prompts/mine.md', 'skills/mine/SKILL.md'].map(
      (name) => `./${name}`,
    );
    expect(await it.read(`${at}/workspace/seen.txt`)).toBe(
      [...seen, 'token 1', ...seen, 'token 2', ''].join('\n'),
    );
    expect(await it.read('.codex/auth.json')).toBe('token 2\n');
    expect(await it.read('.codex/config.toml')).toBe('model = "m"\n');
    expect(await it.read('.codex/prompts/mine.md')).toBe('mine');
    expect(await it.read('.codex/skills/mine/SKILL.md')).toBe('mine');
    expect(await it.read('.codex/history.jsonl')).toBe('a scenario');
    expect(await it.list('.codex/sessions/2026')).toEqual(['old.jsonl']);
    expect(await it.list('.codex/prompts')).toEqual(['mine.md']);
  },
);

test.skipIf(noBwrap !== undefined)(
  'with bubblewrap: a killed factory process leaves no process of a confined node',
  async () => {
    const mark = `7${process.pid}`;
    await using it = await home({
      'p.dot': tool(`tool_command="echo at work; setsid sleep ${mark} & sleep ${mark}"`),
      'w/x': '',
    });
    const { readdirSync, readFileSync } = await import('node:fs');
    const sleeping = () =>
      readdirSync('/proc').filter((pid) => {
        try {
          return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8') === `sleep\0${mark}\0`;
        } catch {
          return false;
        }
      });
    const cut = await it.program(['run', 'p.dot', '--run-id', 'r1', '--workdir', 'w'], {
      env: whateverWorks,
      watch: (line, engine) => {
        if (!line.includes('node=t')) return;
        const look = setInterval(() => {
          if (sleeping().length < 2) return;
          clearInterval(look);
          engine.kill('SIGKILL');
        }, 10);
      },
    });
    expect(cut.signal).toBe('SIGKILL');
    await expect.poll(sleeping, { timeout: 20_000 }).toEqual([]);
  },
);

describe('without bubblewrap', () => {
  test('sandbox=bwrap is refused before anything is created; auto warns once about what is not enforced', async () => {
    await using it = await home({ 'p.dot': tool('tool_command="echo x > made.txt"'), 'w/x': '' });
    const env = await bare(it);
    const refused = await run(it, env, ['--sandbox', 'bwrap']);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('sandbox=bwrap (set by --sandbox), but bwrap is not installed');
    expect(existsSync(join(it.path, '.factory'))).toBe(false);
    const ran = await run(it, env);
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.stderr.split('nodes run without a sandbox').length).toBe(2);
    expect(await it.json(`${at}/manifest.json`)).toMatchObject({
      sandbox: {
        asked: 'auto',
        used: 'group',
        missing: expect.arrayContaining([expect.stringContaining('network')]),
      },
    });
    expect((await it.factory(['show', 'r1'])).stdout).toContain('not enforced: files');
  });
});

test('invalid values and binds are refused with their place, and nothing is created', async () => {
  const graph = 'sandbox_bind="data"; max_memory=lots; max_processes=0; max_file_size="1 X"';
  await using it = await home({
    'p.dot': tool('tool_command="true", network=maybe, max_memory=1k', graph),
    'q.dot': tool('tool_command="true", sandbox_bind="~/w/sub"'),
    'w/sub/x': '',
  });
  const ran = await run(it);
  expect(ran.code).toBe(2);
  for (const word of [
    'begins with neither',
    'max_memory "lots" is not a size',
    'max_processes "0"',
    'max_file_size "1 X"',
    'network "maybe"',
    'max_memory "1k" is less',
  ])
    expect(ran.stderr).toContain(word);
  const bind = await it.factory(['run', 'q.dot', '--workdir', 'w'], { env: whateverWorks });
  expect(bind.code).toBe(2);
  expect(bind.stderr).toMatch(/error\[sandbox-bind\]: sandbox_bind: ".*\/w\/sub" would show the workdir/);
  expect(bind.stderr).toMatch(/--> .*q\.dot:\d+:\d+/);
  const word = await it.factory(['run', 'q.dot', '--sandbox', 'jail']);
  expect([word.code, word.stderr]).toEqual([
    2,
    expect.stringContaining('--sandbox jail is none of auto, bwrap, none'),
  ]);
  const variable = await it.factory(['run', 'q.dot', '--workdir', 'w'], { env: { FACTORY_SANDBOX: 'jail' } });
  expect([variable.code, variable.stderr]).toEqual([2, expect.stringContaining('FACTORY_SANDBOX is "jail"')]);
  expect(existsSync(join(it.path, '.factory'))).toBe(false);
});
