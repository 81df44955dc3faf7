/** Why a run stands as it does: in at most five lines, with evidence and the next command. */
import { existsSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { localTime } from '../../core/amounts.ts';
import type { Refusal } from '../../core/diagnostic.ts';
import { unreachable } from '../../core/json.ts';
import { overriddenIn } from '../../core/overridden.ts';
import { dueWords, giverWords, optionWords } from '../../core/question-words.ts';
import type { EndCause } from '../../core/records/checkpoint.ts';
import { layout } from '../../core/records/layout.ts';
import { interruptedBy } from '../../core/records/stop-request.ts';
import type { VisitRecord } from '../../core/records/visit.ts';
import { locksIn } from '../../run/lock.ts';
import { needsAttention } from '../../run/next-command.ts';
import type { WhyReport } from '../answers.ts';
import { executionName } from './executions.ts';
import type { FailureCard } from './failure-card.ts';
import { folderOf } from './folder.ts';
import { type CauseFacts, causeFactsNearEnd, isLongRun } from './near-end.ts';
import { failedIn } from './open-branches.ts';
import type { OpenQuestion } from './question-shapes.ts';
import { failureCardOf } from './read-failure-card.ts';
import { type InspectedRun, readForViews } from './read-run.ts';
import { type InspectHost, inspectRow } from './rows.ts';
import type { Cause } from './shapes.ts';

const most = { lines: 5, characters: 400, branches: 3 } as const;

/** What `factory why` answers with, of the run in `dir`. */
export async function inspectWhy(dir: string, host: InspectHost): Promise<WhyReport | Refusal> {
  const near = isLongRun(dir) ? await factsNearEnd(dir, host) : undefined;
  const run = near ?? (await readForViews(dir, host));
  if ('problems' in run) return run;
  const { run_id, status, question, questions } = run.row;
  const facts = 'counts' in run ? run : causeFacts(run);
  const cause = await whyOf(facts);
  const card = await cardIn(facts, cause, host);
  return { schema_version: 1, run_id, status, question, questions, ...cause, card };
}

async function factsNearEnd(dir: string, host: InspectHost): Promise<CauseFacts | undefined> {
  const row = await inspectRow(dir, host);
  return row && causeFactsNearEnd(dir, { ...row, run_id: basename(dir) }, host);
}

/** Those of a run that was read whole. */
export const causeFacts = (run: InspectedRun): CauseFacts => ({
  ...run,
  counts: {
    all: run.executions.length,
    failed: run.executions.filter(({ state }) => state === 'fail').length,
  },
});

/** The cause; of a run that runs or completed, what it does or has done. */
export async function whyOf(run: CauseFacts): Promise<Cause> {
  const { row } = run;
  const failure = row.status === 'failed' ? failureOf(run) : undefined;
  const lines = failure === undefined ? standing(run) : failure.lines;
  const shown = failure?.visit ?? openExecution(run);
  return {
    headline: row.headline,
    lines: lines
      .map((line) => line.replace(/[\p{C}\s]+/gu, ' ').trim())
      .filter((line) => line !== '')
      .slice(0, most.lines)
      .map((line) => (line.length > most.characters ? `${line.slice(0, most.characters - 1)}…` : line)),
    evidence: await evidenceFiles(run, failure?.visit),
    node: shown === undefined ? null : executionName(shown),
    next: row.next,
  };
}

/** The card of a run that needs attention; null for any other. */
export const cardIn = async (
  run: CauseFacts,
  { node }: Cause,
  host: Pick<InspectHost, 'cwd' | 'called'>,
): Promise<FailureCard | null> => (needsAttention(run.row.status) ? failureCardOf(run, node, host) : null);

/** The execution that had begun when the run stopped. */
const openExecution = ({ executions }: CauseFacts): { node: string; visit: number } | undefined => {
  const last = executions.at(-1);
  return last !== undefined && ['interrupted', 'suspended', 'running'].includes(last.state)
    ? last
    : undefined;
};

/** Lines about a failed run, and the execution that failed. */
function failureOf(run: CauseFacts) {
  const { row, history, withheld, executions } = run;
  const { last_failure: last, ended, context } = history.checkpoint;
  const visits = history.records.filter((record) => record.type === 'Visit');
  const visit =
    last === null
      ? undefined
      : visits.findLast(({ node, outcome }) => node === last.node && outcome.status === 'fail');
  // A limit or an audit ends a run whatever failed before.
  // In a run with a holdout the end quotes the reason without lines of it.
  const reasons = [last?.reason, context['last_failure.reason']].filter((one) => typeof one === 'string');
  const isLoop = ended?.cause?.kind === 'loop_stopped';
  const isCause = isLoop || ended?.exit_node !== null || reasons.some((one) => row.reason.includes(one));
  if (last === null || visit === undefined || !isCause)
    return { visit: undefined, lines: [row.reason, ...where(run)] };
  const execution = executions.find(({ node, visit: n }) => node === visit.node && n === visit.visit);
  const [branch, ...others] = failedIn(history);
  const inBranch = branch && visits.findLast((one) => executionName(one) === branch.at);
  if (branch !== undefined && inBranch !== undefined)
    return { visit: inBranch, lines: branchLines([branch, ...others], run, visit) };
  const clean = withheld(last.node) ? (execution?.reason ?? '') : (execution?.reason ?? last.reason);
  return {
    visit,
    lines: [
      `node ${executionName(visit)} failed (${last.class}): ${clean}`,
      ...(last.attribution === undefined ? [] : [`class ${last.class}: ${last.attribution.why}`]),
      after(visit, row.reason, visits, ended?.cause),
    ],
  };
}

/** Lines about a join that failed for its branches. */
function branchLines(
  branches: ReturnType<typeof failedIn>,
  { executions, row }: CauseFacts,
  join: VisitRecord,
): readonly string[] {
  const execution = executions.find((one) => executionName(one) === executionName(join));
  return [
    `join ${executionName(join)} failed: ${execution?.reason ?? row.reason}`,
    ...branches.slice(0, most.branches).map(({ id, at, class: of }) => {
      const last = executions.find((one) => executionName(one) === at);
      return `branch ${id} failed at ${at}${of === null ? '' : ` (${of})`}: ${last?.reason || 'no edge takes it'}`;
    }),
    ...(branches.length > most.branches
      ? [`and ${branches.length - most.branches} more branches failed`]
      : []),
  ];
}

function where(run: CauseFacts): string[] {
  const open = openExecution(run);
  if (open !== undefined) return [`it was executing ${executionName(open)}`];
  return run.row.at_node === null ? [] : [`it stopped before node ${run.row.at_node}`];
}

/** What came after the failure. */
function after(
  failed: VisitRecord,
  reason: string,
  visits: readonly VisitRecord[],
  cause: EndCause | undefined,
): string {
  const later = visits.slice(visits.indexOf(failed) + 1).map(({ node }) => node);
  if (later.length === 0)
    return cause?.kind === 'no_route'
      ? 'no edge takes this failure, so the run ended'
      : `the run ended: ${reason}`;
  const path = later.length > 5 ? [...later.slice(0, 2), '…', ...later.slice(-2)] : later;
  return `then: ${path.join(' → ')}`;
}

const kept = 'finished executions are kept; a resume executes that node again';

/** Lines about any other run. */
function standing(run: CauseFacts): readonly string[] {
  const { row, history } = run;
  const { parked, at } = history.checkpoint;
  const by = history.last.type === 'Stopped' ? interruptedBy(history.last) : '';
  switch (row.status) {
    case 'paused_quota':
    case 'paused_outage':
    case 'paused_auth':
    case 'paused_billing':
    case 'paused_disk':
    case 'paused_wait':
    case 'paused_cap':
      return [
        `suspended at node ${parked?.node ?? row.at_node ?? ''}: ${row.headline}`,
        row.reason,
        ...(parked === undefined ? [] : [`since ${localTime(parked.since)}`]),
        kept,
      ];
    case 'paused_answer':
      return row.question === null ? [row.reason] : askedOf(row.question, row.questions);
    case 'interrupted':
      return [
        `${row.reason === '' ? 'stopped' : row.reason}${by === '' ? '' : ` by ${by}`} at ${localTime(at)}`,
        ...where(run),
        kept,
      ];
    case 'crashed':
      return [...ownerWords(run), ...where(run), `last finished execution at ${localTime(at)}`, kept];
    case 'running':
      return [row.headline, `at this node since ${localTime(run.executions.at(-1)?.began_at ?? at)}`];
    case 'completed':
      return [`${run.counts.all} executions of nodes, ${run.counts.failed} failed on the way`];
    case 'overridden':
      return overriddenIn(history.checkpoint).flatMap(({ node, visit, class: of, reason, answered }) => [
        `${node}@${visit} failed (${of}): ${reason}`,
        `${answered.question} was answered ${giverWords(answered)} at ${localTime(answered.at)}: ${answered.answer || 'none'}`,
      ]);
    case 'failed':
    case 'unreadable':
      return [row.reason];
    default:
      return unreachable(row.status);
  }
}

/** The question, and in a line each what other branches ask. */
const askedOf = (question: OpenQuestion, all: readonly OpenQuestion[]): string[] => {
  const others = all.filter(({ id, answer }) => id !== question.id && answer === null);
  if (others.length === 0) return askedLines(question);
  return [`${question.id} asks: ${question.text}`, ...others.map(({ id, text }) => `${id} asks: ${text}`)];
};

/** The question, the result before it and its deadline; of an answered one who answered. */
function askedLines(question: OpenQuestion): string[] {
  const { id, after, options, text_to, asked_at, answer } = question;
  const choices = [...options.map(optionWords), ...(text_to === null ? [] : ['a text'])].join(', ');
  const due = dueWords(question, question.default);
  return [
    ...(after === null
      ? []
      : [
          `after ${after.node}: ${after.outcome.replaceAll('_', ' ')}${after.notes === '' ? '' : `, ${after.notes}`}`,
        ]),
    `${id} asks: ${question.text}`,
    `it takes: ${choices}`,
    `asked at ${localTime(asked_at)}${due === '' ? '' : `; ${due}`}`,
    ...(answer === null
      ? []
      : [`answered ${giverWords(answer)} at ${localTime(answer.at)}: a resume takes the answer`]),
  ];
}

/** Who had the run when it crashed. */
function ownerWords({ dir }: CauseFacts): string[] {
  const last = locksIn(dir).reduce<ReturnType<typeof locksIn>[number] | undefined>(
    (a, b) => (a === undefined || b.epoch > a.epoch ? b : a),
    undefined,
  );
  return last === undefined
    ? ['no process owns it']
    : [
        `its process (${last.pid} on ${last.host}) ended without releasing the run; last heartbeat at ${localTime(last.heartbeat)}`,
      ];
}

/** Files of the failed execution that people read first, those that exist. */
async function evidenceFiles(
  { dir, withheld }: CauseFacts,
  visit: VisitRecord | undefined,
): Promise<string[]> {
  if (visit === undefined) return existsSync(layout(dir).result) ? [layout(dir).result] : [];
  const folder = await folderOf(dir, visit);
  const names = Object.keys(visit.artifacts ?? {});
  const failing = visit.commands?.findLast(({ exit_code }) => exit_code !== 0);
  const expectations = [
    ...(failing === undefined ? [] : [failing.stderr, failing.stdout]),
    ...['verification.results.json', 'response.md', 'status.json', 'workspace.diff.json'],
  ].filter((name) => names.includes(name) && (!withheld(visit.node) || name === 'status.json'));
  return expectations
    .map((name) => `${folder}/${name}`)
    .filter((path) => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0)
    .slice(0, 3);
}
