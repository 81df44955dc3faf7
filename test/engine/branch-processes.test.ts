/** Programs of branches that run side by side: where each works, and what is ended with it. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import type { SpawnRequest } from '../../src/core/contracts/process.ts';
import { succeeded } from '../../src/core/outcome.ts';
import { layout } from '../../src/core/records/layout.ts';
import { sandbox } from '../../src/engine/layers/sandbox.ts';
import type { Run } from '../../src/engine/run-context.ts';
import { makeFolder } from '../../src/platform/files/write.ts';
import { realSpawn } from '../../src/platform/process/spawn.ts';
import { isAlive, processId } from '../../src/platform/process/table.ts';
import { type Temp, temp } from '../platform/temp.ts';
import { onDisk } from '../support/temporary.ts';
import { rig } from './layers/rig.ts';

onDisk();

const names = { stdoutName: 'tool.stdout.txt', stderrName: 'tool.stderr.txt' };

/** Runs a program of a tool in a branch; the answer has what it was started with. */
async function inBranch(
  it: Temp,
  branch: string | undefined,
  argv: SpawnRequest['argv'],
  more: Partial<Run> = {},
) {
  const at = layout(it.dir);
  const workspace = branch === undefined ? at.workspace : join(at.scratch, '.branches/fan', branch);
  makeFolder(workspace);
  const requests: SpawnRequest[] = [];
  const spawn: Run['spawn'] = {
    run(request) {
      requests.push(request);
      return (more.spawn ?? { run: async () => ({ kind: 'exited', code: 0 }) }).run(request);
    },
  };
  const historyEnv = { GIT_DIR: at.history, GIT_WORK_TREE: at.workspace };
  const run = { workspace, historyEnv, ...(branch === undefined ? {} : { branch }), ...more, spawn };
  const node = await rig(it.dir, 'shape=parallelogram, tool_command="x"', { run });
  let env: Readonly<Record<string, string>> = {};
  await node.through(sandbox, async ({ processes, before }) => {
    env = processes.historyEnv;
    await processes.run({ argv, ...names });
    return { outcome: succeeded(), snapshot: before };
  });
  await node.close();
  return { request: requests[0], env, workspace };
}

test.for([
  [undefined, '1', {}],
  ['b', '1:b', { GIT_OPTIONAL_LOCKS: '0' }],
  ['call.start', '1:call.start', { GIT_OPTIONAL_LOCKS: '0' }],
] as const)(
  'in branch %s a program has its folder, its mark and its work tree',
  async ([branch, value, git]) => {
    await using it = await temp();
    const { request, env, workspace } = await inBranch(it, branch, ['true']);
    expect(request).toMatchObject({ cwd: workspace, marker: `FACTORY_RUN_EPOCH_m=${value}` });
    expect(request?.env).toMatchObject({
      ...{
        PWD: workspace,
        FACTORY_WORKSPACE: workspace,
        FACTORY_RUN_EPOCH_m: value,
        FACTORY_RUN_MARKER: 'm',
      },
    });
    expect(env).toEqual({ GIT_DIR: layout(it.dir).history, GIT_WORK_TREE: workspace, ...git });
    // In a sandbox paths in what it builds are those of the workspace after the join.
    expect(request?.confinement?.relocated).toEqual(
      branch === undefined ? undefined : { from: workspace, to: layout(it.dir).workspace },
    );
  },
);

test('what a program leaves behind is ended with it, and what runs in another branch goes on', async () => {
  await using it = await temp();
  const real = { spawn: realSpawn, env: { PATH: process.env['PATH'] } };
  const [left, pipe] = ['left', 'pipe'].map((name) => it.at(name)) as [string, string];
  execFileSync('mkfifo', [pipe]);
  const leaves = (file: string) => `setsid sleep 300 & echo $! > ${file}`;
  const a = inBranch(
    it,
    'a',
    ['sh', '-c', `${leaves(`${left}.a`)}; read go < ${pipe}; kill -0 $! && echo goes on`],
    real,
  );
  await vi.waitUntil(() => existsSync(`${left}.a`) && readFileSync(`${left}.a`, 'utf8') !== '', {
    timeout: 10_000,
  });
  await inBranch(await there(it, 'of b'), 'b', ['sh', '-c', leaves(`${left}.b`)], real);
  const alive = (branch: string): boolean => {
    const id = processId(Number(readFileSync(`${left}.${branch}`, 'utf8')));
    return id !== undefined && isAlive(id);
  };
  expect([alive('a'), alive('b')]).toEqual([true, false]);
  writeFileSync(pipe, 'go\n');
  await a;
  expect(readFileSync(join(layout(it.dir).node('a'), names.stdoutName), 'utf8')).toBe('goes on\n');
  expect(alive('a')).toBe(false);
});

/** A folder of its own for the records of another branch. */
async function there(it: Temp, name: string): Promise<Temp> {
  makeFolder(it.at(name));
  return { ...it, dir: it.at(name) };
}
