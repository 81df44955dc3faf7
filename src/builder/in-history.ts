/** What lies in a run's `history.git` besides git's own, and the refs that are the run's. */
import { join } from 'node:path';
import * as z from 'zod';
import { isMissing, writeJson } from '../system/files.ts';
import { type Environment, type Git, type GitCall, ownGit, processEnvironment } from '../system/git.ts';
import { assertOwnHistory, assertPlainHistory, ForeignHistory } from './history-guard.ts';
import { readRecord } from './record.ts';

export const inHistory = (historyDir: string) => ({
  settings: join(historyDir, 'factory.gitconfig'),
  start: join(historyDir, 'factory-start.json'),
  proof: join(historyDir, 'factory-proof.json'),
  /** Hashes of every text that the build has put down as its state, a line each. */
  states: join(historyDir, 'factory-states'),
  /** The sealed paths of the run, where it has any. */
  sealed: join(historyDir, 'factory-sealed.json'),
  /** What git takes no notice of in the workspace. */
  exclude: join(historyDir, 'info', 'exclude'),
  /** For commands that ask git: it stands at the run's head between stages. */
  index: join(historyDir, 'index'),
  /** For our own commits: made anew for each. */
  scratchIndex: join(historyDir, 'factory.index'),
});

/** Where the run stands. The run's own ref: what a stage does to branches does not move it. */
export const headRef = 'refs/factory/head';
export const baseRef = 'refs/factory/base';
/** The workdir's HEAD, where the run begins with another commit. */
export const copiedRef = 'refs/factory/copied';
/** The same as `headRef`, for commands that ask git where they are. */
export const branchRef = 'refs/heads/factory';

/** What HEAD of a run's history always says. */
export const headText = `ref: ${branchRef}\n`;

/** What the history began with; kept in the history for `order next` and `deliver`. */
export const HistoryStart = z.lazy(() =>
  z.object({
    version: z.literal(1),
    kind: z.enum(['none', 'folder', 'git']),
    base_commit: z.string().nullable().describe('HEAD of the workdir'),
    author: z.object({ name: z.string(), email: z.string() }),
    dirty: z.array(z.string()).describe('Tracked paths that differed from HEAD, taken into the first commit'),
    applied: z
      .record(z.string(), z.string())
      .describe('Digests of work orders that commits of the workdir say they carried out, with the commit'),
    first_commit: z.string().nullable().describe('Where the orders begin; null in an empty history'),
    left_out: z
      .array(z.string())
      .describe('Workspace paths that no commit holds; a folder stands for all below it'),
  }),
);
export type HistoryStart = z.infer<typeof HistoryStart>;

/** Rejects when the run has no history (its pipeline has no `factory order` tools). */
export const readHistoryStart = (historyDir: string): Promise<HistoryStart> =>
  readRecord(inHistory(historyDir).start, HistoryStart);

/** What the last proof by hand found; one of a run tells the engine. */
export const ProofRecord = z.lazy(() =>
  z.object({
    version: z.literal(1),
    commit: z.string(),
    needed: z.array(z.string()).describe('Files in no commit without which the checks failed'),
  }),
);
export type ProofRecord = z.infer<typeof ProofRecord>;

/** Flushed: the checkpoint after the proof says that it was written. */
export const writeProof = (historyDir: string, proof: ProofRecord): Promise<void> =>
  writeJson(inHistory(historyDir).proof, proof, { sync: true, syncFolder: true });

/** What the proof of exactly this commit could not do without: by the engine's records, which no command of the product's
 *  could write, else by what a proof has left in the history. */
export async function neededBy(
  head: string,
  {
    historyDir,
    context,
  }: { readonly historyDir: string; readonly context: Readonly<Record<string, unknown>> },
): Promise<readonly string[]> {
  const told = z.array(z.string()).safeParse(context['build.needed']);
  if (told.success && context['build.head'] === head) return told.data;
  try {
    const proof = await readRecord(inHistory(historyDir).proof, ProofRecord);
    return proof.commit === head ? proof.needed : [];
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** Git on the history; `workTree` and `indexFile` where a command needs them. Its calls reject with a ForeignHistory where
 *  there is more in it than a run puts there. */
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

/** The trees of these commits, each as git names it; none where the history cannot be read. */
export async function treesOf(
  historyDir: string,
  commits: readonly string[],
  env: Environment = processEnvironment,
): Promise<readonly string[]> {
  if (commits.length === 0 || !commits.every((name) => /^[0-9a-f]{40,64}$/.test(name))) return [];
  const names = commits.map((commit) => `${commit}^{tree}`);
  try {
    assertPlainHistory(historyDir);
    const told = await historyGit(historyDir, env).run(['rev-parse', ...names]);
    return told.ok ? told.text.split('\n') : [];
  } catch (error) {
    if (error instanceof ForeignHistory) return [];
    throw error;
  }
}
