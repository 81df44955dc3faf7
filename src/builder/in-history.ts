/** Factory's files and refs in a run's `history.git`, and git calls on it. */

import { join } from 'node:path';
import * as z from 'zod';
import { once } from '../model/once.ts';
import { type Environment, type Git, type GitCall, ownGit, processEnvironment } from '../system/git.ts';
import { assertOwnHistory, assertPlainHistory, ForeignHistory } from './history-guard.ts';
import { readRecord } from './record.ts';

export const inHistory = (historyDir: string) => ({
  settings: join(historyDir, 'factory.gitconfig'),
  start: join(historyDir, 'factory-start.json'),
  /** The sealed paths of the run, if it has any. */
  sealed: join(historyDir, 'factory-sealed.json'),
  /** Patterns of workspace paths that git ignores. */
  exclude: join(historyDir, 'info', 'exclude'),
  /** Seen by commands of nodes that call git; matches the run's head between nodes. */
  index: join(historyDir, 'index'),
  /** Used for factory's commits; recreated for each. */
  scratchIndex: join(historyDir, 'factory.index'),
});

/** The run's last commit. A separate ref, so that changes of branches by a node do not move it. */
export const headRef = 'refs/factory/head';
export const baseRef = 'refs/factory/base';
/** The workdir's HEAD, if the run begins with another commit. */
export const copiedRef = 'refs/factory/copied';
/** The same commit as `headRef`, as a branch for commands of nodes that call git. */
export const branchRef = 'refs/heads/factory';

/** Content of the file HEAD of every run's history. */
export const headText = `ref: ${branchRef}\n`;

/** The start of the history, stored in it for `order next` and `deliver`. */
export const historyStartSchema = once(() =>
  z.object({
    version: z.literal(1),
    kind: z.enum(['none', 'folder', 'git']),
    base_commit: z.string().nullable().describe('HEAD of the workdir'),
    author: z.object({ name: z.string(), email: z.string() }),
    dirty: z.array(z.string()).describe('Tracked paths that differed from HEAD, taken into the first commit'),
    applied: z
      .record(z.string(), z.string())
      .describe('Digests of work orders that commits of the workdir carried out, with the commit'),
    submodules: z.array(z.string()).default([]).describe('Paths of submodules, which no order can change'),
    first_commit: z.string().nullable().describe('Where the orders begin; null in an empty history'),
    left_out: z
      .array(z.string())
      .describe('Workspace paths that no commit has; a folder includes all below it'),
  }),
);
export type HistoryStart = z.infer<ReturnType<typeof historyStartSchema>>;

/** Rejects when the run has no history (its pipeline has no `factory order` tools). */
export const readHistoryStart = (historyDir: string): Promise<HistoryStart> =>
  readRecord(inHistory(historyDir).start, historyStartSchema());

/** Files in no commit that the proof of exactly this commit needed, from the context of the run. */
export function neededBy(head: string, context: Readonly<Record<string, unknown>>): readonly string[] {
  const recorded = z.array(z.string()).safeParse(context['build.needed']);
  return recorded.success && context['build.head'] === head ? recorded.data : [];
}

/** Git on the history; `workTree` and `indexFile` for commands that need them. Calls reject with a ForeignHistory if the
 *  history has settings or files that no run puts there. */
export function historyGit(
  historyDir: string,
  env: Environment,
  more: { readonly workTree?: string; readonly indexFile?: string } = {},
): Git {
  const git = ownGit({
    cwd: more.workTree ?? historyDir,
    gitDir: historyDir,
    settingsFile: inHistory(historyDir).settings,
    env,
    ...more,
  });
  const guarded =
    <T>(call: (args: readonly string[], how?: GitCall) => Promise<T>) =>
    async (args: readonly string[], how?: GitCall): Promise<T> => {
      assertOwnHistory(historyDir);
      return call(args, how);
    };
  return { run: guarded(git.run), text: guarded(git.text), list: guarded(git.list) };
}

/** The tree hashes of these commits; empty if the history cannot be read. */
export async function treesOf(
  historyDir: string,
  commits: readonly string[],
  env: Environment = processEnvironment,
): Promise<readonly string[]> {
  if (commits.length === 0 || !commits.every((name) => /^[0-9a-f]{40,64}$/.test(name))) return [];
  const names = commits.map((commit) => `${commit}^{tree}`);
  try {
    assertPlainHistory(historyDir);
    const found = await historyGit(historyDir, env).run(['rev-parse', ...names]);
    return found.ok ? found.text.split('\n') : [];
  } catch (error) {
    if (error instanceof ForeignHistory) return [];
    throw error;
  }
}
