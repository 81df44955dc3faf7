/** A task whose programs really run: a workspace, a node's folder, and the engine's door for agent programs. */
import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { vi } from 'vitest';
import type { Agent, AgentAction, AgentTask } from '../../src/core/contracts/agent.ts';
import { masker } from '../../src/core/policy/mask.ts';
import { environmentWithSecrets } from '../../src/core/policy/secrets.ts';
import { runAgentProgram } from '../../src/engine/agent-process.ts';
import { realSpawn } from '../../src/platform/process/spawn.ts';
import { isAlive, processId } from '../../src/platform/process/table.ts';
import { temp } from '../platform/temp.ts';
import { settingsOf, type TaskText, taskFor, type Words } from './contract.ts';

export type LogLine = { readonly level: string; readonly message: string; readonly fields: object };

export async function programTask(
  files: Readonly<Record<string, string>> = {},
  environment: Readonly<Record<string, string>> = {},
) {
  const it = await temp();
  const workspace = it.at('workspace');
  const nodeDir = it.at('work');
  const marker = randomUUID();
  for (const folder of [workspace, nodeDir, it.at('tmp')]) mkdirSync(folder);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(workspace, path)), { recursive: true });
    writeFileSync(join(workspace, path), text);
    if (text.startsWith('#!')) chmodSync(join(workspace, path), 0o755);
  }
  const env: Record<string, string> = {
    PATH: process.env['PATH'] ?? '',
    HOME: it.at('home'),
    TMPDIR: it.at('tmp'),
    ...environment,
  };
  const logged: LogLine[] = [];
  const actions: AgentAction[] = [];
  const shown: string[] = [];
  const conflicts: string[] = [];
  let mask = masker([]);
  const task = (more: TaskText = {}, signal?: AbortSignal): AgentTask =>
    taskFor({
      workspace,
      nodeDir,
      onText: (text) => shown.push(text),
      log: (level, message, fields = {}) => logged.push({ level, message, fields }),
      acted: (action) => actions.push(action),
      keep: async (name, text) => writeFileSync(join(nodeDir, name), mask(text)),
      run: (program) =>
        runAgentProgram(program, {
          spawn: realSpawn,
          runDir: it.dir,
          workspace,
          nodeDir,
          environment(keys, servers) {
            const of = environmentWithSecrets(env, { pass: servers, keys });
            mask = masker(of.mask);
            return { env: { ...of.env, FACTORY_RUN_MARKER: marker }, mask: of.mask };
          },
          keep: async (name, text) => writeFileSync(join(nodeDir, name), mask(text)),
          timeoutMs: program.timeoutMs ?? 60_000,
          signal: signal ?? new AbortController().signal,
          marker: `FACTORY_RUN_MARKER=${marker}`,
          spawned: async () => {},
          beforeSpawn: async () => {},
          wasHidden: (_, made) => conflicts.push(...made),
        }),
      ...more,
    });
  return {
    ...it,
    ...{ workspace, nodeDir, env, task, logged, actions, shown, conflicts },
    inWorkspace: () => readdirSync(workspace),
    ...nodeFiles(nodeDir),
    [Symbol.asyncDispose]: it[Symbol.asyncDispose],
  };
}

/** The agent, for tasks of the contract: they get its workspace and its attributes. */
export const inPlace = (it: {
  readonly agent: Agent;
  readonly attributes: Words;
  task(more: TaskText, signal: AbortSignal): AgentTask;
}): Agent => ({
  ...it.agent,
  work(task, signal) {
    const settings = { ...settingsOf(it.attributes), ...task.settings };
    const shown = task.onText === undefined ? {} : { onText: task.onText };
    const thread = task.thread === undefined ? {} : { thread: task.thread };
    return it.agent.work(it.task({ settings, ...shown, ...thread }, signal), signal);
  },
});

function nodeFiles(nodeDir: string) {
  const read = (name: string) => readFileSync(join(nodeDir, name), 'utf8');
  return {
    read,
    lines: (name: string) => read(name).split('\n').slice(0, -1),
    /** Settles once the program has made that file in the node's folder. */
    made: (name: string) =>
      vi.waitFor(
        () => {
          if (!existsSync(join(nodeDir, name))) throw new Error(`no ${name} yet`);
        },
        { timeout: 20_000, interval: 2 },
      ),
    isGone(name: string): boolean {
      const pid = Number(read(name));
      const id = processId(pid);
      return pid > 1 && (id === undefined || !isAlive(id));
    },
  };
}
