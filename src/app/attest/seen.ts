/** Whether what checked the product of a run has seen it: the files of a check are those of the workspace at its execution, which may
 *  have changed since, or are in no commit. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment } from '../../core/contracts/process.ts';
import { reportedValue } from '../../core/policy/reported-keys.ts';
import { layout } from '../../core/records/layout.ts';
import { questionIdOf } from '../../core/records/question.ts';
import { type RunRecord, startRecordIn, type VisitRecord } from '../../core/records/visit.ts';
import { treeOfFolder } from '../../git/folder-tree.ts';
import { copyHistory } from '../../git/fork-history.ts';
import { treeOnCommit } from '../../git/tree-on-commit.ts';
import { removeTree } from '../../platform/files/remove.ts';
import { makeTemporary, temporaryOf } from '../../platform/files/temporary.ts';
import { openSnapshots } from '../../workspace/snapshots.ts';
import type { StoredResult } from './run-facts.ts';
import type { AttestedProduct } from './statement.ts';

/** `start`: those that the run began with, before anything was made. */
export type SeenFiles = 'attested' | 'others' | 'start';

export type Seen = {
  /** By `NODE@VISIT`, of the commands that are listed. */
  readonly byCommand: ReadonlyMap<string, SeenFiles>;
  readonly judge: SeenByJudge | undefined;
  /** The commit that was verified in a clean checkout; undefined without a proof. */
  readonly provedCommit: string | null | undefined;
};

export type SeenByJudge = {
  readonly execution: string;
  /** Of the workspace as it found it. */
  readonly tree: string | null;
  /** The commit of the run with this tree, if there is one. */
  readonly commit: string | null;
  readonly isAttested: boolean;
};

const isVisit = (record: RunRecord): record is VisitRecord => record.type === 'Visit';

/** The execution that reported what the scenarios said. */
export const judgeIn = (records: readonly RunRecord[]): VisitRecord | undefined =>
  records.filter(isVisit).findLast(({ origins: { set } }) => set['judge.total'] === 'tool');

export async function seenIn(run: StoredResult, product: AttestedProduct, env: Environment): Promise<Seen> {
  const { records, checkpoint } = run.history;
  const { evidence, proof } = run.result;
  const visits = new Map(records.filter(isVisit).map((one) => [questionIdOf(one.node, one.visit), one]));
  const start = startRecordIn(records).snapshot;
  const judge = evidence.judged === undefined ? undefined : judgeIn(records);
  const head = reportedValue(checkpoint, 'build.head');
  const provedCommit = typeof head === 'string' ? head : null;
  const listed = new Map(evidence.commands.map((one) => [questionIdOf(one.node, one.visit), one.what]));
  const checks = [...listed]
    .filter(([, what]) => what !== 'proof')
    .flatMap(([name]) => visits.get(name) ?? []);
  const ids = [...checks, ...(judge === undefined ? [] : [judge])].flatMap(({ before, after }) => [
    before,
    after,
  ]);
  const trees = await treesAt(run, [...new Set(ids)], product, env);
  const isAttested = (id: string): boolean => trees.get(id) === product.tree;
  const files = (name: string, what: string): SeenFiles => {
    const { before, after } = visits.get(name) ?? {};
    if (what === 'proof')
      return provedCommit !== null && provedCommit === product.commit ? 'attested' : 'others';
    // Nothing has changed since it ended, or it has only written what git does not have.
    if ([before, after].some((id) => id !== undefined && isAttested(id))) return 'attested';
    return before === start ? 'start' : 'others';
  };
  return {
    byCommand: new Map([...listed].map(([name, what]) => [name, files(name, what)])),
    judge: judge && judgeFacts(judge, trees, product, evidence.commits),
    provedCommit: proof === null ? undefined : provedCommit,
  };
}

function judgeFacts(
  { node, visit, before }: VisitRecord,
  trees: ReadonlyMap<string, string>,
  product: AttestedProduct,
  commits: readonly { readonly commit: string; readonly tree: string | null }[],
): SeenByJudge {
  const tree = trees.get(before) ?? null;
  return {
    execution: questionIdOf(node, visit),
    tree,
    commit: commits.findLast((one) => tree !== null && one.tree === tree)?.commit ?? null,
    isAttested: tree === product.tree,
  };
}

/** By snapshot the tree that git would make of it, where it can: on the last commit if there is one. */
async function treesAt(
  { runDir, history }: StoredResult,
  ids: readonly string[],
  { commit }: AttestedProduct,
  env: Environment,
): Promise<ReadonlyMap<string, string>> {
  const trees = new Map<string, string>();
  if (ids.length === 0) return trees;
  const at = layout(runDir);
  const scratch = await makeTemporary(temporaryOf(env), 'attest');
  try {
    const workspace = join(scratch, 'workspace');
    await mkdir(workspace);
    const snapshots = await openSnapshots({ workspace, dir: at.contents });
    const copied = join(scratch, 'history.git');
    if (commit !== null) await copyHistory(at.history, copied);
    const had = (await snapshots.load(startRecordIn(history.records).snapshot)).tree;
    for (const [n, id] of ids.entries()) {
      await snapshots.restore(await snapshots.load(id));
      const made =
        commit === null
          ? await treeOfFolder(workspace, join(scratch, `history-${n}.git`), env)
          : await treeOnCommit({ historyDir: copied, workspace, commit, had, env });
      if ('tree' in made) trees.set(id, made.tree);
    }
    return trees;
  } finally {
    await removeTree(scratch);
  }
}
