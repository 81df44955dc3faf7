/** What an attestation is about: the last commit of a run, else the files of its workspace. */
import { join } from 'node:path';
import type { Environment } from '../../core/contracts/process.ts';
import { type Refusal, refused } from '../../core/diagnostic.ts';
import { snapshotNow } from '../../core/fork.ts';
import { layout } from '../../core/records/layout.ts';
import { treeOfFolder } from '../../git/folder-tree.ts';
import { removeTree } from '../../platform/files/remove.ts';
import { makeTemporary, temporaryOf } from '../../platform/files/temporary.ts';
import { gitMissing } from '../../platform/git.ts';
import { openSnapshots } from '../../workspace/snapshots.ts';
import type { StoredResult } from './run-facts.ts';
import type { AttestedProduct } from './statement.ts';

export async function productOf(run: StoredResult, env: Environment): Promise<AttestedProduct | Refusal> {
  const last = run.result.evidence.commits.at(-1);
  if (last === undefined) return treeOfWorkspace(run, env);
  const { commit, tree } = last;
  // The commits were verified, so git has read them.
  return tree === null
    ? refused('attest', `the tree of commit ${commit} cannot be read: ${gitMissing}?`, 'install git')
    : { commit, tree };
}

/** The tree that git would make of the workspace after the last node. The snapshot has it without the holdout. */
async function treeOfWorkspace(
  { runDir, history }: StoredResult,
  env: Environment,
): Promise<AttestedProduct | Refusal> {
  const snapshot = snapshotNow(history.checkpoint);
  if (snapshot === null) return refused('attest', 'the run has no workspace yet: there is nothing to attest');
  const at = layout(runDir);
  const scratch = await makeTemporary(temporaryOf(env), 'attest');
  try {
    const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.contents });
    const folder = join(scratch, 'workspace');
    await snapshots.checkout(snapshot, folder);
    const made = await treeOfFolder(folder, join(scratch, 'history.git'), env);
    return 'problem' in made ? { problems: [made.problem] } : { commit: null, tree: made.tree };
  } finally {
    await removeTree(scratch);
  }
}
