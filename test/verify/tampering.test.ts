/** Every change in a run directory is found, and the file is named. */
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { sealedHash, writeSealed } from '../../src/store/sealed.ts';
import { emptySha } from '../builder/support.ts';
import { type Ground, ground } from './ground.ts';

const order = {
  id: 'WO-01',
  title: 'One file',
  intent: 'A file.',
  preconditions: [],
  postconditions: [{ kind: 'file_exists', path: 'f.txt' }],
  allowed_files: ['f.txt', 'scripts/verify.sh'],
  forbidden: [],
  acceptance_commands: ['grep -q 1 f.txt'],
  context_files: ['f.txt'],
  notes: null,
};
const plan = {
  system_overview: ['One file.'],
  verify_contract: { command: 'bash scripts/verify.sh', requires: [] },
  work_orders: [order],
};
const writes = ['scripts/verify.sh', 'f.txt'].map((path) => ({
  path,
  base_sha256: emptySha,
  content: '1\n',
}));
const answers = {
  format: 'factory-script/1',
  answers: {
    propose: [
      {
        json: {
          summary: 's',
          writes: writes.map((w) => (w.path === 'f.txt' ? w : { ...w, content: 'grep -q 1 f.txt\n' })),
        },
      },
    ],
  },
};

let it: Ground;
beforeAll(async () => {
  it = await ground({ 'plan.json': JSON.stringify(plan), 'build.json': JSON.stringify(answers) });
  await it.start('r');
  await it.build('b');
}, 180_000);
afterAll(() => it[Symbol.asyncDispose]());

/** Changes a run directory and restores it afterwards. */
async function tampered(id: string, names: readonly string[], act: (path: (name: string) => string) => void) {
  const path = (name: string) => join(it.dir(id), name);
  const kept = names.map((name) => {
    const is = lstatSync(path(name), { throwIfNoEntry: false });
    return { name, bytes: is?.isFile() === true ? readFileSync(path(name)) : undefined, mode: is?.mode };
  });
  for (const { name, bytes } of kept) if (bytes !== undefined) chmodSync(path(name), 0o644);
  act(path);
  try {
    return (await it.verify(id)).problems;
  } finally {
    for (const { name, bytes, mode } of kept) {
      rmSync(path(name), { recursive: true, force: true });
      if (bytes === undefined) continue;
      mkdirSync(dirname(path(name)), { recursive: true });
      writeFileSync(path(name), bytes);
      chmodSync(path(name), (mode ?? 0o644) & 0o7777);
    }
  }
}

type Way =
  | 'flip'
  | 'delete'
  | 'add'
  | 'append'
  | 'swap lines'
  | 'drop line'
  | 'link'
  | ((text: string) => string);

function tamper(path: string, way: Way): void {
  if (way === 'delete') rmSync(path);
  else if (way === 'link') {
    rmSync(path);
    symlinkSync('status.json', path);
  } else if (way === 'add') {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, 'new\n');
  } else if (way === 'flip') {
    const bytes = readFileSync(path);
    const middle = Math.floor(bytes.length / 2);
    bytes[middle] = (bytes[middle] ?? 0) ^ 1;
    writeFileSync(path, bytes);
  } else {
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, changed(text, way));
  }
}

function changed(text: string, way: Exclude<Way, 'delete' | 'link' | 'add' | 'flip'>): string {
  const [a = '', b = '', c = '', ...rest] = text.split('\n');
  switch (way) {
    case 'append':
      return `${text}${text.split('\n').at(-2) ?? 'x'}`;
    case 'swap lines':
      return [a, c, b, ...rest].join('\n');
    case 'drop line':
      return [a, b, ...rest].join('\n');
    default:
      return way(text);
  }
}

const inJson = (change: (value: Record<string, never>) => void) => (text: string) => {
  const value = JSON.parse(text);
  change(value);
  return `${JSON.stringify(value, null, 2)}\n`;
};
const instead = (was: string | RegExp, is: string) => (text: string) => text.replace(was, is);
/** The first file of a folder with unknown names. */
const first = (folder: string) => join(folder, readdirSync(join(it.dir('r'), folder)).sort()[0] ?? '');

const rows: readonly (readonly [string | (() => string), Way])[] = [
  ['manifest.json', 'flip'],
  ['manifest.json', 'delete'],
  ['manifest.json', instead('Please write', 'Please forget')],
  ['manifest.json', instead('grep -q good', 'grep -q bad')],
  ['manifest.json', instead('"started_at": "2', '"started_at": "1')],
  ['manifest.json', instead('{\n', '{\n\n')],
  ['checkpoint.json', 'flip'],
  ['checkpoint.json', 'delete'],
  ['checkpoint.json', inJson((value) => Object.assign(value, { elapsed_ms: 1 }))],
  ['checkpoint.json', instead('"status": "completed"', '"status": "failed"')],
  ['visits.jsonl', 'flip'],
  ['visits.jsonl', 'delete'],
  ['visits.jsonl', 'append'],
  ['visits.jsonl', 'swap lines'],
  ['visits.jsonl', 'drop line'],
  ['visits.jsonl', instead('"exit_code":1', '"exit_code":0')],
  ['events.jsonl', 'flip'],
  ['events.jsonl', 'delete'],
  ['events.jsonl', 'append'],
  ['events.jsonl', 'swap lines'],
  ['events.jsonl', 'drop line'],
  ['events.jsonl', (text) => `${text}${text.trimEnd().split('\n').at(-1)}\n`],
  ['trace.jsonl', 'flip'],
  ['trace.jsonl', 'delete'],
  ['trace.jsonl', 'swap lines'],
  ['trace.jsonl', (text) => text.split('\n').slice(0, -2).join('\n')],
  ['result.json', 'flip'],
  ['result.json', 'delete'],
  ['result.json', inJson((value) => Object.assign(value, { exit_code: 1 }))],
  ['result.json', instead('"what": "verification"', '"what": "scenario"')],
  ['audit.json', 'flip'],
  ['audit.json', 'delete'],
  ['audit.json', (text) => `{${text}`],
  ['exchanges/calls.jsonl', 'flip'],
  ['exchanges/calls.jsonl', 'drop line'],
  ['exchanges/calls.jsonl', 'delete'],
  [() => first('exchanges/bodies'), 'flip'],
  [() => first('exchanges/bodies'), 'delete'],
  ['exchanges/bodies/more.txt', 'add'],
  ['inputs/spec.md', 'flip'],
  ['inputs/spec.md', 'delete'],
  ['inputs/agent-script.json', 'flip'],
  ['inputs/more.json', 'add'],
  ['package.json', 'flip'],
  ['check/tool.stderr.txt', 'add'],
  ['check/tool.exitcode.txt', 'flip'],
  ['check/tool.exitcode.txt', 'link'],
  ['check/visits/1/tool.exitcode.txt', instead('1', '0')],
  ['check/visits/1/status.json', 'delete'],
  ['check/visits/9', 'add'],
  ['check/stage.json', 'delete'],
  ['write/prompt.md', 'flip'],
  ['write/response.md', 'delete'],
  ['plan/own.txt', 'flip'],
  ['plan/output.json', 'flip'],
  ['verify/verification.results.json', instead('"exit_code": 0', '"exit_code": 1')],
  ['verify/verification.0.stdout.txt', 'flip'],
  ['verify/nobody.txt', 'add'],
  ['nobody', 'add'],
  ['.sealed', 'add'],
  ['snapshots/pack', 'flip'],
  ['snapshots/pack', 'delete'],
  [() => first('snapshots/trees'), 'flip'],
  [() => first('snapshots/trees'), instead(/"boot":"./, '"boot":"_')],
  [() => first('snapshots/large'), 'flip'],
  [() => first('snapshots/large'), 'delete'],
  ['snapshots/trees/more.json', 'add'],
  ['workspace/keep.txt', 'flip'],
  ['workspace/out.txt', 'delete'],
  ['workspace/more.txt', 'add'],
];

test('every change of a file of a run is found under the name of that file', async () => {
  const wrong: unknown[] = [];
  for (const [file, way] of rows) {
    const name = typeof file === 'string' ? file : file();
    const is = await tampered('r', [name], (path) => tamper(path(name), way));
    const places = new Set(is.map(({ where }) => where));
    // A missing record leaves further files without a hash.
    const others = /^(?:checkpoint|manifest|result)\.json$|\.jsonl$|^snapshots\//.test(name) ? 99 : 1;
    if (!places.has(name) || places.size > others) wrong.push([name, String(way), is.slice(0, 3)]);
  }
  expect(wrong).toEqual([]);
  expect((await it.verify('r')).problems).toEqual([]);
}, 120_000);

test('changed modes of files and new folders in the workspace are found', async () => {
  const mode = await tampered('r', ['workspace/keep.txt'], (path) =>
    chmodSync(path('workspace/keep.txt'), 0o755),
  );
  expect(mode).toMatchObject([{ code: 'changed', where: 'workspace/keep.txt' }]);
  const folder = await tampered('r', ['workspace/d'], (path) => mkdirSync(path('workspace/d')));
  expect(folder).toMatchObject([{ code: 'added', where: 'workspace/d' }]);
  const moved = join(it.path, 'moved');
  const link = await tampered('r', [], (path) => {
    renameSync(path('workspace'), moved);
    symlinkSync(moved, path('workspace'));
  });
  rmSync(join(it.dir('r'), 'workspace'));
  renameSync(moved, join(it.dir('r'), 'workspace'));
  expect(link).toMatchObject([{ code: 'changed', where: 'workspace' }]);
});

test('one bit anywhere in any file is found, and the file is named', async () => {
  let seed = 20_260_301;
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  const dir = it.dir('r');
  const files = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((name) => {
    const is = lstatSync(join(dir, name));
    return is.isFile() && is.size > 0 && !notCovered.test(name);
  });
  const missed: unknown[] = [];
  for (let round = 0; round < 60; round++) {
    const name = files[random(files.length)] ?? '';
    const at = random(statSync(join(dir, name)).size);
    const bit = 1 << random(8);
    const is = await tampered('r', [name], (path) => {
      const bytes = readFileSync(path(name));
      bytes[at] = (bytes[at] ?? 0) ^ bit;
      writeFileSync(path(name), bytes);
    });
    if (!is.some(({ where }) => where === name)) missed.push([name, at, bit]);
  }
  expect(missed).toEqual([]);
}, 120_000);

/** Files of a running engine; docs/verify.md names them. */
const notCovered = /^lock\/|^\.scratch\/|(?:^|\/)stage\.json$/;

test('a changed holdout store is found without the key, its contents with the key', async () => {
  const env = { FACTORY_KEYS: join(it.path, 'keys') };
  const sealed = [
    { path: 'scenarios/a.sh', kind: 'file' as const, mode: 0o755, content: Buffer.from('exit 0\n') },
  ];
  const problems = await tampered('r', ['.sealed', 'manifest.json', 'checkpoint.json'], () => {});
  expect(problems).toEqual([]);
  const sealing = await writeSealed(it.dir('r'), sealed, env);
  if ('problem' in sealing) throw new Error(sealing.problem.message);
  expect(sealing.sha256).toBe(sealedHash(sealed));
  const changed = await tampered('r', ['.sealed', 'manifest.json'], (path) => {
    const withHoldout = {
      ...it.json('.factory/runs/r/manifest.json'),
      holdout: { paths: ['scenarios'], from: 'workdir', ...sealing },
    };
    writeFileSync(path('manifest.json'), `${JSON.stringify(withHoldout, null, 2)}\n`);
    tamper(path('.sealed'), 'flip');
  });
  rmSync(join(it.dir('r'), '.sealed'));
  expect(changed.map(({ where }) => where)).toContain('.sealed');
});

test('the chain from the plan to the commits is checked: orders, objects, refs, trailers', async () => {
  expect((await it.verify('b')).problems).toEqual([]);
  expect((await it.verify('b')).checked).toMatchObject({ commits: 1, 'work orders': 1 });
  const dir = join(it.dir('b'), 'history.git');
  const objects = readdirSync(join(dir, 'objects'), { recursive: true, encoding: 'utf8' })
    .filter((name) => /^[0-9a-f]{2}\/[0-9a-f]{38}$/.test(name))
    .sort();
  const [object = ''] = objects;
  const head = readFileSync(join(dir, 'refs/factory/head'), 'utf8');
  const zeros = '0'.repeat(40);
  const cases: readonly (readonly [string, Way, string])[] = [
    [`history.git/objects/${object}`, 'flip', 'history.git'],
    [`history.git/objects/${head.slice(0, 2)}/${head.slice(2).trim()}`, 'delete', 'history.git'],
    ['history.git/refs/factory/head', () => `${zeros}\n`, 'history.git/refs/factory/head'],
    ['history.git/refs/heads/factory', 'delete', 'history.git/refs/heads/factory'],
    ['history.git/HEAD', () => 'ref: refs/heads/main\n', 'history.git/HEAD'],
    ['history.git/config', 'append', 'history.git/config'],
    ['history.git/factory-start.json', 'flip', 'history.git/factory-start.json'],
    ['history.git/info/attributes', 'delete', 'history.git/info/attributes'],
    ['history.git/factory-states', 'delete', 'history.git/factory-states'],
    ['history.git/factory-states', () => '', 'history.git/factory-states'],
    ['history.git/factory-states', (all) => `${all}x\n`, 'history.git/factory-states'],
    ['workspace/.factory/in/plan.json', instead('A file.', 'A fine.'), 'workspace/.factory/in/plan.json'],
  ];
  const wrong: unknown[] = [];
  for (const [name, way, where] of cases) {
    const is = await tampered('b', [name], (path) => tamper(path(name), way));
    if (!is.some((one) => one.where === where)) wrong.push([name, is]);
  }
  expect(wrong).toEqual([]);
  mkdirSync(join(dir, 'hooks'));
  writeFileSync(join(dir, 'hooks/pre-push'), '#!/bin/sh\n', { mode: 0o755 });
  const hooked = await it.verify('b');
  rmSync(join(dir, 'hooks'), { recursive: true });
  expect(hooked.problems).toMatchObject([{ code: 'added', where: 'history.git/hooks/pre-push' }]);
}, 120_000);

test('without git, commits are reported as not checked', async () => {
  vi.stubEnv('PATH', '/nowhere');
  try {
    const { problems, unchecked, checked } = await it.verify('b');
    expect(problems).toEqual([]);
    expect(unchecked).toContain('the history and its commits: git is not installed, or not on PATH');
    expect(checked).not.toHaveProperty('commits');
    const told = await it.fork('b', { at: 'start', runId: 'f' });
    expect(told.code).toBe(2);
    expect(told.err).toMatch(/cannot be copied: git is not installed.*\n.*fix: install git/);
  } finally {
    vi.unstubAllEnvs();
  }
});
