/** The run that a `factory order` tool works in, and what it finds there. */
import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { basename, delimiter, dirname, join, resolve } from 'node:path';
import * as z from 'zod';
import { orderKey } from '../core/records/build.ts';
import { inWorkspace, type Layout, layout } from '../core/records/layout.ts';
import type { CommandIo } from '../platform/command-io.ts';
import { withoutGit } from '../platform/git.ts';
import { type ToolState, toolState } from '../platform/tool-state.ts';
import type { Probe } from './verify.ts';

export const orderState = (env: Readonly<Record<string, string | undefined>>, workspace: string): ToolState =>
  toolState(orderKey, env, { path: join(workspace, inWorkspace.toolState), name: inWorkspace.toolState });

/** The run a tool works in. */
export type StepContext = {
  readonly workspace: string;
  readonly run: Layout;
  readonly runId: string;
  readonly state: ToolState;
};

/** Finds the run: from the engine's variables, from `--run DIR`, or because the current folder is `<run>/workspace`. */
export async function stepContext(
  io: CommandIo,
  run: string | undefined,
): Promise<StepContext | { readonly problem: string }> {
  const named = run === undefined ? io.env['FACTORY_RUN_DIR'] : resolve(io.cwd, run);
  const dir = named ?? (basename(io.cwd) === 'workspace' ? dirname(io.cwd) : undefined);
  if (dir === undefined || !existsSync(dir)) {
    return {
      problem: `no run to work in${dir === undefined ? '' : ` at ${dir}`}: a tool node gets it with access="run"; on the command line pass --run RUN_DIR`,
    };
  }
  const run_ = layout(dir);
  const workspace = run === undefined ? (io.env['FACTORY_WORKSPACE'] ?? run_.workspace) : run_.workspace;
  return {
    workspace,
    run: run_,
    runId: io.env['FACTORY_RUN_ID'] ?? basename(dir),
    state: orderState(io.env, workspace),
  };
}

/** The context that the engine wrote for this node; empty outside of a run. */
export async function stepUpdates(io: CommandIo): Promise<Readonly<Record<string, unknown>>> {
  const file = io.env['FACTORY_CONTEXT'];
  if (file === undefined || file === '') return {};
  return z.record(z.string(), z.unknown()).parse(JSON.parse(await readFile(file, 'utf8')));
}

/** Searches the caller's PATH, and runs python3 to find a module. */
export const probeOf = (io: CommandIo): Probe => ({
  async has(program) {
    for (const folder of (io.env['PATH'] ?? '').split(delimiter)) {
      if (folder !== '' && (await isExecutable(join(folder, program)))) return true;
    }
    return false;
  },
  async imports(module) {
    const ended = await io.spawn.run({
      argv: ['python3', '-c', `import ${module}`],
      cwd: '/',
      env: withoutGit(io.env),
      stdoutFile: '/dev/null',
      stderrFile: '/dev/null',
    });
    return ended.kind === 'exited' && ended.code === 0;
  },
});

async function isExecutable(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() === true && (found.mode & 0o111) !== 0;
}
