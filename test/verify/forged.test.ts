/** Records that contradict the history of a run. */
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Checkpoint } from '../../src/core/records/checkpoint.ts';
import type { Manifest } from '../../src/core/records/manifest.ts';
import { openRun } from '../../src/run/open-run.ts';
import { checkDelivery, checkHistory, recordedCommits } from '../../src/verify/history.ts';
import { Findings } from '../../src/verify/report.ts';
import { cleanEnv } from '../support/cli.ts';
import { type Ground, ground } from './ground.ts';

let it: Ground;
beforeAll(async () => {
  it = await ground();
  await it.build('b');
}, 180_000);
afterAll(() => it[Symbol.asyncDispose]());

/** The report about the history of `b` after a change of its records. */
async function historyOf(
  change: (run: { checkpoint: Checkpoint; manifest: Manifest }) => void,
  underWay = false,
): Promise<Findings> {
  const dir = it.dir('b');
  const [manifest, loaded] = [await openRun(dir).manifest(), openRun(dir).history()];
  if (!manifest.ok || !loaded.ok) throw new Error('unreadable');
  const run = structuredClone({ checkpoint: loaded.checkpoint, manifest: manifest.manifest });
  change(run);
  const found = new Findings();
  await checkHistory({ dir, ...run, records: loaded.records, underWay }, cleanEnv(), found);
  return found;
}
const problemsOf = (found: Findings) =>
  found.report().problems.map(({ where, message }) => `${where}: ${message.replace(/[0-9a-f]{12}/, 'ID')}`);
const build = ({ checkpoint }: { checkpoint: Checkpoint }) => checkpoint.tool_state?.['order'] as object;
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
    'the last commit, which is an earlier one',
    (run) => Object.assign(build(run), { head: commits(run).at(0)?.['commit'] }),
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
    ['history.git: the run started without a history'],
  ],
])('records with a change of %s contradict the history', async ([, change, should]) => {
  expect(problemsOf(await historyOf(change))).toEqual(should);
});

test('after an interrupted node refs are not checked, but commits are', async () => {
  const found = await historyOf((run) => void commits(run).pop(), true);
  expect(problemsOf(found)).toEqual([]);
  expect(found.report().unchecked.join()).toContain('the refs of the history');
});

test('a removed history is reported as missing', async () => {
  const path = join(it.dir('b'), 'history.git');
  renameSync(path, `${path}.away`);
  try {
    expect(problemsOf(await historyOf(() => {}))).toEqual(['history.git: the history of the run is missing']);
  } finally {
    renameSync(`${path}.away`, path);
  }
});

test('a branch without the commits of the run is not a delivery, nor is any branch of a run without commits', async () => {
  const dir = it.dir('b');
  const loaded = openRun(dir).history();
  if (!loaded.ok) throw new Error('unreadable');
  const { checkpoint } = loaded;
  const repo = join(dir, 'history.git');
  const should = async (state: Checkpoint, branch: string) => {
    const found = new Findings();
    await checkDelivery(state, { repo, branch }, cleanEnv(), found);
    return found.report().problems.map(({ code, message }) => `${code}: ${message}`);
  };
  expect(await should(checkpoint, 'factory')).toEqual([]);
  const [first = { commit: '' }] = recordedCommits(checkpoint);
  const ref = join(repo, 'refs/heads/behind');
  mkdirSync(join(ref, '..'), { recursive: true });
  writeFileSync(ref, `${first.commit}\n`);
  try {
    expect(await should(checkpoint, 'behind')).toEqual([
      'delivery: the branch "behind" does not have the commits of the run',
    ]);
  } finally {
    rmSync(ref);
  }
  expect(await should({ ...checkpoint, context: {} }, 'factory')).toEqual([
    'delivery: the run has made no commits that could have been delivered',
  ]);
});
