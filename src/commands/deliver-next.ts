/** What somebody types when his run is delivered. */
import { relative } from 'node:path';
import { branchTaken } from '../builder/deliver.ts';
import { endItFirst, underWay } from '../builder/repository.ts';
import { quoteWord } from '../policy/words.ts';
import { tellsOfDisk } from '../system/disk-trouble.ts';
import { type Environment, type Git, sourceGit } from '../system/git.ts';

/** Into a folder, whatever its name begins with. */
export const enterFolder = (folder: string): string =>
  `cd ${quoteWord(folder.startsWith('-') ? `./${folder}` : folder)}`;

/** To `branch` of the repository `source`; where git would refuse to switch to it now, only to its commits, and `notes` say
 *  why. Nothing is changed. */
export async function switchTo(
  source: string,
  branch: string,
  { cwd, env }: { readonly cwd: string; readonly env: Environment },
): Promise<{ readonly next: string; readonly notes: readonly string[] }> {
  const git = sourceGit(source, env);
  const there = relative(cwd, source) === '' ? '' : `-C ${quoteWord(source)} `;
  const why = await refusal(git, source, branch);
  if (why === undefined) return { next: `git ${there}switch ${quoteWord(branch)}`, notes: [] };
  // A tag may have its name, too, and so may a file.
  return { next: `git ${there}log --stat ${quoteWord(`refs/heads/${branch}`)}`, notes: [why] };
}

async function refusal(git: Git, source: string, branch: string): Promise<string | undefined> {
  const begun = await underWay(git, source);
  if (begun !== undefined)
    return `git would refuse to switch to it now: ${source} is amid ${begun}; ${endItFirst}`;
  const taken = await branchTaken(git, source, branch, true);
  if (taken !== undefined) return `git would refuse to switch to it now: ${taken}`;
  const why = await switchProblem(git, branch);
  if (why === undefined) return undefined;
  return tellsOfDisk(why)
    ? `git could not switch to it now: ${why}; make space first`
    : `git would refuse to switch to it now: ${why}; commit, stash (git stash -u) or move what is in the way first`;
}

/** Why `git switch` would be refused for the files that are there; undefined when it would do. */
async function switchProblem(git: Git, branch: string): Promise<string | undefined> {
  const on = await git.run(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']);
  // Untracked files count unless they are ignored, as for git switch.
  const trial = ['read-tree', '--dry-run', '-m', '-u', '--exclude-per-directory=.gitignore'];
  const tried = await git.run([...trial, ...(on.ok ? ['HEAD'] : []), `refs/heads/${branch}`]);
  if (tried.ok) return undefined;
  return tried.why.replace(/^(?:error|fatal): /, '').split('\n', 1)[0] ?? '';
}
