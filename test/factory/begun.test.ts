/** What a run goes on from right after its making is what reading its records would tell. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeRun } from '../../src/engine/prepare.ts';
import { standing } from '../../src/factory/stands.ts';
import { home } from '../support/cli.ts';

test('a run that was just made stands as its files tell', async () => {
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
  const read = await standing(made.runDir);
  if ('problems' in read) throw new Error(JSON.stringify(read.problems));
  expect(made.begun?.manifest).toEqual(read.manifest);
  const { vouched, ...stands } = read.read;
  expect(made.begun?.read).toEqual({ ...stands, vouched: { visits_seq: vouched.visits_seq } });
});
