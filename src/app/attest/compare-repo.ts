/** Whether a repository has the product that was attested. */
import type { Environment } from '../../core/contracts/process.ts';
import { sourceGit } from '../../platform/git.ts';
import type { AttestedProduct } from './statement.ts';

/** What differs, a sentence each. `revision`: what is compared, HEAD or a branch. */
export async function productDifferences(
  { commit, tree }: AttestedProduct,
  { repo, revision }: { readonly repo: string; readonly revision: string },
  env: Environment,
): Promise<readonly string[]> {
  const git = sourceGit(repo, env);
  const at = await git.run(['rev-parse', '--verify', '--quiet', `${revision}^{commit}`]);
  if (!at.ok) return [`${repo} has no commit ${revision}`];
  const its = await git.run(['rev-parse', '--verify', '--quiet', `${at.text}^{tree}`]);
  return [
    ...(commit === null || at.text === commit
      ? []
      : [`${revision} of ${repo} is commit ${at.text}, not ${commit}`]),
    ...(its.ok && its.text === tree
      ? []
      : [`${revision} of ${repo} has tree ${its.ok ? its.text : 'unknown'}, not ${tree}`]),
  ];
}
