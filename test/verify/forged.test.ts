/** Changes that update the file's own hash are found too, because records must agree with each other. */
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Checkpoint } from '../../src/model/checkpoint.ts';
import type { Manifest } from '../../src/model/manifest.ts';
import { loadCheckpoint } from '../../src/store/checkpoint.ts';
import { withOwnHash } from '../../src/store/own-hash.ts';
import { readManifest } from '../../src/store/run-store.ts';
import { readVisits } from '../../src/store/visits.ts';
import { checkDelivery, checkHistory, commitsOf } from '../../src/verify/history.ts';
import { Findings } from '../../src/verify/report.ts';
import { emptySha } from '../builder/support.ts';
import { cleanEnv } from '../support/cli.ts';
import { type Ground, ground } from './ground.ts';

const order = (id: string, path: string) => ({
  id,
  title: 'One file',
  intent: 'A file.',
  preconditions: [],
  postconditions: [{ kind: 'file_exists', path }],
  allowed_files: [path],
  forbidden: [],
  acceptance_commands: [`grep -q 1 ${path}`],
  context_files: [path],
  notes: null,
});
const proposal = (path: string) => ({
  json: { summary: 's', writes: [{ path, base_sha256: emptySha, content: '1\n' }] },
});

let it: Ground;
beforeAll(async () => {
  it = await ground({
    'plan.json': JSON.stringify({
      system_overview: ['Two files.'],
      verify_contract: null,
      work_orders: [order('WO-01', 'f.txt'), order('WO-02', 'g.txt')],
    }),
    'build.json': JSON.stringify({
      format: 'factory-script/1',
      answers: { propose: [proposal('f.txt'), proposal('g.txt')] },
    }),
  });
  await it.start('r');
  expect((await it.replay('r', { runId: 'again' })).code).toBe(0);
  await it.build('b');
}, 180_000);
afterAll(() => it[Symbol.asyncDispose]());

/** The report about a file after `change`. */
async function saidOf(id: string, name: string, change: (text: string) => string | Buffer) {
  const path = join(it.dir(id), name);
  const kept = readFileSync(path);
  const { mode } = statSync(path);
  // Some artifacts are read-only files.
  chmodSync(path, mode | 0o200);
  writeFileSync(path, change(kept.toString()));
  try {
    return (await it.verify(id)).problems.map(({ code, where, message }) => `${code} ${where}: ${message}`);
  } finally {
    writeFileSync(path, kept);
    chmodSync(path, mode);
  }
}
type Value = Record<string, unknown>;
const forged = (change: (value: Value) => void) => (text: string) => {
  const { sha256: _, ...value } = JSON.parse(text) as Value;
  change(value);
  return withOwnHash(value);
};

test.for<[string, (value: Value) => object]>([
  ['completed_nodes', () => ({ completed_nodes: [] })],
  ['retry_counts', () => ({ retry_counts: { check: 1 } })],
  ['context', ({ context }) => ({ context: { ...(context as object), x: '1' } })],
  ['next_node', () => ({ next_node: 'check' })],
  ['last_outcome', () => ({ last_outcome: null })],
])('a checkpoint with another %s contradicts visits.jsonl', async ([key, more]) => {
  const said = await saidOf(
    'r',
    'checkpoint.json',
    forged((value) => Object.assign(value, more(value))),
  );
  expect(said.join('\n')).toMatch(
    new RegExp(`contradiction checkpoint.json: "${key}" is not what the visits come to`),
  );
});

test('a checkpoint or result without its own hash is reported as changed', async () => {
  const without = (text: string) => text.replace(/,\n {2}"sha256": "[0-9a-f]{64}"\n\}\n$/, '\n}\n');
  for (const name of ['checkpoint.json', 'result.json'])
    expect((await saidOf('r', name, without))[0]).toMatch(
      `changed ${name}: its own hash is missing, or does not end the file`,
    );
});

test.for<[string, (value: Value) => object]>([
  ['"status"', () => ({ status: 'failed' })],
  ['"exit_code"', () => ({ exit_code: 1 })],
  ['"exit_node"', () => ({ exit_node: 'check' })],
  ['"evidence.commands"', ({ evidence }) => ({ evidence: { ...(evidence as object), commands: [] } })],
  ['"evidence.chain"', ({ evidence }) => ({ evidence: { ...(evidence as object), chain: '0'.repeat(64) } })],
])('a result with another %s contradicts the records', async ([key, more]) => {
  const said = await saidOf(
    'r',
    'result.json',
    forged((value) => Object.assign(value, more(value))),
  );
  expect(said.map((one) => one.split(' ').slice(0, 3).join(' '))).toEqual([
    `contradiction result.json: ${key}`,
  ]);
});

test('without an audit in the result, audit.json is reported as added', async () => {
  const said = await saidOf(
    'r',
    'result.json',
    forged((value) => delete value['audit']),
  );
  expect(said.join()).toContain('added audit.json');
});

test('a result of an earlier end is reported as one', async () => {
  const said = await saidOf(
    'r',
    'result.json',
    forged((value) => Object.assign(value, { stages: 1 })),
  );
  expect(said.join()).toContain('it is the result of an earlier end');
});

test('events and trace with another outcome, fewer executions or another run are reported as changed', async () => {
  for (const [name, type] of [
    ['events.jsonl', 'StageCompleted'],
    ['trace.jsonl', 'NodeOutputCaptured'],
  ] as const)
    for (const [was, is] of [
      [/"outcome":"success"/, '"outcome":"skipped"'],
      [`"type":"${type}"`, '"type":"Nothing"'],
      ['"run_id":"r"', '"run_id":"s"'],
    ] as const)
      expect((await saidOf('r', name, (text) => text.replace(was, is))).join()).toMatch(
        new RegExp(`^changed ${name}: one of the first \\d+ lines differs`),
      );
});

test('the records that a replay uses are checked by their names', async () => {
  for (const folder of ['.replay/artifacts', '.replay/exchanges/bodies']) {
    const [name = ''] = readdirSync(join(it.dir('again'), folder));
    const path = `${folder}/${name}`;
    expect(await saidOf('again', path, (text) => `${text}x`)).toContainEqual(
      expect.stringMatching(`^changed ${path}`),
    );
  }
  expect(
    await saidOf('again', '.replay/exchanges/calls.jsonl', (text) => text.replace(/"node":"./, '"node":"_')),
  ).toContainEqual(expect.stringMatching(/^changed \.replay\/exchanges\/calls\.jsonl/));
});

/** The report about the history of `b` after a change of its records. */
async function historyOf(
  change: (run: { checkpoint: Checkpoint; manifest: Manifest }) => void,
  underWay = false,
): Promise<Findings> {
  const dir = it.dir('b');
  const [manifest, loaded] = [await readManifest(dir), await loadCheckpoint(join(dir, 'checkpoint.json'))];
  if (!manifest.ok || !loaded.ok) throw new Error('unreadable');
  const visits = await readVisits(join(dir, 'visits.jsonl'), loaded.vouched.visits_seq);
  if (!visits.ok) throw new Error(visits.why);
  const run = structuredClone({ checkpoint: loaded.checkpoint, manifest: manifest.manifest });
  change(run);
  const found = new Findings();
  await checkHistory({ dir, ...run, records: visits.records, underWay }, cleanEnv(), found);
  return found;
}
const told = (found: Findings) =>
  found.report().problems.map(({ where, message }) => `${where}: ${message.replace(/[0-9a-f]{12}/, 'ID')}`);
const commits = ({ checkpoint }: { checkpoint: Checkpoint }) =>
  (checkpoint.context as unknown as { 'build.commits': Record<string, unknown>[] })['build.commits'];

test.for<[string, (run: { checkpoint: Checkpoint; manifest: Manifest }) => void, readonly string[]]>([
  ['nothing', () => {}, []],
  [
    'the subject',
    (run) => Object.assign(commits(run)[0] ?? {}, { subject: 'Another' }),
    ['history.git: commit ID (WO-01): its subject is another one'],
  ],
  [
    'the order',
    (run) => Object.assign(commits(run)[0] ?? {}, { work_order: 'WO-77' }),
    [
      'history.git: commit ID (WO-77): it names another work order',
      'history.git: commit ID (WO-77): there is no such order in the workspace',
    ],
  ],
  [
    'another order of the plan',
    (run) => Object.assign(commits(run)[0] ?? {}, { work_order: 'WO-02' }),
    [
      'history.git: commit ID (WO-02): it names another work order',
      'history.git: commit ID (WO-02): its work order has another text than the one in the workspace',
    ],
  ],
  [
    'the first commit, which is missing',
    (run) => commits(run).shift(),
    ['history.git: commit ID (WO-02): it is built on another commit'],
  ],
  [
    'the last commit, which is missing',
    (run) => commits(run).pop(),
    [
      'history.git/refs/factory/head: it is not the last commit of the run',
      'history.git/refs/heads/factory: it is not the last commit of the run',
    ],
  ],
  [
    'the run',
    ({ manifest }) => Object.assign(manifest, { run_id: 'other' }),
    [
      'history.git: commit ID (WO-01): it names another run',
      'history.git: commit ID (WO-02): it names another run',
    ],
  ],
  [
    'the existence of a history',
    ({ manifest }) => Object.assign(manifest, { git: undefined }),
    ['history.git: the run was not begun with a history'],
  ],
])('records with a change of %s contradict the history', async ([, change, said]) => {
  expect(told(await historyOf(change))).toEqual(said);
});

test('after an interrupted node refs are not checked, but commits are', async () => {
  const found = await historyOf((run) => void commits(run).pop(), true);
  expect(told(found)).toEqual([]);
  expect(found.report().unchecked.join()).toContain('the refs of the history');
});

test('a removed history is reported as missing', async () => {
  const path = join(it.dir('b'), 'history.git');
  renameSync(path, `${path}.away`);
  try {
    expect(told(await historyOf(() => {}))).toEqual(['history.git: the history of the run is gone']);
  } finally {
    renameSync(`${path}.away`, path);
  }
});

test('a branch without the commits of the run is not a delivery, nor is any branch of a run without commits', async () => {
  const dir = it.dir('b');
  const loaded = await loadCheckpoint(join(dir, 'checkpoint.json'));
  if (!loaded.ok) throw new Error('unreadable');
  const { checkpoint } = loaded;
  const repo = join(dir, 'history.git');
  const said = async (state: Checkpoint, branch: string) => {
    const found = new Findings();
    await checkDelivery(state, { repo, branch }, cleanEnv(), found);
    return found.report().problems.map(({ code, message }) => `${code}: ${message}`);
  };
  expect(await said(checkpoint, 'factory')).toEqual([]);
  const [first = { commit: '' }] = commitsOf(checkpoint);
  const ref = join(repo, 'refs/heads/behind');
  mkdirSync(join(ref, '..'), { recursive: true });
  writeFileSync(ref, `${first.commit}\n`);
  try {
    expect(await said(checkpoint, 'behind')).toEqual([
      'delivery: the branch "behind" does not have the commits of the run',
    ]);
  } finally {
    rmSync(ref);
  }
  expect(await said({ ...checkpoint, context: {} }, 'factory')).toEqual([
    'delivery: the run has made no commits that could have been delivered',
  ]);
});
