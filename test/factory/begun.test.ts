/** The state of a new run is the state that its files have. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeRun } from '../../src/engine/prepare.ts';
import { loadRunState } from '../../src/factory/stands.ts';
import { type Doors, readPipeline, startRun } from '../../src/factory.ts';
import { layout } from '../../src/model/layout.ts';
import { thisProcess } from '../../src/system/proc.ts';
import { home } from '../support/cli.ts';
import { plainFlags, quietDoors } from '../support/doors.ts';

test('a new run has the state that its files have', async () => {
  await using it = await home({ 'work/a.txt': 'a\n', 'work/b.txt': 'b\n' });
  const made = await makeRun({
    runId: 'r1',
    unique: 'x',
    runsDir: join(it.path, 'runs'),
    workdir: join(it.path, 'work'),
    exclude: [],
    signal: new AbortController().signal,
    inputs: {
      variables: {
        spec: { value: 'inputs/spec.md', file: { source: '/spec.md', sha256: '0', stored: 'spec.md' } },
      },
      files: { spec: '# A spec\n' },
      prompts: { a: { path: 'p.md', text: 'Do it', sha256: '0' } },
      schemas: {},
    },
    holdout: undefined,
    env: {},
    historian: undefined,
    goal: { much: [1, 'two'] },
    startNode: 'start',
    startedAt: '2026-01-01T00:00:00.000Z',
    keep: { 'script.json': '{}\n' },
    manifest: ({ workspace, workdirKind }) => ({
      schema_version: 1,
      run_id: 'r1',
      pipeline_path: 'p.dot',
      pipeline_file: join(it.path, 'p.dot'),
      original_workdir: join(it.path, 'work'),
      workspace_path: workspace,
      started_at: '2026-01-01T00:00:00.000Z',
      goal: { much: [1, 'two'] },
      factory_version: '1',
      node_version: process.version,
      pipeline: { text: 'digraph g {}', sha256: '0' },
      prompts: { a: { path: 'p.md', text: 'Do it', sha256: '0' } },
      schemas: {},
      variables: { spec: { value: 'inputs/spec.md' } },
      agent: { name: '', describe: '', chosen_by: '', flags: { model: 'm' } },
      base_commit: null,
      workdir_kind: workdirKind,
      marker: 'r1.x',
      caps: { max_steps: 10, max_wall_ms: null, max_tokens: 5 },
      env_pass: ['HOME'],
      sandbox: { asked: 'auto', by: 'nobody', used: 'group', why: 'it is so', enforces: [], missing: [] },
      not_enforced: [],
    }),
  });
  if ('problem' in made) throw new Error(made.problem.message);
  const read = await loadRunState(made.runDir);
  if ('problems' in read) throw new Error(JSON.stringify(read.problems));
  expect(made.begun?.manifest).toEqual(read.manifest);
  const { vouched, ...stands } = read.read;
  expect(made.begun?.read).toEqual({ ...stands, vouched: { visits_seq: vouched.visits_seq } });
});

test('a run that another process has owned since its creation is read from its files', async () => {
  await using it = await home({
    'p.dot': 'digraph g { start [shape=Mdiamond]; exit [shape=Msquare]; start -> exit }',
  });
  await mkdir(join(it.path, 'work'));
  await symlink('/', join(it.path, 'work/out'));
  const { graph } = await readPipeline('p.dot', it.path);
  if (graph === undefined) throw new Error('the pipeline is sound');
  const at = layout(join(it.path, 'runs/r1'));
  const doors: Doors = {
    ...quietDoors(it.path, { FACTORY_SANDBOX: 'none' }),
    // Logged when the run is created, before its lock is taken.
    log: (_, message) => {
      if (!message.startsWith('copied as a link') || existsSync(at.locks)) return;
      mkdirSync(at.locks);
      const { id, host, pidSpace } = thisProcess();
      const lock = {
        schema_version: 1,
        epoch: 1,
        pid: id.pid,
        start_time: id.startTime,
        pid_space: pidSpace,
        host,
        since: '2026-01-01T00:00:00.000Z',
        heartbeat: '2026-01-01T00:00:00.000Z',
        held_ms: 0,
        uptime_ms: 0,
        released: '2026-01-01T00:00:01.000Z',
      };
      writeFileSync(join(at.locks, '000001.json'), JSON.stringify(lock));
      rmSync(at.checkpoint);
    },
  };
  const flags = { ...plainFlags, workdir: 'work' };
  const ended = await startRun(graph, { runsDir: join(it.path, 'runs'), runId: 'r1' }, flags, doors);
  expect(ended).toMatchObject({ problems: [{ code: 'checkpoint' }] });
});
