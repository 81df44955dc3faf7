/** Compares `result.json` with the result computed from the records of the run. */

import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import { canonicalHash, type Json, parseJson } from '../core/json.ts';
import { isPaused } from '../core/outcome.ts';
import type { Checkpoint, Mark } from '../core/records/checkpoint.ts';
import { followedLayout, layout } from '../core/records/layout.ts';
import type { Manifest } from '../core/records/manifest.ts';
import { type RunResult, runResultSchema } from '../core/records/result.ts';
import { interruptedBy } from '../core/records/stop-request.ts';
import { endingFromRecord } from '../core/step.ts';
import { treesOf } from '../git/history.ts';
import { readPlain } from '../platform/files/read.ts';
import { hashArtifact } from '../run/artifacts.ts';
import { ownHashOf } from '../run/chain.ts';
import { visitsAmong } from '../run/evidence.ts';
import { resultOf } from '../run/result.ts';
import type { RunHistory } from '../run/run-journal.ts';
import { type Findings, shortJson } from './report.ts';

const where = 'result.json';

type Fields = Readonly<Record<string, Json>>;

export type ReadResult = {
  readonly result: RunResult;
  readonly value: Fields;
  /** False for the result of an earlier end, after which the run was resumed. */
  readonly isLatest: boolean;
};

/** Reads the result of a run; undefined if there is none. */
export function readResult(runDir: string, checkpoint: Checkpoint, found: Findings): ReadResult | undefined {
  const hasEnded = checkpoint.status !== 'running';
  const file = readPlain(layout(runDir).result);
  if (file.kind !== 'text') {
    if (hasEnded)
      found.add(
        'missing',
        where,
        'the run has ended and there is no result: it was removed, or the process was killed right before it wrote the file (factory resume writes it)',
      );
    return undefined;
  }
  found.count('files');
  const value = jsonIn(file.text);
  const read = runResultSchema().safeParse(value);
  if (!read.success) {
    found.add('unreadable', where, 'it is not the JSON of a result');
    return undefined;
  }
  found.ownHash(where, ownHashOf(file.text));
  const result = read.data;
  if (result.evidence === undefined) found.add('changed', where, '"evidence" is missing');
  const isLatest = hasEnded && result.stages === checkpoint.steps;
  // Without this error an older result would keep the workspace from being checked.
  if (!isLatest && hasEnded)
    found.add(
      'missing',
      where,
      'it is the result of an earlier end: it was changed, or the process was killed right before it wrote the latest (factory resume writes it)',
    );
  // It is an object, since RunResult parsed it.
  return { result, value: value as Fields, isLatest };
}

function jsonIn(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Hashes of journals in the result of the latest end. */
export const countedBy = (read: ReadResult | undefined): Readonly<Record<string, Mark>> | undefined =>
  read?.isLatest === true ? read.result.evidence?.journals : undefined;

/** Fields that depend on the current directory or the place of the run, and those that are compared separately. */
const placed = new Set([
  'run_dir',
  'workspace',
  'next',
  'verify',
  'elapsed_ms',
  'evidence',
  'audit',
  'sha256',
  'schema_version',
]);

/** Recomputes the result from the records and compares. */
export async function checkResult(
  runDir: string,
  manifest: Manifest,
  { checkpoint, last, records, calls, whole }: RunHistory,
  { result, value, isLatest }: ReadResult,
  found: Findings,
): Promise<void> {
  if (!isLatest) {
    found.cannot('what result.json says: it describes an earlier end, and the run was resumed since');
    return;
  }
  const stoppedByTest = result.reason === 'test_stop' && result.status === 'failed';
  const end = endInRecords({ checkpoint, last }, stoppedByTest);
  const visits = visitsAmong(records, calls).now(whole);
  const derived = await resultOf(manifest, runDir, treesOf, end, visits, runDir);
  // A result may name a divergence that has no file, and a file may have no divergence that can be read.
  compare('', { divergence: null, ...asJson(derived) }, value, placed, found);
  const { divergence } = followedLayout(layout(runDir).followed);
  if (existsSync(divergence) && result.divergence === undefined)
    found.add('added', relative(runDir, divergence), 'result.json has no divergence');
  if (result.audit?.sha256 !== undefined) found.count('files');
  const audit = await hashArtifact(layout(runDir).audit);
  if (result.audit?.sha256 !== undefined)
    found.hash('audit.json', result.audit.sha256, audit, 'the audit at the end of the run');
  else if (audit !== undefined) found.add('added', 'audit.json', 'the run has ended without an audit');
  const { evidence } = result;
  if (evidence === undefined || derived.evidence === undefined) return;
  found.count('commands', evidence.commands.length);
  // A tree that cannot be read is reported with the history: the commit is gone, or there is no git.
  const unread = new Set(
    derived.evidence.commits.flatMap(({ commit, tree }) => (tree === null ? commit : [])),
  );
  const commits = evidence.commits.map((one) => (unread.has(one.commit) ? { ...one, tree: null } : one));
  compare(
    'evidence.',
    asJson(derived.evidence),
    asJson({ ...evidence, commits }),
    new Set(['journals']),
    found,
  );
}

const asJson = (value: object): Fields => JSON.parse(JSON.stringify(value)) as Fields;

function compare(
  prefix: string,
  derived: Fields,
  says: Fields,
  except: ReadonlySet<string>,
  found: Findings,
): void {
  for (const [name, should] of Object.entries(derived)) {
    const is = says[name] ?? null;
    if (except.has(name) || canonicalHash(is) === canonicalHash(should)) continue;
    found.add('contradiction', where, `"${prefix}${name}" is not the value that the records give`, {
      should: shortJson(should),
      is: shortJson(is),
    });
  }
}

/** The end of the run according to its state. A run that a test stops at its exit has reached that exit. */
export function endInRecords(
  { checkpoint, last }: Pick<RunHistory, 'checkpoint' | 'last'>,
  stoppedByTest = false,
) {
  const { completed_nodes: _, ...state } = checkpoint;
  const { ended, parked, status } = checkpoint;
  const none = { ok: false, exitNode: null };
  if (stoppedByTest) return { state, ending: { ...none, reason: 'test_stop', code: 1 }, interrupted: false };
  if (isPaused(status) && parked !== undefined) {
    const ending = { ...none, reason: `${parked.node}: ${parked.reason}`, code: 75 };
    return { state, ending, interrupted: false, parked };
  }
  if (ended === null) {
    const by = last.type === 'Stopped' ? interruptedBy(last) : '';
    return { state, ending: { ...none, reason: `interrupted by ${by}`, code: 130 }, interrupted: true };
  }
  return { state, ending: endingFromRecord(ended), interrupted: false };
}
