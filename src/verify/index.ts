/** Checks a run directory against its own records, offline and without changing it: all hashes, and the chain from the
 *  spec to the commits. */
import { basename } from 'node:path';
import type { Environment } from '../core/contracts/process.ts';
import { nextNodes, snapshotNow } from '../core/fork.ts';
import { own } from '../core/json.ts';
import { layout } from '../core/records/layout.ts';
import type { Manifest } from '../core/records/manifest.ts';
import type { Evidence } from '../core/records/result.ts';
import { judgedIn } from '../run/evidence.ts';
import { openRun } from '../run/open-run.ts';
import type { RunHistory } from '../run/run-journal.ts';
import { checkAnswers } from './answers.ts';
import { checkArtifacts } from './artifacts.ts';
import { checkBefore } from './branches.ts';
import { checkExchanges, checkFollowed, checkSnapshots, checkWorkspace } from './contents.ts';
import { checkDelivery, checkHistory } from './history.ts';
import { checkKept, checkManifest, checkSealed } from './manifest.ts';
import { checkNotes } from './notes.ts';
import { checkJournal, checkJournals } from './records.ts';
import { Findings, type Report } from './report.ts';
import { checkResult, countedBy, readResult } from './result.ts';

export type VerifyRequest = {
  /** The absolute path of the run's directory, which may be a copy. */
  readonly runDir: string;
  readonly env: Environment;
  /** The repository and branch to which the commits were delivered. */
  readonly delivered?: { readonly repo: string; readonly branch?: string } | undefined;
  /** The hash of all executions, or its first digits, recorded when the run ended. */
  readonly chain?: string | undefined;
};

export type Verified = Report & {
  readonly manifest: Manifest | undefined;
  /** What the journal says of its scenarios. */
  readonly judged?: Evidence['judged'];
};

/** Rejects only if a file cannot be read because of permissions. */
export async function verifyRun(asked: VerifyRequest): Promise<Verified> {
  const { runDir, env } = asked;
  const found = new Findings();
  const reader = openRun(runDir, 'each line');
  const history = checkJournal(reader, found);
  const manifest = await checkManifest(reader, history, found);
  if (manifest !== undefined) {
    await checkKept(runDir, manifest, found);
    await checkSealed(runDir, manifest, found);
    await checkFollowed(runDir, manifest, found);
  }
  const { checkpoint, records = [], lines = [] } = history ?? {};
  const journal = basename(layout(runDir).journal);
  checkExchanges(runDir, lines, journal, found);
  checkBefore(lines, journal, found);
  await checkSnapshots(runDir, records, checkpoint?.snapshot ?? null, found);
  if (history === undefined || checkpoint === undefined || manifest === undefined) {
    found.cannot('executions, artifacts, commits and the result: a file that they depend on cannot be read');
    return { ...found.report(), manifest };
  }
  const chain = history.whole.sha256;
  if (asked.chain !== undefined && !chain.startsWith(asked.chain.toLowerCase()))
    found.add('changed', 'journal.jsonl', 'the executions have another hash than the expected one', {
      should: asked.chain,
      is: chain,
    });
  if (manifest.run_id !== checkpoint.run_id)
    found.add('contradiction', 'manifest.json', 'it is the manifest of another run', {
      should: checkpoint.run_id,
      is: manifest.run_id,
    });
  const result = readResult(runDir, checkpoint, found);
  await checkJournals(reader, manifest, history, countedBy(result), found);
  await checkArtifacts(runDir, manifest, records, mayBeOpen(history), found);
  checkAnswers(runDir, records, found);
  checkNotes(runDir, records, found);
  const underWay = history.open.length > 0;
  const isDescribed = result?.isLatest === true;
  const workspace = { ...checkpoint, snapshot: snapshotNow(checkpoint) };
  await checkWorkspace(runDir, manifest, workspace, { underWay, isDescribed }, found);
  await checkHistory({ dir: runDir, manifest, checkpoint, records, underWay }, env, found);
  if (result !== undefined) await checkResult(runDir, manifest, history, result, found);
  if (asked.delivered !== undefined) {
    const { repo, branch = `factory/${manifest.run_id}` } = asked.delivered;
    await checkDelivery(checkpoint, { repo, branch }, env, found);
  }
  const judged = judgedIn(checkpoint);
  return { ...found.report(), manifest, ...(judged === undefined ? {} : { judged }) };
}

/** Nodes of which an execution may have begun that was not committed: those that come next, and those in which a branch was cut that
 *  nothing continues, since it was cancelled. */
function mayBeOpen({ checkpoint, lines }: RunHistory): ReadonlySet<string> {
  const open = new Set(nextNodes(checkpoint).map(({ node }) => node));
  for (const line of lines) {
    if (line.type === 'Began' && line.visit > (own(checkpoint.visits, line.node) ?? 0)) open.add(line.node);
  }
  return open;
}
