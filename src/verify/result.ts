/** `result.json` held against what the records of the run come to. */
import { existsSync } from 'node:fs';
import { resultOf } from '../engine/result.ts';
import { canonicalHash } from '../model/canonical.ts';
import type { Checkpoint } from '../model/checkpoint.ts';
import { type Json, parseJson } from '../model/json.ts';
import { followedLayout, layout } from '../model/layout.ts';
import type { Manifest } from '../model/manifest.ts';
import type { Mark } from '../model/mark.ts';
import { isPaused } from '../model/park.ts';
import { RunResult } from '../model/result.ts';
import { hashFile } from '../store/artifact-hashes.ts';
import { ownHashOf } from '../store/own-hash.ts';
import { readPlain } from '../system/read.ts';
import type { Fact } from './journals.ts';
import type { Findings } from './report.ts';

const where = 'result.json';

export type ReadResult = {
  readonly result: RunResult;
  readonly value: Readonly<Record<string, Json>>;
  /** False for the result of an earlier end, after which the run went on. */
  readonly isLatest: boolean;
};

/** Reads the result of a run; undefined where there is none. */
export async function readResult(
  runDir: string,
  checkpoint: Checkpoint,
  found: Findings,
): Promise<ReadResult | undefined> {
  const file = readPlain(layout(runDir).result);
  if (file.kind !== 'text') {
    if (checkpoint.status !== 'running')
      found.add(
        'missing',
        where,
        'the run has ended and there is no result: it was taken away, or its engine was killed right before it wrote it (factory resume writes it)',
      );
    return undefined;
  }
  found.count('files');
  const { text } = file;
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    found.add('unreadable', where, 'it is no JSON any more');
    return undefined;
  }
  const read = RunResult.safeParse(value);
  if (!read.success) {
    found.add('unreadable', where, 'it is no result of this version any more');
    return undefined;
  }
  const result = read.data;
  const own = ownHashOf(text);
  if (own.says === '' && result.evidence === undefined)
    found.cannot('result.json by its own hash: an earlier version wrote none');
  else if (own.says === '')
    found.add('changed', where, 'the hash of its own is gone, or does not end the file any more');
  else if (own.is !== own.says)
    found.add('changed', where, 'the file is not what was written there', { should: own.says, is: own.is });
  const isLatest = checkpoint.status !== 'running' && result.stages === checkpoint.steps;
  // Else who makes it an older one would keep the workspace from being looked at.
  if (!isLatest && checkpoint.status !== 'running')
    found.add(
      'missing',
      where,
      'it tells of an earlier end than the run has come to: it was changed, or the engine was killed right before it wrote that of this one (factory resume writes it)',
    );
  // RunResult has read it, so it is an object.
  return { result, value: value as Readonly<Record<string, Json>>, isLatest };
}

/** Marks of journals that a result of the latest end vouches for. */
export const countedBy = (read: ReadResult | undefined): Readonly<Record<string, Mark>> | undefined =>
  read?.isLatest === true ? read.result.evidence?.journals : undefined;

/** Fields that depend on where the command was typed, or where the run lies. */
const placed = new Set([
  'run_dir',
  'workspace',
  'next',
  'verify',
  'elapsed_ms',
  'evidence',
  'audit',
  'divergence',
  'sha256',
  'schema_version',
]);

/** Makes the result again from the records and compares. `facts` are the trace's. */
export async function checkResult(
  runDir: string,
  manifest: Manifest,
  checkpoint: Checkpoint,
  read: ReadResult,
  facts: readonly Fact[],
  found: Findings,
): Promise<void> {
  if (!read.isLatest) {
    found.cannot('what result.json says: it tells of an earlier end, and the run went on since');
    return;
  }
  // A run that is told to stop at its exit has reached it all the same.
  const stoppedByTest = read.result.reason === 'test_stop' && read.result.status === 'failed';
  const derived = await resultOf(
    manifest,
    runDir,
    endOf(checkpoint, facts, stoppedByTest),
    runDir,
    undefined,
    {},
  );
  const again = JSON.parse(JSON.stringify(derived)) as Readonly<Record<string, Json>>;
  compare('', without(again, placed), without(read.value, placed), found);
  checkDivergence(runDir, again['divergence'], read.value['divergence'], found);
  await checkAudit(runDir, read.result, found);
  const { evidence } = read.result;
  if (evidence === undefined || derived.evidence === undefined) return;
  found.count('commands', evidence.commands.length);
  const { journals: _, chain, ...rest } = derived.evidence;
  const { journals: __, chain: says, ...told } = evidence;
  if (chain !== says)
    found.add('contradiction', where, '"evidence.chain" is not that of visits.jsonl', {
      should: chain,
      is: says,
    });
  // A tree that cannot be read is told of where the history is: the commit is gone, or git is not there.
  const unread = new Set(rest.commits.flatMap(({ commit, tree }) => (tree === null ? [commit] : [])));
  const commits = told.commits.map((one) => (unread.has(one.commit) ? { ...one, tree: null } : one));
  compare('evidence.', asJson(rest), asJson({ ...told, commits }), found);
}

/** Where a replay left its record: a file of its own has it, and the result says the same. */
function checkDivergence(
  runDir: string,
  tells: Json | undefined,
  should: Json | undefined,
  found: Findings,
): void {
  const path = followedLayout(layout(runDir).followed).divergence;
  const isThere = existsSync(path);
  if (isThere === (should !== undefined) && canonicalHash(tells ?? null) === canonicalHash(should ?? null))
    return;
  found.add(
    !isThere ? 'missing' : should === undefined ? 'added' : 'changed',
    path.slice(runDir.length + 1),
    'it does not tell what the result says of where the replay left its record',
    { should: short(should ?? null), is: short(tells ?? null) },
  );
}

/** The audit at the end of the run, whose hash the result has. */
async function checkAudit(runDir: string, { audit }: RunResult, found: Findings): Promise<void> {
  const is = await hashFile(layout(runDir).audit);
  if (audit === undefined) {
    if (is !== undefined) found.add('added', 'audit.json', 'the run has ended without an audit');
  } else if (audit.sha256 === undefined)
    found.cannot('what audit.json says: an earlier version recorded no hash of it');
  else {
    found.count('files');
    found.hash('audit.json', audit.sha256, is, 'the audit at the end of the run');
  }
}

const asJson = (value: object) => JSON.parse(JSON.stringify(value)) as Readonly<Record<string, Json>>;
const without = (value: Readonly<Record<string, Json>>, names: ReadonlySet<string>) =>
  Object.fromEntries(Object.entries(value).filter(([name]) => !names.has(name)));

function compare(
  prefix: string,
  comes: Readonly<Record<string, Json>>,
  says: Readonly<Record<string, Json>>,
  found: Findings,
): void {
  // Of an earlier version's result, fields that it did not know are missing.
  for (const [name, should] of Object.entries(comes)) {
    const is = says[name];
    if (is === undefined || canonicalHash(is) === canonicalHash(should)) continue;
    found.add('contradiction', where, `"${prefix}${name}" is not what the records come to`, {
      should: short(should),
      is: short(is),
    });
  }
}

const short = (value: Json): string => {
  const text = JSON.stringify(value);
  return text.length > 200 ? `${text.slice(0, 199)}…` : text;
};

/** How the run ended, as its engine told it. */
function endOf(checkpoint: Checkpoint, facts: readonly Fact[], stoppedByTest: boolean) {
  const { completed_nodes: _, ...state } = checkpoint;
  const { ended, parked, status } = checkpoint;
  const none = { ok: false, exitNode: null };
  if (stoppedByTest) return { state, ending: { ...none, reason: 'test_stop', code: 1 }, interrupted: false };
  if (isPaused(status) && parked !== undefined) {
    const ending = { ...none, reason: `${parked.node}: ${parked.reason}`, code: 75 };
    return { state, ending, interrupted: false, parked };
  }
  if (ended === null) {
    const signal = facts.findLast(({ type }) => type === 'PipelineInterrupted')?.signal ?? '';
    return { state, ending: { ...none, reason: `interrupted by ${signal}`, code: 130 }, interrupted: true };
  }
  const { exit_node: exitNode, ok, reason, code } = ended;
  return { state, ending: { exitNode, ok, reason, code }, interrupted: false };
}
