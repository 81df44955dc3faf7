/** Which changes of an execution the audit looks at: all of an agent, of tools and checks those that concern tests. */
import type { Reached } from '../../core/policy/check-commands.ts';
import { isLockFile, isOfChecks, isOutput } from '../../core/policy/check-files.ts';
import { isInstalled, isSourceCode, isTestFile } from '../../core/policy/test-files.ts';
import { DamagedStore } from '../../platform/files/workspace-error.ts';
import { diff } from '../../workspace/diff.ts';
import type { Snapshot, Snapshots } from '../../workspace/snapshot.ts';
import type { Work } from './evidence.ts';
import { mayReplace } from './replaced.ts';

export type About = {
  /** Paths of the files at the start of the run. */
  readonly start: ReadonlySet<string>;
  readonly reached: Reached;
  /** The same, of the commands of one execution. */
  readonly reachedOf: (work: Work) => Promise<Reached>;
  /** Whether the run began with tests, or with what its checks run. */
  readonly hadChecks: boolean;
  readonly began: string;
  readonly timeOf: (path: string) => number;
  /** Targets of make that are dated in the future. */
  readonly future: readonly string[];
};

/** What an agent may choose dependencies by. */
const manifest =
  /(?:^|\/)(?:package\.json|requirements[^/]*\.txt|pyproject\.toml|setup\.(?:py|cfg)|Pipfile|Gemfile|composer\.json)$/;

/** Which paths of an execution count. */
export async function watchedBy(
  works: readonly Work[],
  snapshots: Snapshots,
  end: Snapshot,
  about: About,
): Promise<(work: Work) => Promise<(path: string) => boolean>> {
  const byAgents = new Set<string>();
  for (const work of works)
    if (work.by === 'agent' || work.isOwn)
      for (const path of await pathsOf(work, snapshots)) byAgents.add(path);
  const paths = [...end.tree.keys()].filter((path) => !isInstalled(path));
  const isChoice = paths.some(isLockFile) ? isLockFile : (path: string) => manifest.test(path);
  const chosen = [...byAgents].some((path) => !isInstalled(path) && isChoice(path));
  return async (work) => {
    if (work.by === 'agent') return () => true;
    if (!work.isVisit || work.isOwn) return () => false;
    const installs = !chosen && (await about.reachedOf(work)).installs;
    return (path) => (isInstalled(path) && installs ? false : concernsChecks(path, about));
  };
}

const concernsChecks = (path: string, about: About): boolean =>
  mayReplace(path, about) ||
  isOfChecks(path) ||
  isTestFile(path) ||
  about.reached.runs(path) ||
  about.reached.includes(path) ||
  (isSourceCode(path) && !isOutput(path));

async function pathsOf({ before, after }: Work, snapshots: Snapshots): Promise<readonly string[]> {
  try {
    const { created, modified } = diff(await snapshots.load(before), await snapshots.load(after));
    return [...created, ...modified];
  } catch (error) {
    if (error instanceof DamagedStore) return [];
    throw error;
  }
}
