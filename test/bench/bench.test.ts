/** The bench itself, with sizes that are over in a moment. What it measures is not looked at: only what it says. */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { cases } from '../../bench/cases/index.ts';
import type { CaseResult } from '../../bench/contest.ts';
import type { Options } from '../../bench/flags.ts';
import { bench } from '../../bench/main.ts';
import { Failed, measure } from '../../bench/measure.ts';
import { usualPriority } from '../../bench/priority.ts';
import { plainEnv } from '../../bench/scratch.ts';
import { cli, root } from '../support/cli.ts';
import { onDisk } from '../support/temporary.ts';

onDisk();

const tiny = {
  nodes: 3,
  manyNodes: 5,
  files: 12,
  fileNodes: 2,
  copyFiles: 12,
  graphNodes: 8,
  atOnce: 2,
  atOnceNodes: 3,
  branches: 2,
  branchSleep: 0.1,
  listRuns: 5,
  listMs: 50,
  judgedMib: 1,
  clients: 2,
  clientNodes: 3,
};

let folder = '';
let scratch = '';
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'factory-test-')));
  scratch = join(folder, 'tmp');
  await mkdir(scratch);
  vi.stubEnv('TMPDIR', scratch);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

/** The program alone is not enough: the system may forbid what it does. */
const hasSandbox = spawnSync('bwrap', ['--unshare-pid', '--ro-bind', '/', '/', 'true']).status === 0;

type Report = { readonly interrupted: boolean; readonly cases: readonly CaseResult[] };
const readReport = async (file: string): Promise<Report> => JSON.parse(await readFile(file, 'utf8'));

async function benched(name: string, options: Partial<Options>) {
  const json = join(folder, `${name}.json`);
  const plot = join(folder, `${name}.svg`);
  const said: string[] = [];
  const code = await bench(
    {
      quick: true,
      only: [],
      runs: 1,
      against: undefined,
      limitMs: 60_000,
      record: false,
      priority: usualPriority,
      json,
      plot,
      ...options,
    },
    root,
    tiny,
    new AbortController().signal,
    { out: (text) => said.push(text), tell: () => {} },
  );
  const report = await readReport(json);
  return { code, report, text: said.join('\n'), plot };
}
const named = (report: Report, name: string) => report.cases.find((each) => each.name === name);

/** What each case measures. The main job and an order take seconds each; whole runs elsewhere show that they work. The others
 *  that are missing wait for a clock, or are no other code. */
const measured: Readonly<Record<string, readonly string[]>> = {
  version: ['factory', 'node -e 0'],
  verbs: ['factory', 'node -e 0'],
  'one-node': ['factory', 'against'],
  nodes: ['factory', "spawn('sh -c true')", 'no engine'],
  sandbox: ['factory', 'bare bwrap'],
  graph: ['factory', 'factory validate'],
  'at-once': ['factory', 'against'],
  branches: ['factory', 'one branch'],
  'branch-files': ['factory'],
  'many-nodes': ['factory', 'against'],
  'long-run': ['factory'],
  files: ['factory', 'sha256 pass'],
  changes: ['factory', 'find -printf'],
  copy: ['factory', 'against', 'cp -a'],
  judged: ['factory', 'sha256 pass'],
  clients: ['factory', 'no clients'],
};
const unmeasured = [
  ...['main-job', 'open-job', 'work-order', 'product-calls', 'pages', 'many-changes'],
  ...['orders-ahead', 'large-graph', 'named-runs', 'idle-list'],
];
const contests = ['one-node', 'at-once', 'many-nodes', 'copy'];

test('every case is measured here, or it is said why not', () => {
  const names = cases.map(({ name }) => name);
  expect(names.filter((name) => !unmeasured.includes(name))).toEqual(Object.keys(measured));
});

/** What holds of each case that was measured. */
function expectFigures(each: CaseResult, text: string) {
  expect(each.failed).toEqual({});
  expect(Object.keys(each.measured).sort()).toEqual([...(measured[each.name] ?? [])].sort());
  for (const figures of Object.values(each.measured)) expect(figures).not.toEqual({});
  for (const compared of each.compared) {
    // So few nodes tell no growth.
    if (/^cost of a last node|^the same /.test(compared.what)) {
      expect(compared).not.toHaveProperty('value');
      continue;
    }
    expect(compared.value?.values).toHaveLength(1);
    expect(Number.isFinite(compared.value?.median)).toBe(true);
    if (compared.limit !== undefined)
      expect(compared.met).toBe((compared.value?.median ?? 0) <= compared.limit);
    expect(text).toContain(compared.what);
  }
  expect(each.compared.some(({ what }) => what.endsWith(': factory / against'))).toBe(
    contests.includes(each.name),
  );
}

test('measured against itself, cases have figures of both, targets and their ratio', async () => {
  const against = [process.execPath, cli];
  const { code, report, text, plot } = await benched('self', { only: contests, against });
  expect(code).toBe(0);
  expect(report).toMatchObject({
    ...{ schema_version: 1, interrupted: false, quick: true, against, sizes: tiny },
    machine: { node: process.version },
  });
  expect(report.cases.map(({ name }) => name)).toEqual(contests);
  for (const each of report.cases) expectFigures(each, text);
  const { wall_ms: ours } = named(report, 'one-node')?.measured['factory'] ?? {};
  const { wall_ms: theirs } = named(report, 'one-node')?.measured['against'] ?? {};
  const wall = named(report, 'one-node')?.compared.find(({ what }) => what === 'wall: factory / against');
  expect(wall?.value?.median).toBe((ours?.median ?? 0) / (theirs?.median ?? 0));
  // Four costs: less than a block.
  expect(named(report, 'many-nodes')?.costs['factory']).toHaveLength(1);
  expect(named(report, 'at-once')?.measured['factory']?.lost_n?.values).toEqual([0]);
  expect(existsSync(plot)).toBe(false);
  expect(await readdir(scratch)).toEqual([]);
});

const alone = Object.keys(measured).filter((name) => !contests.includes(name));
test.for(alone.filter((name) => name !== 'sandbox' || hasSandbox))(
  'the case %s has figures and targets',
  async (name) => {
    const { code, report, text } = await benched(name, { only: [name] });
    expect(code).toBe(0);
    expect(report.cases.map((each) => each.name)).toEqual([name]);
    for (const each of report.cases) expectFigures(each, text);
    expect(await readdir(scratch)).toEqual([]);
  },
);

test('a program that fails is reported with its last words, and ours is measured all the same', async () => {
  const against = ['sh', '-c', 'echo "no such thing: $1" >&2; exit 3', 'other'];
  const { code, report, text } = await benched('failing', { against, only: ['one-node', 'at-once'] });
  expect(code).toBe(0);
  const one = named(report, 'one-node');
  expect(one?.failed['against']).toMatch(/ended with code 3:\s+no such thing: run/);
  expect(one?.measured['factory']?.wall_ms?.values).toHaveLength(1);
  expect(one?.compared.find(({ what }) => what === 'wall: factory / against')).not.toHaveProperty('value');
  const atOnce = named(report, 'at-once');
  expect(atOnce?.failed['against']).toMatch(/^2 of 2 runs were lost/);
  // How soon it failed says nothing of how fast it is.
  expect(atOnce?.measured['against']).toEqual({ lost_n: expect.objectContaining({ values: [2] }) });
  expect(atOnce?.compared.find(({ what }) => what === 'wall: factory / against')).not.toHaveProperty('value');
  expect(text).toMatch(/against FAILED: sh -c .* ended with code 3/);
  expect(text).toMatch(/wall: factory \/ against +not measured/);
});

test('a program that wants the pipeline before its flags gets it there', async () => {
  const script = `case "$2" in --*) exit 1 ;; esac; mkdir -p "$6/$8/n1"; echo '{"outcome":"success"}' > "$6/$8/n1/status.json"`;
  const { report } = await benched('order', { against: ['sh', '-c', script, 'other'], only: ['one-node'] });
  expect(named(report, 'one-node')?.failed).toEqual({});
  expect(named(report, 'one-node')?.measured['against']?.wall_ms?.values).toHaveLength(1);
});

test('a program that claims success and did nothing has failed', async () => {
  const { report } = await benched('idle', { against: ['true'], only: ['one-node'] });
  expect(named(report, 'one-node')?.failed['against']).toMatch(
    /n1\/status\.json does not show that the node was run/,
  );
});

test('a program of this project that fails makes the bench fail', async () => {
  const json = join(folder, 'broken.json');
  const code = await bench(
    {
      quick: true,
      only: ['version'],
      runs: 1,
      against: undefined,
      limitMs: 60_000,
      record: false,
      priority: usualPriority,
      json,
      plot: undefined,
    },
    folder,
    tiny,
    new AbortController().signal,
    { out: () => {}, tell: () => {} },
  );
  expect(code).toBe(1);
  expect((await readReport(json)).cases[0]?.failed['factory']).toMatch(/cli\.js --version ended with code 1/);
});

test('a program that never ends is ended at its limit, and has failed', async () => {
  const starter = {
    scratch: folder,
    env: plainEnv(process.env, folder),
    signal: new AbortController().signal,
    priority: usualPriority,
  };
  const ending = measure(['sleep', '600'], { ...starter, limitMs: 20 });
  await expect(ending).rejects.toThrow(Failed);
  await expect(ending).rejects.toThrow('sleep 600 took longer than 0.02 s');
});

test('nothing that chooses for a program is handed on to it, least of all further certificates', () => {
  const env = {
    PATH: '/bin',
    HOME: '/home/ada',
    NODE_EXTRA_CA_CERTS: '/c',
    FACTORY_AGENT: 'x',
    FACTORY_SANDBOX: 'bwrap',
    NODE_OPTIONS: '-r y',
  };
  expect(plainEnv(env, '/s')).toEqual({ PATH: '/bin', HOME: '/s', FACTORY_SANDBOX: 'none' });
});

test('Ctrl-C ends what was started, keeps what was measured and leaves nothing behind', async () => {
  const json = join(folder, 'cut.json');
  const flags = [
    '--usual-priority',
    '--quick',
    '--runs',
    '1',
    '--only',
    'version,many-nodes',
    '--json',
    json,
  ];
  const child = spawn(process.execPath, [join(root, 'bench/run.mjs'), ...flags], {
    env: { ...process.env, TMPDIR: scratch },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'close');
  child.stderr.resume();
  const begun = async () => {
    const [inner = 'none yet'] = await readdir(scratch);
    return existsSync(join(scratch, inner, 'many-nodes/runs-factory/many-nodes-1-0/n3/status.json'));
  };
  await expect.poll(begun, { timeout: 50_000, interval: 20 }).toBe(true);
  child.kill('SIGINT');
  expect(await ended).toEqual([130, null]);
  expect(await readdir(scratch)).toEqual([]);
  const report = await readReport(json);
  expect(report.interrupted).toBe(true);
  expect(report.cases.map(({ name }) => name)).toEqual(['version']);
});
