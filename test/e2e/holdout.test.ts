/** Holdout scenarios are out of the builder's reach: whole runs with the built command line. */
import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { noBwrap } from '../platform/sandbox/machine.ts';
import { cleanEnv, type Home, home, root } from '../support/in-process.ts';
import { holdersOf, textsOfStore } from '../support/run-texts.ts';
import { onDisk } from '../support/temporary.ts';
import { picture } from '../workspace/folders.ts';

onDisk();

const needle = 'SEALED-7319 the answer must be forty-two';
const judge = `#!/bin/sh\n# ${needle}\ngrep -q forty-two answer.txt\n`;
const files = {
  'w/scripts/scenarios/judge.sh': judge,
  'w/scripts/scenarios/data/in.txt': 'in',
  'w/a.txt': 'a',
};
const at = '.factory/runs/r1';
const ws = `${at}/workspace`;

const graph = (stages: string, edges: string, attributes = '') => `digraph g {
  ${attributes}
  start [shape=Mdiamond] exit [shape=Msquare] bad [shape=Msquare, outcome=fail]
  ${stages}
  ${edges}
}`;
/** Nodes in sequence, however each ends. */
const row = (stages: Readonly<Record<string, string>>, attributes = '') => {
  const names = Object.keys(stages);
  return graph(
    names.map((name) => `${name} [${stages[name]}]`).join('\n  '),
    `start -> ${names[0]}\n  ${names
      .map((name, n) => {
        const next = names[n + 1] ?? 'exit';
        return `${name} -> ${next} [condition="outcome=success"]\n  ${name} -> ${next === 'exit' ? 'bad' : next} [condition="outcome=fail"]`;
      })
      .join('\n  ')}`,
    attributes,
  );
};
const agent = (script: string) =>
  `agent.backend=command, command.run="sh ${script}", prompt="work", response_format=text, max_retries=0`;
const tool = (command: string, more = '') =>
  `shape=parallelogram, sets_plan=true, tool_command="${command}"${more}`;
const verify = (command: string) =>
  `type=verification, verification.allowed_commands="sh", verification.plan_context_key="plan"${command}`;
const plan = `printf '{\\"context_updates\\":{\\"plan\\":{\\"files\\":[\\"scripts/scenarios/judge.sh\\"],\\"commands\\":[\\"sh scripts/scenarios/judge.sh\\"]}}}' > $FACTORY_OUTPUT`;

const run = (it: Home, more: readonly string[] = [], env: Readonly<Record<string, string>> = {}) =>
  it.factory(['run', 'p.dot', '--run-id', 'r1', '--workdir', 'w', ...more], { env });
const statusOf = async (it: Home, node: string) =>
  (await it.json(`${at}/${node}/status.json`)) as {
    outcome: string;
    failure_reason: string;
    failure_class: string;
  };
/** Files below a folder that contain a text. */
function holding(folder: string, text: string, but: (path: string) => boolean = () => false): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => !but(name) && lstatSync(join(folder, name)).isFile())
    .filter((name) => readFileSync(join(folder, name)).includes(text));
}
const scenes = ['none', ...(noBwrap === undefined ? ['bwrap'] : [])];

test.for(scenes)(
  'with sandbox=%s sealed files exist for tools and verification only, and are restored unchanged at the end',
  async (sandbox) => {
    const env = { FACTORY_SANDBOX: sandbox };
    await using it = await home({
      ...files,
      'w/agent.sh': `echo forty-two > answer.txt
find . -name 'judge*' -o -name scenarios > found.txt; grep -rl SEALED-7319 . >> found.txt; env >> found.txt; test ! -s .git && echo done`,
      'p.dot': row({
        sees: tool(`test -x scripts/scenarios/judge.sh && ${plan}`),
        a: agent('agent.sh'),
        blind: tool('test ! -e scripts/scenarios', ', sees_holdout=false'),
        ours: tool('test ! -e scripts/scenarios', ', access=\\"run\\"').replaceAll('\\"run\\"', '"run"'),
        v: verify(''),
      }),
    });
    await chmod(join(it.path, 'w/scripts/scenarios/judge.sh'), 0o751);
    await symlink('../judge.sh', join(it.path, 'w/scripts/scenarios/data/link'));
    const before = picture(join(it.path, 'w/scripts'));
    const ran = await run(it, [], {
      ...env,
      FACTORY_KEYS: join(it.path, 'my-keys'),
      XDG_STATE_HOME: join(it.path, 'my-keys-state'),
    });
    expect(ran.code, ran.stderr + ran.stdout).toBe(0);
    const found = await it.read(`${ws}/found.txt`);
    expect(found).not.toMatch(/judge|scenarios|SEALED|my-keys/);
    expect(picture(join(it.path, ws, 'scripts'))).toEqual(before);
    // Neither content nor names anywhere else in the run.
    const inWorkspace = (name: string) => name.startsWith('workspace/');
    expect(holding(join(it.path, at), needle, inWorkspace)).toEqual([]);
    for (const text of [needle, 'judge.sh'])
      expect(holdersOf(textsOfStore(join(it.path, at)), text)).toEqual([]);
    const { holdout } = (await it.json(`${at}/manifest.json`)) as {
      holdout: { paths: string[]; files: number; from: string; sha256: string; key: string };
    };
    expect(holdout).toMatchObject({ paths: ['scripts/scenarios'], files: 3, from: 'workdir' });
    expect(await it.list('my-keys')).toEqual([holdout.key]);
    expect(ran.stderr).toMatch(/sealed paths=\["scripts\/scenarios"\] files=3 from=workdir/);
    expect(ran.stderr).not.toMatch(/judge\.sh|SEALED/);
    const [session] = await it.records(`${at}/trace.jsonl`);
    expect(session).toMatchObject({ holdout: { files: 3, sha256: holdout.sha256 } });
    const shown = await it.factory(['show', 'r1'], { env });
    expect(shown.stdout).toMatch(
      /sealed +scripts\/scenarios: 3 files from the workdir\n +sha256 [0-9a-f]{64}/,
    );
    const out = await it.factory(['checkout', 'r1', 'look'], { env });
    expect(out.stdout).toContain('holdout paths are left out: scripts/scenarios');
    expect(existsSync(join(it.path, 'look/scripts/scenarios'))).toBe(false);
  },
);

test('everything that a builder writes at sealed paths is undone, reported, and never used as a scenario', async () => {
  const attempts: Readonly<Record<string, readonly [string, string]>> = {
    forge: [
      'mkdir -p scripts/scenarios; echo exit 0 > scripts/scenarios/judge.sh',
      'scripts/scenarios/judge.sh',
    ],
    locked: ['mkdir -p scripts/scenarios/x; chmod 0 scripts/scenarios', 'scripts/scenarios/x'],
    file: ['echo x > scripts/scenarios', 'scripts/scenarios'],
    cached: [
      'mkdir -p scripts/scenarios/__pycache__; echo x > scripts/scenarios/__pycache__/judge.pyc',
      'scripts/scenarios/__pycache__/judge.pyc',
    ],
    linked: ['rm -rf scripts; ln -s /tmp scripts', 'scripts'],
    inTheWay: ['rm -rf scripts; echo x > scripts', 'scripts'],
    led: ['ln -s ../a.txt scripts/scenarios', 'scripts/scenarios'],
  };
  const deeds: Readonly<Record<string, readonly [string, string]>> = {
    change: ['echo exit 0 > scripts/scenarios/judge.sh', 'scripts/scenarios/judge.sh'],
    mode: ['chmod 777 scripts/scenarios/judge.sh', 'scripts/scenarios/judge.sh'],
    restore: [
      'f=scripts/scenarios/judge.sh; cp -p $f ../kept.sh; echo exit 0 > $f; cat ../kept.sh > $f; touch -r ../kept.sh $f; rm ../kept.sh',
      'scripts/scenarios/judge.sh',
    ],
    remove: ['rm -rf scripts/scenarios', 'scripts/scenarios/judge.sh'],
    add: ['echo x > scripts/scenarios/new', 'scripts/scenarios/new'],
    copy: ['mkdir -p src; cp scripts/scenarios/judge.sh src/mine', 'src/mine'],
    hard: ['ln scripts/scenarios/data/in.txt mine', 'mine'],
    move: ['mv scripts/scenarios/data kept', 'kept/in.txt'],
  };
  await using it = await home({
    ...files,
    'w/scripts/other.sh': 'true',
    // A process that tries to outlive its node and waits for the scenarios.
    'w/lurk.sh':
      "setsid sh -c '(while :; do grep -qs SEALED-7319 scripts/scenarios/judge.sh && cp scripts/scenarios/judge.sh stolen.txt; done) & (while :; do mkdir -p scripts/scenarios && echo exit 0 > scripts/scenarios/judge.sh; done) & wait' > /dev/null 2>&1 & echo forty-two > answer.txt; echo done",
    ...Object.fromEntries(
      Object.entries(attempts).map(([name, [text]]) => [`w/${name}.sh`, `${text}; echo done`]),
    ),
    ...Object.fromEntries(
      Object.entries(deeds).map(([name, [text]]) => [`w/${name}.sh`, `${text}; echo done`]),
    ),
    'p.dot': row({
      ...Object.fromEntries(Object.keys(attempts).map((name) => [name, agent(`${name}.sh`)])),
      ...Object.fromEntries(Object.keys(deeds).map((name) => [name, tool(`sh ${name}.sh`)])),
      lurk: agent('lurk.sh'),
      check: tool(plan),
      v: verify(''),
      still: tool('test ! -e stolen.txt'),
    }),
  });
  const before = picture(join(it.path, 'w/scripts/scenarios'));
  const ran = await run(it);
  expect(ran.code, ran.stderr + ran.stdout).toBe(0);
  for (const [name, [, path]] of [...Object.entries(attempts), ...Object.entries(deeds)]) {
    const status = await statusOf(it, name);
    expect(status, name).toMatchObject({ outcome: 'fail', failure_class: 'guardrail' });
    const told = /wrote disallowed files: ([^ ]*)/.exec(status.failure_reason)?.[1]?.split(',');
    expect(told, `${name}: ${status.failure_reason}`).toContain(path);
  }
  const told = (await it.records(`${at}/events.jsonl`)).filter((r) => r['type'] === 'GuardrailViolation');
  expect(told.map((r) => r['node_id'])).toEqual(
    expect.arrayContaining([...Object.keys(attempts), ...Object.keys(deeds)]),
  );
  expect(picture(join(it.path, ws, 'scripts/scenarios'))).toEqual(before);
  for (const gone of ['src', 'mine', 'kept', 'stolen.txt'])
    expect(existsSync(join(it.path, ws, gone)), gone).toBe(false);
  expect(await it.read(`${ws}/scripts/other.sh`).catch(() => 'removed by its stage')).toBeDefined();
});

test.skipIf(noBwrap !== undefined)(
  'a confined builder can read no text of the scenarios anywhere',
  async () => {
    await using it = await home({
      ...files,
      'p.dot': row({
        see: tool(plan),
        a: `${agent('escape.sh')}, sandbox_bind="~/tools"`,
        v: verify(''),
      }),
      'tools/x': 'x',
    });
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
        cwd: join(it.path, 'w'),
        env: cleanEnv({ HOME: it.path }),
      });
    await writeFile(
      join(it.path, 'w/escape.sh'),
      `exec 2>/dev/null
echo forty-two > answer.txt
{
cat ${it.path}/w/scripts/scenarios/judge.sh ${it.path}/${at}/.sealed ${it.path}/tools/keys/*
cat ../../../../w/scripts/scenarios/judge.sh ../.sealed ../contents/pack
ln -s ${it.path} out && grep -r SEALED-7319 out/
ln ${it.path}/w/scripts/scenarios/judge.sh hard && cat hard
for p in /proc/[0-9]*; do cat $p/cwd/scripts/scenarios/judge.sh $p/root${it.path}/w/scripts/scenarios/judge.sh; tr '\\0' '\\n' < $p/environ; cat $p/cmdline; done
for d in . ${it.path} ${it.path}/w ${it.path}/${at}/history.git ${it.path}/${at}; do git -C $d log -p --all; git -C $d cat-file --batch-all-objects --batch; done
grep -rl SEALED-7319 /home /root /tmp /run /mnt /srv ${it.path}
find /home /root /tmp /run /mnt /srv ${it.path} -name 'judge.sh'
ls -R ${it.path}/.local/state/factory/keys
} > loot.txt
rm -f out hard
echo done
`,
    );
    git('init', '-q');
    git('add', '.');
    git('commit', '-qm', 'all');
    const ran = await run(it, [], { FACTORY_SANDBOX: 'bwrap' });
    expect(ran.code, ran.stderr + ran.stdout).toBe(0);
    const { holdout } = (await it.json(`${at}/manifest.json`)) as { holdout: { key: string } };
    const loot = await it.read(`${ws}/loot.txt`);
    expect(loot).toContain('sh');
    expect(loot).not.toMatch(/SEALED-7319 the|judge\.sh$|FACTORY-SEALED/m);
    expect(loot).not.toContain(holdout.key);
  },
);

const pipeline = row({
  see: tool(`echo see >> log.txt; ${plan}`),
  a: agent('agent.sh'),
  t: tool('echo t >> log.txt; test -e scripts/scenarios/judge.sh && $HOLD true'),
  v: verify(''),
});
const agentScript =
  'test ! -e scripts/scenarios || exit 9; test -z "$(grep -rl SEALED-73[1]9 .)" || exit 8; echo forty-two > answer.txt; echo a >> log.txt; echo done';

test('a run that is stopped by kill -9 at any node has the scenarios undamaged when it is resumed, and ends the same', async () => {
  await using it = await home({ ...files, 'w/agent.sh': agentScript, 'p.dot': pipeline });
  const before = picture(join(it.path, 'w/scripts'));
  const store = () => readFile(join(it.path, at, '.sealed'));
  const stops = [
    'started node=see',
    'started node=a',
    'started node=t',
    'started node=v',
    'completed node=exit',
  ];
  let first: Buffer | undefined;
  let ran = { code: null as number | null, stderr: '' };
  for (const [n, stop] of [...stops, undefined].entries()) {
    ran = await it.program(
      n === 0 ? ['run', 'p.dot', '--run-id', 'r1', '--workdir', 'w'] : ['resume', 'r1'],
      {
        watch: (line, process) => {
          if (stop !== undefined && line.includes(`stage ${stop}`)) process.kill('SIGKILL');
        },
      },
    );
    first ??= await store();
    expect(await store()).toEqual(first);
  }
  expect(ran.code, ran.stderr).toBe(0);
  expect(await it.read(`${ws}/log.txt`)).toBe('see\na\nt\n');
  expect(picture(join(it.path, ws, 'scripts'))).toEqual(before);
  expect(holdersOf(textsOfStore(join(it.path, at)), needle)).toEqual([]);
});

test('a run that is stopped by a signal has the scenarios in its workspace, and seals them again when it is resumed', async () => {
  await using it = await home({ ...files, 'w/agent.sh': agentScript, 'p.dot': pipeline });
  const before = picture(join(it.path, 'w/scripts'));
  const stopped = await run(it, [], { ATTRACTION_TEST_STOP_AFTER_NODE: 'see' });
  expect(stopped.code).toBe(1);
  expect(picture(join(it.path, ws, 'scripts'))).toEqual(before);
  await writeFile(join(it.path, ws, 'scripts/scenarios/judge.sh'), 'exit 0');
  const interrupted = await it.factory(['resume', 'r1'], {
    // The node does not end before the signal.
    env: { HOLD: 'exec tail -f /dev/null' },
    watch: (line, process) => {
      if (line.includes('node started node=t')) process.kill('SIGTERM');
    },
  });
  expect(interrupted.code, interrupted.stderr).toBe(130);
  expect(picture(join(it.path, ws, 'scripts'))).toEqual(before);
  // With a damaged store nothing of the run changes.
  const store = join(it.path, at, '.sealed');
  const whole = await readFile(store);
  const flipped = Buffer.from([whole.readUInt8(60) ^ 1]);
  await writeFile(store, Buffer.concat([whole.subarray(0, 60), flipped, whole.subarray(61)]));
  const checkpoint = await it.read(`${at}/checkpoint.json`);
  const damaged = await it.factory(['resume', 'r1']);
  expect(damaged.code).toBe(2);
  expect(damaged.stderr).toContain('are not those that the run was begun with');
  await writeFile(store, whole);
  const elsewhere = await it.factory(['resume', 'r1'], { env: { FACTORY_KEYS: join(it.path, 'none') } });
  expect(elsewhere.code).toBe(2);
  expect(elsewhere.stderr).toMatch(/the key of the sealed scenarios is not there[\s\S]*FACTORY_KEYS/);
  expect(await it.read(`${at}/checkpoint.json`)).toBe(checkpoint);
  const other = await it.factory(['run', 'p.dot', '--resume', '--run-id', 'r1', '--holdout', 'w'], {});
  expect(other.code).toBe(2);
  expect(other.stderr).toContain(
    "--holdout w differs from the run's holdout: scripts/scenarios of its workdir",
  );
  const on = await it.factory(['resume', 'r1']);
  expect(on.code, on.stderr).toBe(0);
  expect(picture(join(it.path, ws, 'scripts'))).toEqual(before);
});

test('a run that is stopped: or has ended gives a fork and a replay a separate store and key', async () => {
  await using it = await home({ ...files, 'w/agent.sh': agentScript, 'p.dot': pipeline });
  const before = picture(join(it.path, 'w/scripts'));
  const ran = await run(it);
  expect(ran.code, ran.stderr).toBe(0);
  const fork = await it.factory(['fork', 'r1', '--at', 'a', '--run-id', 'r2'], {});
  expect(fork.code, fork.stderr).toBe(0);
  const replay = await it.factory(['replay', 'r1', '--run-id', 'r3'], {});
  expect(replay.code, replay.stderr).toBe(0);
  const facts = async (id: string) =>
    ((await it.json(`.factory/runs/${id}/manifest.json`)) as { holdout: Record<string, string> }).holdout;
  for (const id of ['r2', 'r3']) {
    expect(picture(join(it.path, `.factory/runs/${id}/workspace/scripts`))).toEqual(before);
    const { sha256, key } = await facts(id);
    expect(sha256).toBe((await facts('r1'))['sha256']);
    expect(key).not.toBe((await facts('r1'))['key']);
  }
});

describe('--holdout', () => {
  test('may be in the workdir, which is then copied without it; the pipeline may name it too', async () => {
    await using it = await home({
      'w/a.txt': 'a',
      'w/judge/check.sh': needle,
      'w/agent.sh': 'test -z "$(find . -name "check*")" && echo done',
      'p.dot': row(
        { t: tool('test -e hidden/judge/check.sh && test ! -e judge'), a: agent('agent.sh') },
        'holdout="hidden/judge/"; holdout_from="w/judge"',
      ),
    });
    const ran = await run(it);
    expect(ran.code, ran.stderr + ran.stdout).toBe(0);
    expect(await it.list(`${ws}/hidden/judge`)).toEqual(['check.sh']);
    expect(existsSync(join(it.path, ws, 'judge'))).toBe(false);
  });

  test('warns about files that agents get from the beginning and that are sealed too', async () => {
    const [whole, little] = [`# ${needle}\n`, 'b'];
    await using it = await home({
      'w/old/check.sh': whole,
      'w/also/check.sh': whole,
      'w/b.txt': little,
      'w/left/check.sh': whole,
      'w/.factoryignore': 'left/\n',
      'judge/check.sh': whole,
      'judge/b.txt': little,
      'p.dot': row({ t: tool('true') }),
    });
    const ran = await run(it, ['--holdout', 'judge']);
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.stderr).toMatch(
      /agents can read holdout files in these copies; .*: also\/check\.sh, old\/check\.sh\n/,
    );
  });

  test('is refused before anything is created, with its place and the fix', async () => {
    await using it = await home({ ...files, 'p.dot': row({ t: tool('true') }, 'holdout_from="nowhere"') });
    const ran = await run(it);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toMatch(/holdout_from: .*nowhere does not exist\n --> p\.dot:2:/);
    expect(ran.stderr).toContain('fix: name a folder that holds the scenarios');
    expect(existsSync(join(it.path, '.factory'))).toBe(false);
    expect(existsSync(join(it.path, '.local'))).toBe(false);
  });
});

test.for([
  ['in their usual place', 'scripts/scenarios', []],
  ['in another folder of it', 'kept', ['--holdout', 'w/kept']],
] as const)(
  'a check cannot read sealed files of the workdir from its commits: %s',
  async ([, folder, flags]) => {
    const commands = ['git status --short', 'git diff --exit-code HEAD', `git show HEAD:${folder}/judge.sh`];
    await using it = await home({
      ...files,
      [`w/${folder}/judge.sh`]: 'exit 0',
      'w/plan.json': JSON.stringify({ context_updates: { plan: { files: [], commands } } }),
      'p.dot': row({
        // A run with such a node has a history.
        o: tool('factory order next || rm -f $FACTORY_OUTPUT', ', access=run'),
        t: tool('cp plan.json $FACTORY_OUTPUT'),
        v: `type=verification, sees_holdout=false, verification.allowed_commands="@plan", verification.plan_context_key="plan"`,
      }),
    });
    for (const words of ['init -q', 'add .', '-c user.name=a -c user.email=a@b commit -qm all'])
      execFileSync('git', words.split(' '), { cwd: join(it.path, 'w'), env: cleanEnv({ HOME: it.path }) });
    expect((await run(it, flags)).code).toBe(1);
    const { commands: ran } = (await it.json(`${at}/v/verification.results.json`)) as {
      commands: { exit_code: number; stdout: string; stderr: string }[];
    };
    expect(ran.map(({ exit_code, stdout }) => [exit_code, stdout])).toEqual([
      [0, ''],
      [0, ''],
      [128, ''],
    ]);
    expect(ran[2]?.stderr).toContain('not a git repository');
  },
);

test.for([
  [
    { files: [], commands: ['sh scripts/scenarios/judge.sh'] },
    'command failed: sh scripts/scenarios/judge.sh: ',
  ],
  [{ files: ['scripts/scenarios/judge.sh'], commands: [] }, 'required file: '],
  [{ files: [], commands: ['sh asks.sh'] }, 'command failed: sh asks.sh: '],
] as const)('a check that is not to see what its plan names says so: %o', async ([plan, why]) => {
  await using it = await home({
    ...files,
    'w/plan.json': JSON.stringify({ context_updates: { plan } }),
    'w/asks.sh': 'echo first; sh ./scripts/scenarios/judge.sh || exit 1\n',
    'p.dot': row({
      t: tool('cp plan.json $FACTORY_OUTPUT'),
      v: `type=verification, sees_holdout=false, verification.allowed_commands="@plan", verification.plan_context_key="plan"`,
    }),
  });
  expect((await run(it)).code).toBe(1);
  expect(await it.json(`${at}/v/status.json`)).toMatchObject({
    failure_class: 'config',
    failure_reason: expect.stringContaining(
      `${why}"scripts/scenarios/judge.sh" is part of the holdout, which is hidden from this node; leave it to the scenarios, or remove sees_holdout=false`,
    ),
  });
});

const emptySha = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const proposal = JSON.stringify({
  summary: 's',
  writes: [{ path: 'f1.txt', base_sha256: emptySha, content: 'right\n' }],
});
const wrong = JSON.stringify({
  summary: 's',
  writes: [{ path: 'f1.txt', base_sha256: emptySha, content: 'wrong\n' }],
});
const order = {
  id: 'WO-01',
  title: 'Step',
  intent: 'Make f1.txt.',
  preconditions: [],
  postconditions: [{ kind: 'file_exists', path: 'f1.txt' }],
  allowed_files: ['f1.txt'],
  forbidden: [],
  acceptance_commands: ['sh scripts/scenarios/accept.sh', 'git diff --exit-code', 'git status'],
  context_files: ['f1.txt'],
  notes: null,
};
test('a build of commits adds no sealed file to a commit and removes none that is committed', async () => {
  const committed = 'scripts/scenarios/old.sh';
  const text = await readFile(join(root, 'pipelines/build.dot'), 'utf8');
  const accept = 'echo seen; grep -q right f1.txt\n';
  await using it = await home({
    'p.dot': text
      .replace('@../examples/linkcheck/plan.json', '@plan.json')
      .replace('@../prompts/propose.md', '@propose.md')
      .replace('../examples/linkcheck/agent.json', 'agent.json')
      // The order names a sealed script.
      .replaceAll('sees_holdout=false', 'sees_holdout=true'),
    'propose.md': await readFile(join(root, 'prompts/propose.md'), 'utf8'),
    'plan.json': JSON.stringify({
      system_overview: ['a file'],
      verify_contract: { command: 'test -f f1.txt', requires: [{ kind: 'file_exists', path: 'f1.txt' }] },
      work_orders: [order],
    }),
    'agent.json': JSON.stringify({
      format: 'factory-script/1',
      answers: { propose: [{ text: wrong }, { text: proposal }] },
    }),
    'w/a.txt': 'a\n',
    [`w/${committed}`]: 'true\n',
    'judge/accept.sh': accept,
  });
  const git = (cwd: string, ...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
      cwd: join(it.path, cwd),
      env: cleanEnv({ HOME: it.path }),
      encoding: 'utf8',
    });
  git('w', 'init', '-q');
  git('w', 'add', '.');
  git('w', 'commit', '-qm', 'all');
  const ran = await run(it, ['--agent', 'scripted', '--holdout', 'judge']);
  expect(ran.code, ran.stderr + ran.stdout).toBe(0);
  const names = git(`${at}/history.git`, 'ls-tree', '-r', '--name-only', 'refs/factory/head');
  expect(names).toBe(`a.txt\nf1.txt\n${committed}\n`);
  expect(git(`${at}/history.git`, 'log', '--format=%s', 'refs/factory/head').split('\n')[0]).toBe(
    'WO-01: Step',
  );
  const prompt = await it.read(`${at}/propose/prompt.md`);
  expect(prompt).not.toContain('scenarios/old');
  expect(holdersOf(textsOfStore(join(it.path, at)), accept)).toEqual([]);
}, 180_000);
