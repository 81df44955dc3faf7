/** How a run stands and what it tells: checkpoint, visits, events and trace, each by itself and against the others. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalHash } from '../model/canonical.ts';
import type { Checkpoint } from '../model/checkpoint.ts';
import type { Json } from '../model/json.ts';
import { exchangesLayout, layout } from '../model/layout.ts';
import type { Mark } from '../model/mark.ts';
import type { RunRecord, VisitRecord } from '../model/visit-record.ts';
import { linkOf } from '../store/chain.ts';
import { type Loaded, loadCheckpoint, type Vouched } from '../store/checkpoint.ts';
import { lines } from '../store/journal-read.ts';
import { ownHashOf } from '../store/own-hash.ts';
import { readVisits, stateAfter } from '../store/visits.ts';
import { checkMark, type Fact, type ReadFacts, readFacts } from './journals.ts';
import type { Findings } from './report.ts';

export type Standing = {
  readonly checkpoint: Checkpoint;
  readonly vouched: Vouched;
  readonly records: readonly RunRecord[];
};

/** The checkpoint and the visits that it counts; undefined where they cannot be read. */
export async function checkStanding(runDir: string, found: Findings): Promise<Standing | undefined> {
  const at = layout(runDir);
  let loaded: Loaded;
  const answer = await loadCheckpoint(at.checkpoint);
  if (answer.ok) loaded = answer;
  else {
    const where = answer.why.startsWith(at.visits) ? 'visits.jsonl' : 'checkpoint.json';
    found.add(answer.missing ? 'missing' : 'unreadable', where, answer.why);
    return undefined;
  }
  found.count('files', 2);
  const text = await readFile(at.checkpoint, 'utf8');
  const { vouched, checkpoint } = loaded;
  const own = ownHashOf(text);
  if (vouched.visits_sha256 === undefined && own.says === '')
    found.cannot('checkpoint.json by its own hash: an earlier version wrote none');
  else if (own.says === '')
    found.add('changed', 'checkpoint.json', 'the hash of its own is gone, or does not end the file any more');
  else if (own.is !== own.says)
    found.add('changed', 'checkpoint.json', 'the file is not what was written there', {
      should: own.says,
      is: own.is,
    });
  const visits = await readVisits(at.visits, vouched.visits_seq);
  if (!visits.ok) {
    found.add('unreadable', 'visits.jsonl', visits.why);
    return undefined;
  }
  found.count('visits', visits.records.length - 1);
  compareState(JSON.parse(text) as Record<string, Json>, stateAfter(visits.records), found);
  return { checkpoint, vouched, records: visits.records };
}

/** What the checkpoint says and the visits come to. */
function compareState(says: Readonly<Record<string, Json>>, comes: Checkpoint, found: Findings): void {
  const told: Readonly<Record<string, unknown>> = comes;
  for (const key of [
    'completed_nodes',
    'retry_counts',
    'context',
    'next_node',
    'arrived',
    'steps',
    'last_outcome',
    'last_failure',
  ]) {
    const said = says[key];
    const value = JSON.parse(JSON.stringify(told[key] ?? null)) as Json;
    if (said === undefined || canonicalHash(said) === canonicalHash(value)) continue;
    found.add('contradiction', 'checkpoint.json', `"${key}" is not what the visits come to`, {
      should: shortJson(value),
      is: shortJson(said),
    });
  }
}

const shortJson = (value: Json): string => {
  const text = JSON.stringify(value);
  return text.length > 200 ? `${text.slice(0, 199)}…` : text;
};

/** The journals of a run and what `result.json` counted of them, where it tells of the run's latest end. `hasNext`: the
 *  manifest is the one that the checkpoint expected. `wentOn` in the answer: a resume has begun since that end. */
export async function checkStory(
  runDir: string,
  runId: string,
  standing: Standing,
  counted: Readonly<Record<string, Mark>> | undefined,
  { begins, hasNext }: { readonly begins: number; readonly hasNext: boolean },
  found: Findings,
): Promise<{
  readonly events: ReadFacts;
  readonly trace: ReadFacts;
  readonly underWay: boolean;
  readonly wentOn: boolean;
}> {
  const at = layout(runDir);
  const { vouched, records, checkpoint } = standing;
  const read = (path: string, where: string) => readFacts(path, where, runId, found);
  const visits = await read(at.visits, 'visits.jsonl');
  const events = await read(at.events, 'events.jsonl');
  const trace = await read(at.trace, 'trace.jsonl');
  const calls = await read(at.calls, 'calls.jsonl');
  const asked = exchangesLayout('exchanges').calls;
  const exchanges = linesIn(join(runDir, asked));
  const all: Readonly<Record<string, ReadFacts>> = {
    'visits.jsonl': visits,
    'events.jsonl': events,
    'trace.jsonl': trace,
    'calls.jsonl': calls,
    [asked]: exchanges,
  };
  const ownVisits = vouched.visits_sha256;
  if (ownVisits === undefined)
    found.cannot('whether lines of visits.jsonl were changed: an earlier version recorded no hash of them');
  else
    checkMark(
      visits,
      'visits.jsonl',
      { records: vouched.visits_seq, sha256: ownVisits },
      'the checkpoint',
      found,
    );
  for (const [where, mark] of Object.entries(vouched.journals ?? {}))
    checkMark(all[where] ?? visits, where, mark, 'the checkpoint', found);
  const sessions = (facts: readonly Fact[], from: number) => facts.slice(from).map(({ type }) => type);
  // Nothing goes on behind an exit.
  const goesOn = checkpoint.status !== 'completed' && checkpoint.ended?.exit_node == null;
  /** An engine that was killed since the run's end was told has begun to tell more, or has taken changes over; a power cut
   *  may have cost what it told, and kept what it then did. */
  const wentOn =
    goesOn &&
    (visits.hashes.length > vouched.visits_seq ||
      (hasNext && checkpoint.parked === undefined) ||
      (counted !== undefined &&
        (sessions(events.facts, counted['events.jsonl']?.records ?? 0)[0] === 'PipelineStarted' ||
          sessions(trace.facts, counted['trace.jsonl']?.records ?? 0)[0] === 'SessionInitialized')));
  const killed = counted === undefined || wentOn || checkpoint.status === 'running';
  for (const [where, one] of Object.entries(all)) {
    found.count('records', one.hashes.length);
    const mark = counted?.[where];
    if (counted !== undefined) {
      checkMark(one, where, mark ?? { records: 0, sha256: '' }, 'result.json', found);
      if (!killed && one.hashes.length > (mark?.records ?? 0))
        found.add('added', where, 'there are more records than the run had written at its end', {
          should: `${mark?.records ?? 0} records`,
          is: `${one.hashes.length} records`,
        });
    }
    if (one.torn > 0 && !killed) {
      const what = `the last ${one.torn} bytes are no whole line`;
      if (goesOn)
        found.cannot(`the end of ${where}: ${what}, as a resume that was killed at once leaves them`);
      else found.add('added', where, `${what}, and the run was not cut off`);
    }
  }
  if (killed && counted === undefined)
    found.cannot(
      'the last lines of events.jsonl and trace.jsonl: the engine was killed before it vouched for them',
    );
  const finished = records.flatMap((record) =>
    record.type === 'Visit' && record.seq > begins ? [record] : [],
  );
  // Of an end that a resume has told in place of who was killed, the story may lack the last lines.
  const lacks = ({ facts }: ReadFacts) => killed || facts.at(-1)?.type.startsWith('Pipeline') !== true;
  followVisits(events.facts, 'events.jsonl', endsStage, 'PipelineStarted', finished, lacks(events), found);
  followVisits(trace.facts, 'trace.jsonl', endsNode, 'SessionInitialized', finished, lacks(trace), found);
  return { events, trace, underWay: isUnderWay(trace.facts, records), wentOn };
}

/** The exchanges, whose lines carry hashes of their own and no numbers. */
function linesIn(path: string): ReadFacts {
  const hashes: string[] = [];
  let torn = 0;
  for (const { bytes, whole } of lines(path)) {
    if (whole) hashes.push(linkOf(hashes.at(-1) ?? '', bytes));
    else torn = bytes.length;
  }
  return { facts: [], hashes, torn };
}

const endsStage = ({ type }: Fact): boolean => type === 'StageCompleted' || type === 'StageFailed';
const endsNode = ({ type }: Fact): boolean => type === 'NodeOutputCaptured';

/** Whether the last visit that began was not carried to its end. A kill may have cost the line that tells of it: the
 *  visit's own record counts, too. */
function isUnderWay(facts: readonly Fact[], records: readonly RunRecord[]): boolean {
  const began = facts.findLastIndex(({ type }) => type === 'NodeInputCaptured');
  const { node, visit } = facts[began] ?? {};
  const isRecorded = records.some((one) => one.type === 'Visit' && one.node === node && one.visit === visit);
  return began >= 0 && !isRecorded && !facts.slice(began).some(endsNode);
}

/** Ends of visits that were lost after they were told: of a power cut the story may be left where the checkpoint is not,
 *  and then the next session makes that visit again. One whose record is of the session that told it was not lost. */
function madeAgain(
  facts: readonly Fact[],
  ends: (fact: Fact) => boolean,
  begins: string,
  visits: readonly VisitRecord[],
): ReadonlySet<Fact> {
  const isKept = (told: Fact) =>
    visits.some(
      ({ node, visit, epoch }) => node === told.node && visit === told.visit && epoch <= told.epoch,
    );
  const lost = new Set<Fact>();
  let last: Fact | undefined;
  let begun = false;
  for (const fact of facts) {
    if (fact.type === begins) begun = true;
    if (!ends(fact)) continue;
    if (begun && last?.node === fact.node && last.visit === fact.visit && !isKept(last)) lost.add(last);
    last = fact;
    begun = false;
  }
  return lost;
}

/** A story must tell of the same visits, in the same order, with the same outcomes. A kill may have cost the last of
 *  them, and then the next session begins. */
function followVisits(
  facts: readonly Fact[],
  where: string,
  ends: (fact: Fact) => boolean,
  begins: string,
  visits: readonly VisitRecord[],
  killed: boolean,
  found: Findings,
): void {
  let at = 0;
  let mayLose = 0;
  const words = (visit: VisitRecord | undefined) =>
    visit === undefined ? 'nothing more' : `${visit.node}@${visit.visit} ${visit.outcome.status}`;
  const again = madeAgain(facts, ends, begins, visits);
  for (const fact of facts) {
    if (fact.type === begins) mayLose = at > 0 || fact.seq > 1 ? 1 : 0;
    if (!ends(fact) || again.has(fact)) continue;
    const tells = `${fact.node}@${fact.visit} ${fact.outcome}`;
    if (words(visits[at]) !== tells && mayLose > 0 && words(visits[at + 1]) === tells) at += 1;
    mayLose = 0;
    if (words(visits[at]) !== tells) {
      found.add('contradiction', where, `record ${fact.seq} tells of another visit than visits.jsonl`, {
        should: words(visits[at]),
        is: tells,
      });
      return;
    }
    at += 1;
  }
  const left = visits.length - at;
  if (left > mayLose + (killed ? 1 : 0))
    found.add('contradiction', where, 'it does not tell of all visits', {
      should: words(visits[at]),
      is: 'nothing more',
    });
}
