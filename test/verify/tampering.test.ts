/** Every change in a run directory is found, and the file is named. */
import {
  appendFileSync,
  chmodSync,
  cpSync,
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
import { nothingSpent } from '../../src/core/budget/usage.ts';
import { withOwnHash } from '../../src/run/chain.ts';
import { openRun } from '../../src/run/open-run.ts';
import { openRunJournal } from '../../src/run/run-journal.ts';
import { type Ground, ground } from './ground.ts';

let it: Ground;
beforeAll(async () => {
  it = await ground({ 'work/scripts/scenarios/judge.sh': '#!/bin/sh\ngrep -q good out.txt\n' });
  for (const started of [await it.start('r'), await it.start('f', 'fails.dot')])
    if (started.code > 1) throw new Error(started.err + started.out);
  if ((await it.replay('r', { runId: 'again' })).code !== 0) throw new Error('no replay');
  await it.build('b');
}, 180_000);
afterAll(() => it[Symbol.asyncDispose]());

type Change = (path: string) => void;
const text =
  (change: (text: string) => string): Change =>
  (path) =>
    writeFileSync(path, change(readFileSync(path, 'utf8')));
const instead = (was: string | RegExp, is: string) => text((all) => all.replace(was, is));
const lines = (change: (...all: string[]) => string[]) =>
  text((all) => change(...all.split('\n')).join('\n'));
const inJson = (change: (value: Record<string, unknown>) => object) =>
  text((all) => `${JSON.stringify({ ...JSON.parse(all), ...change(JSON.parse(all)) }, null, 2)}\n`);
/** The same, with the file's own hash updated. */
const forged = (change: (value: Record<string, unknown>) => object) =>
  text((all) => {
    const { sha256: _, ...value } = JSON.parse(all);
    return withOwnHash(JSON.parse(JSON.stringify({ ...value, ...change(value) }))).toString();
  });
const flip: Change = (path) => {
  const bytes = readFileSync(path);
  const middle = Math.floor(bytes.length / 2);
  bytes[middle] = (bytes[middle] ?? 0) ^ 1;
  writeFileSync(path, bytes);
};
const remove: Change = (path) => rmSync(path, { recursive: true });
const add: Change = (path) => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, '{}\n');
};
/** Moves it elsewhere and replaces it by a link. */
const link: Change = (path) => {
  renameSync(path, join(it.path, 'elsewhere'));
  symlinkSync(join(it.path, 'elsewhere'), path);
};
const linkToItself: Change = (path) => {
  renameSync(path, join(it.path, 'elsewhere'));
  symlinkSync(path, path);
};
const append = text((all) => `${all}${all.split('\n').at(-2) ?? 'x'}`);
const swapLines = lines((a = '', b = '', c = '', d = '', ...rest) => [a, b, d, c, ...rest]);
const dropLine = lines((a = '', b = '', _, ...rest) => [a, b, ...rest]);
/** Inserts a line of that epoch in the middle. */
const late = (epoch: number) =>
  lines((...all) => all.toSpliced(2, 0, JSON.stringify({ ...JSON.parse(all[1] ?? ''), epoch })));
const scenarios = 'workspace/scripts/scenarios';
const judge = `${scenarios}/judge.sh`;

/** Changes of run `r`, found under the name of the changed file. */
const named: readonly (readonly [string | (() => string), ...(readonly Change[])])[] = [
  [
    'manifest.json',
    flip,
    remove,
    instead('Please write', 'Please forget'),
    instead('grep -q good', 'grep -q bad'),
  ],
  ['manifest.json', instead('"started_at": "2', '"started_at": "1'), instead('{\n', '{\n\n')],
  ['checkpoint.json', flip, remove, inJson(() => ({ elapsed_ms: 1 })), inJson(() => ({ status: 'failed' }))],
  ['journal.jsonl', flip, remove, append, swapLines, dropLine, instead('"exit_code":1', '"exit_code":0')],
  ['events.jsonl', remove, swapLines, dropLine, instead('"node_id":"check"', '"node_id":"write"')],
  ['events.jsonl', text((all) => `${all}${all.trimEnd().split('\n').at(-1)}\n`)],
  ['events.jsonl', instead('"failure_class":"product"', '"failure_class":"environment"')],
  ['trace.jsonl', remove, swapLines, lines((...all) => all.slice(0, -2))],
  ['trace.jsonl', instead('"outcome":"success"', '"outcome":"skipped"')],
  ['result.json', flip, remove, inJson(() => ({ exit_code: 1 }))],
  ['audit.json', flip, remove, text((all) => `{${all}`)],
  ['package.json', flip],
  ['check/tool.exitcode.txt', flip, link],
  ['check/visits/1/tool.exitcode.txt', instead('1', '0')],
  ['check/visits/1/status.json', remove],
  ['check/stage.json', remove],
  ['write/prompt.md', flip],
  ['write/response.md', remove],
  ['plan/own.txt', flip],
  ['verify/verification.results.json', instead('"exit_code": 0', '"exit_code": 1')],
  ['contents/pack', flip],
  ['workspace/keep.txt', flip, (path) => chmodSync(path, 0o755)],
  ['workspace/out.txt', remove],
  ['workspace/d', (path) => mkdirSync(path)],
];

test('every change of a file of a run is found under the name of that file', async () => {
  const wrong: unknown[] = [];
  for (const [file, ...ways] of named)
    for (const [n, way] of ways.entries()) {
      const name = typeof file === 'string' ? file : file();
      const { problems } = await it.changed('r', name, way);
      const places = new Set(problems.map(({ where }) => where));
      // A missing record leaves further files without a hash.
      const others = /^(?:checkpoint|manifest|result)\.json$|\.jsonl$|^snapshots\//.test(name) ? 99 : 1;
      if (!places.has(name) || places.size > others) wrong.push([name, n, problems.slice(0, 3)]);
    }
  expect(JSON.stringify(wrong)).toBe('[]');
}, 120_000);

const added = ['visits', 'stage.json', 'other'];
added.push('check/other.txt', 'check/visits/9', 'verify/other.txt', 'contents/more.json');
added.push('.replay/visits.jsonl', 'workspace/more.txt');
const linked = ['checkpoint.json', 'lock', 'check', 'check/visits'];
linked.push('check/visits/1', 'workspace', scenarios);

/** Changes and exactly what is found. */
const exact: readonly (readonly [string, string | (() => string), string, Change])[] = [
  ...added.map((name) => ['r', name, 'added', add] as const),
  ...linked.map((name) => ['r', name, 'changed', link] as const),
  ...['new.json', 'proof.json', 'divergence.json'].map(
    (name) => ['again', `.replay/${name}`, 'added', add] as const,
  ),
  ['r', 'contents/pack', 'missing contents', remove],
  ['again', '.replay', 'changed', link],
  ['again', '.replay/journal.jsonl', 'missing', remove],
  ['again', '.replay/journal.jsonl', 'changed', flip],
  ['r', judge, `changed ${scenarios}`, text((all) => `${all}exit 0\n`)],
  ['r', judge, `changed ${scenarios}`, remove],
  ['r', `${scenarios}/new.sh`, `changed ${scenarios}`, add],
  ['r', '.sealed', 'changed', flip],
  ['b', '.sealed', 'added', add],
  ['r', 'journal.jsonl', 'changed', late(0)],
  ['r', 'events.jsonl', 'added', late(-1)],
  ['r', 'trace.jsonl', 'added', late(0.5)],
  ['b', 'history.git/refs/factory/head', 'changed', text(() => `${'0'.repeat(40)}\n`)],
  ['b', 'history.git/refs/heads/factory', 'changed', remove],
  ['b', 'history.git/HEAD', 'changed', text(() => 'ref: refs/heads/main\n')],
  ['b', 'history.git/factory-start.json', 'changed', flip],
  ['b', 'history.git/info/attributes', 'missing', remove],
  ['b', 'history.git/hooks/pre-push', 'added', add],
];

test('added files, links in place of files, another holdout and another history are found', async () => {
  const wrong: unknown[] = [];
  for (const [id, file, says, change] of exact) {
    const name = typeof file === 'string' ? file : file();
    const { found } = await it.changed(id, name, change);
    const should = says.includes(' ') ? says : `${says} ${name}`;
    // A git hook is also a folder that git does not make.
    if (!found.includes(should) || (id !== 'b' && new Set(found).size > 1))
      wrong.push([id, name, should, found]);
  }
  expect(wrong).toEqual([]);
}, 60_000);

test('a change that also updates the own hash of its file contradicts other records', async () => {
  const checkpoint: readonly [string, (value: Record<string, unknown>) => object][] = [
    ['completed_nodes', () => ({ completed_nodes: [] })],
    ['retry_counts', () => ({ retry_counts: { check: 1 } })],
    ['context', ({ context }) => ({ context: { ...(context as object), x: '1' } })],
    ['next_node', () => ({ next_node: 'check' })],
    ['last_outcome', () => ({ last_outcome: null })],
  ];
  const result: typeof checkpoint = [
    ['status', () => ({ status: 'failed' })],
    ['exit_node', () => ({ exit_node: 'check' })],
    ['reason', () => ({ reason: 'another' })],
    ['evidence.commands', ({ evidence }) => ({ evidence: { ...(evidence as object), commands: [] } })],
    ['evidence.chain', ({ evidence }) => ({ evidence: { ...(evidence as object), chain: '0'.repeat(64) } })],
  ];
  for (const [name, rows] of [
    ['checkpoint.json', checkpoint],
    ['result.json', result],
  ] as const)
    for (const [key, change] of rows) {
      const { problems } = await it.changed('r', name, forged(change));
      const messages = problems.map(
        ({ code, where, message }) => `${code} ${where}: ${message.split(' ')[0]}`,
      );
      expect(messages, key).toContain(`contradiction ${name}: "${key}"`);
    }
  const withoutHash = text((all) => all.replace(/,\n {2}"sha256": "[0-9a-f]{64}"\n\}\n$/, '\n}\n'));
  expect((await it.changed('r', 'result.json', withoutHash)).problems[0]?.message).toMatch(
    'its own hash is missing',
  );
  const withoutAudit = forged(() => ({ audit: undefined }));
  expect((await it.changed('r', 'result.json', withoutAudit)).found).toEqual(['added audit.json']);
  const earlier = await it.changed(
    'r',
    'result.json',
    forged(() => ({ stages: 1 })),
  );
  expect(earlier.problems[0]?.message).toContain('it is the result of an earlier end');
});

test('one bit anywhere in any file is found, and the file is named', async () => {
  let seed = 20_260_301;
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  const dir = it.dir('r');
  const all = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((name) => {
    const is = lstatSync(join(dir, name));
    return is.isFile() && is.size > 0 && !notCovered.test(name);
  });
  const missed: unknown[] = [];
  for (let round = 0; round < 25; round++) {
    const name = all[random(all.length)] ?? '';
    const at = random(statSync(join(dir, name)).size);
    const { problems } = await it.changed('r', name, (path) => {
      const bytes = readFileSync(path);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << random(8));
      writeFileSync(path, bytes);
    });
    if (!problems.some(({ where }) => name.startsWith(where))) missed.push([name, at]);
  }
  expect(missed).toEqual([]);
}, 120_000);

/** Files of a running engine, and views of the journal; docs/verify.md names them. */
const notCovered = /^lock\/|^\.scratch\/|(?:^|\/)stage\.json$|^(?:events|trace)\.jsonl$/;

test('a file or folder that is a link to itself is found', async () => {
  for (const name of ['check', 'check/visits', 'lock', 'contents'])
    expect((await it.changed('r', name, linkToItself)).found.join(), name).toContain(` ${name}`);
});

test('without a result the journal still tells a changed view', async () => {
  const result = join(it.dir('r'), 'result.json');
  renameSync(result, `${it.path}/result.json`);
  try {
    for (const [name, was] of [
      ['events.jsonl', '"node_id":"check"'],
      ['trace.jsonl', '"outcome":"success"'],
    ] as const)
      expect((await it.changed('r', name, instead(was, '"x":"y"'))).found).toEqual([
        'missing result.json',
        `changed ${name}`,
      ]);
  } finally {
    renameSync(`${it.path}/result.json`, result);
  }
});

test('late lines of a previous owner and remains of a killed node are reported as not checked', async () => {
  cpSync(it.dir('f'), it.dir('late'), { recursive: true, preserveTimestamps: true });
  const history = openRun(it.dir('late')).history();
  if (!history.ok) throw new Error(history.why);
  const { checkpoint: state, manifestSha256 } = history;
  const journal = await openRunJournal(it.dir('late'), { runId: 'f', epoch: 2 }, history);
  const about = { at: state.at, elapsed_ms: 1, spent: nothingSpent } as const;
  const snapshot = state.snapshot ?? '';
  await journal.commit({ ...about, type: 'Resumed', snapshot, manifest_sha256: manifestSha256 }, state);
  await journal.close();
  for (const name of ['events.jsonl', 'trace.jsonl']) {
    const records = it.records(`.factory/runs/late/${name}`);
    const line = (epoch: number) => JSON.stringify({ ...records[0], seq: records.length + 1, epoch });
    appendFileSync(join(it.dir('late'), name), `${line(2)}\n${line(1)}\n`);
    const { problems, unchecked } = await it.verify('late');
    expect(problems).toEqual([]);
    expect(unchecked.join()).toContain(`1 line of ${name} of an owner that had lost the run`);
  }
  for (const name of ['.hidden/x', '.hidden.json']) {
    const { found, unchecked } = await it.changed('r', name, add);
    expect(found).toEqual([]);
    expect(unchecked.join()).toContain(`${name.split('/')[0]}: a node that was killed`);
  }
});

test('the chain from the plan to the commits is checked', async () => {
  const { problems, checked } = await it.verify('b');
  expect(problems).toEqual([]);
  expect(checked).toMatchObject({ commits: 2, 'work orders': 2 });
  const head = readFileSync(join(it.dir('b'), 'history.git/refs/factory/head'), 'utf8').trim();
  const object = `history.git/objects/${head.slice(0, 2)}/${head.slice(2)}`;
  const plan = 'workspace/.factory/in/plan.json';
  for (const [name, change, where] of [
    [object, flip, 'history.git'],
    [object, remove, 'history.git'],
    ['history.git/config', append, 'history.git/config'],
    [plan, instead('A file.', 'A fine.'), plan],
  ] as const)
    expect((await it.changed('b', name, change)).problems.map((one) => one.where)).toContain(where);
}, 60_000);

test('without git, commits are reported as not checked', async () => {
  vi.stubEnv('PATH', '/nowhere');
  try {
    const { problems, unchecked, checked } = await it.verify('b');
    expect(problems).toEqual([]);
    expect(unchecked).toContain('the history and its commits: git is not installed, or not on PATH');
    expect(checked).not.toHaveProperty('commits');
    const forked = await it.fork('b', { at: 'start', runId: 'forked' });
    expect(forked.code).toBe(2);
    expect(forked.err).toMatch(/cannot be copied: git is not installed.*\n.*fix: install git/);
  } finally {
    vi.unstubAllEnvs();
  }
});

test('all changes were undone', async () => {
  for (const id of ['r', 'f', 'again', 'b']) expect((await it.verify(id)).problems).toEqual([]);
});
