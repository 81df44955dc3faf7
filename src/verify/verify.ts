/** A run directory checked against itself, offline and without a change to it: every hash, and the chain from the spec to
 *  the commits. */
import type { Manifest } from '../model/manifest.ts';
import type { SealedFile } from '../model/sealed.ts';
import type { Environment } from '../system/git.ts';
import { checkArtifacts } from './artifacts.ts';
import { checkExchanges, checkFollowed, checkSnapshots, checkWorkspace } from './contents.ts';
import { checkDelivery, checkHistory } from './history.ts';
import { checkKept, checkManifest, checkSealed, isNext, noteSources } from './manifest.ts';
import { checkStanding, checkStory } from './records.ts';
import { Findings, type Report } from './report.ts';
import { checkResult, countedBy, readResult } from './result.ts';

export type Asked = {
  /** The absolute path of the run's directory, which may be a copy. */
  readonly runDir: string;
  readonly env: Environment;
  /** A repository and branch that the commits were delivered to. */
  readonly delivered?: { readonly repo: string; readonly branch?: string } | undefined;
  /** The beginning of the hash of all visits, as somebody has noted it at the run's end. */
  readonly chain?: string | undefined;
};

export type Verified = Report & { readonly manifest: Manifest | undefined };

/** Rejects only where a file may not be read. */
export async function verifyRun(asked: Asked): Promise<Verified> {
  const { runDir, env } = asked;
  const found = new Findings();
  const standing = await checkStanding(runDir, found);
  const manifest = await checkManifest(runDir, standing?.vouched, found);
  let sealed: readonly SealedFile[] | undefined;
  if (manifest !== undefined) {
    await checkKept(runDir, manifest, found);
    sealed = await checkSealed(runDir, manifest, env, found);
    await noteSources(manifest, found);
    await checkFollowed(runDir, manifest, found);
  }
  await checkExchanges(runDir, found);
  const { checkpoint, records = [] } = standing ?? {};
  await checkSnapshots(runDir, records, checkpoint?.snapshot ?? null, found);
  if (standing === undefined || checkpoint === undefined || manifest === undefined) {
    found.cannot(
      'visits, artifacts, commits and the result against each other: a file that tells of them cannot be read',
    );
    return { ...found.report(), manifest };
  }
  const chain = standing.vouched.visits_sha256 ?? '';
  if (asked.chain !== undefined && !chain.startsWith(asked.chain.toLowerCase()))
    found.add('changed', 'visits.jsonl', 'the visits have another hash than the one that was noted', {
      should: asked.chain,
      is: chain,
    });
  if (manifest.run_id !== checkpoint.run_id)
    found.add('contradiction', 'manifest.json', 'it is the manifest of another run', {
      should: checkpoint.run_id,
      is: manifest.run_id,
    });
  const result = await readResult(runDir, checkpoint, found);
  const told = {
    begins: manifest.forked_from?.seq ?? 1,
    hasNext: await isNext(runDir, standing.vouched),
  };
  const story = await checkStory(runDir, checkpoint.run_id, standing, countedBy(result), told, found);
  await checkArtifacts(runDir, manifest, records, checkpoint.next_node, found);
  const { underWay } = story;
  const isTold = result?.isLatest === true && !story.wentOn;
  await checkWorkspace(runDir, manifest, checkpoint, { underWay, isTold, sealed }, found);
  await checkHistory({ dir: runDir, manifest, checkpoint, records, underWay }, env, found);
  if (result !== undefined) {
    const latest = { ...result, isLatest: isTold };
    await checkResult(runDir, manifest, checkpoint, latest, story.trace.facts, found);
  }
  if (asked.delivered !== undefined) {
    const { repo, branch = `factory/${manifest.run_id}` } = asked.delivered;
    await checkDelivery(checkpoint, { repo, branch }, env, found);
  }
  return { ...found.report(), manifest };
}
