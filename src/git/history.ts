/** Factory's files and refs in a run's `history.git`, and git calls on it. */
import * as z from 'zod';
import type { Environment } from '../core/contracts/process.ts';
import { parseJson } from '../core/json.ts';
import { once } from '../core/once.ts';
import { headRef, historyLayout } from '../core/records/layout.ts';
import { readJsonRecord } from '../platform/files/json-record.ts';
import { isFolder, readPlain } from '../platform/files/read.ts';
import { type Git, type GitCall, ownGit, processEnvironment } from '../platform/git.ts';
import { assertOwnHistory, assertPlainHistory, ForeignHistory } from './guard.ts';

/** The start of the history, stored in it for `order next` and `deliver`. */
const historyStartSchema = once(() =>
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
  readJsonRecord(historyLayout(historyDir).start, historyStartSchema());

/** Where the orders begin; null in an empty history, or where that cannot be read. */
export function firstCommitOf(historyDir: string): string | null {
  const read = readPlain(historyLayout(historyDir).start);
  if (read.kind !== 'text') return null;
  try {
    return historyStartSchema().safeParse(parseJson(read.text)).data?.first_commit ?? null;
  } catch {
    return null;
  }
}

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
    settingsFile: historyLayout(historyDir).settings,
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

/** Paths of the files and links of the run's last commit; none in a run without commits. Rejects with a `GitError` where git cannot
 *  be called. */
export async function filesOfHead(historyDir: string, env: Environment): Promise<readonly string[]> {
  if (!isFolder(historyDir)) return [];
  const git = historyGit(historyDir, env);
  const head = await git.run(['rev-parse', '--verify', '--quiet', headRef]);
  return head.ok ? git.list(['ls-tree', '-r', '-z', '--name-only', head.text]) : [];
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
