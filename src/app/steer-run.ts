/** Gives the next agent of a run a note: checks it against the state of the run, and links its file. Takes no lock and needs nothing of
 *  the run. */
import { basename } from 'node:path';
import { regionsOf } from '../core/branches.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { branchesOf } from '../core/fork.ts';
import { type Graph, graphsIn, withoutItems } from '../core/graph.ts';
import { asksAgents } from '../core/pipeline.ts';
import { masker } from '../core/policy/mask.ts';
import { textsToMask } from '../core/policy/secrets.ts';
import type { Manifest } from '../core/records/manifest.ts';
import { longestNote, type SteeringNote } from '../core/records/note.ts';
import { longestAnswer } from '../core/records/question.ts';
import { linkNote } from '../run/note-files.ts';
import { openRun } from '../run/open-run.ts';
import type { RunHistory } from '../run/run-journal.ts';
import { commandFor, recordAct } from './acts.ts';
import type { AnswerHost } from './answer-run.ts';
import type { SteerReport } from './answers.ts';
import { giverName, isInsideRun } from './given.ts';
import { noteRow } from './inspect/notes.ts';
import { type InspectHost, inspectRow } from './inspect/rows.ts';
import { storedGraph } from './read-pipeline.ts';
import { flagWords } from './typed-command.ts';

export type SteerRequest = {
  readonly text: string;
  /** Only for agents of this branch. */
  readonly branch?: string | undefined;
  /** By default the user of this process. */
  readonly by?: string | undefined;
  readonly from: 'command' | 'page' | 'api' | 'library';
};

/** Gives the note. Nothing is written where it is refused. */
export async function steerRun(
  runDir: string,
  request: SteerRequest,
  host: AnswerHost,
): Promise<{ readonly note: SteeringNote } | Refusal> {
  const recorded = await openRun(runDir).stored();
  if ('problems' in recorded) return recorded;
  const { manifest, history } = recorded;
  const problem = steerProblem(runDir, manifest, history, request);
  if (problem !== undefined) return problem;
  const mask = masker(textsToMask(host.env));
  const { branch } = request;
  const note = await linkNote(runDir, {
    text: mask(request.text.trim()),
    ...(branch === undefined ? {} : { branch }),
    by: mask(giverName(request.by)).slice(0, longestAnswer.by),
    at: host.clock.now().toISOString(),
    from: request.from,
  });
  noteAct(runDir, note, host);
  return { note };
}

/** The line in `acts.jsonl`; without it, on a full disk, the note is there all the same. */
function noteAct(runDir: string, { note, by, branch }: SteeringNote, { clock }: AnswerHost): void {
  try {
    recordAct(runDir, { who: by, what: 'steer', note, ...(branch === undefined ? {} : { branch }) }, clock);
  } catch {}
}

/** What `factory steer` answers with. */
export async function reportOfNote(
  dir: string,
  { text, branch, by }: SteerRequest,
  note: SteeringNote,
  host: InspectHost,
): Promise<SteerReport> {
  const argv = ['steer', basename(dir), text, ...flagWords({ branch, by })];
  const row = await inspectRow(dir, host);
  return {
    ...{ schema_version: 1, run_id: basename(dir), command: commandFor(dir, argv, host) },
    note: noteRow(note),
    next: row?.next ?? '',
  };
}

function steerProblem(
  runDir: string,
  manifest: Manifest,
  history: RunHistory,
  { text, branch }: SteerRequest,
): Refusal | undefined {
  const { run_id } = manifest;
  if (isInsideRun(runDir, manifest))
    return refused(
      'steer-inside',
      `this is a process of run ${run_id} itself: its nodes cannot steer its agents`,
      'steer it from a terminal of your own, or on the page',
    );
  if (history.checkpoint.ended !== null)
    return refused(
      'steer-ended',
      `run ${run_id} has ended: no agent of it would get the note`,
      `fork it with the note: factory fork ${run_id} --at NODE --before --note TEXT`,
      1,
    );
  const graph = storedGraph(manifest);
  const problem = noteProblem(run_id, text, graph);
  if (problem !== undefined || graph === undefined || branch === undefined) return problem;
  return branchProblem(run_id, branch, { graph, history });
}

/** A text that is no note, or a pipeline without agents. */
export function noteProblem(run: string, text: string, graph: Graph | undefined): Refusal | undefined {
  if (text.trim() === '')
    return refused('steer-text', 'the note is empty', 'write what the agent is to know');
  if (text.length > longestNote)
    return refused(
      'steer-text',
      `the note has ${text.length} characters: the most is ${longestNote}`,
      'name a file with the rest',
    );
  if (graph === undefined || asksAgents(graph)) return undefined;
  return refused('steer-agents', `no node of run ${run} asks an agent`, 'change the pipeline');
}

/** A branch that has ended, or that the run cannot have. */
function branchProblem(
  run: string,
  branch: string,
  { graph, history }: { readonly graph: Graph; readonly history: RunHistory },
): Refusal | undefined {
  const open = branchesOf(history.checkpoint);
  const found = open.find(({ id }) => id === branch);
  if (found?.cursor.ended !== undefined)
    return refused('steer-branch', `branch ${branch} of run ${run} has ended`, 'leave out the branch');
  const written = [...graphsIn(graph)].flatMap((one) =>
    [...regionsOf(one).values()].flatMap(({ branches }) => branches.map(({ id }) => id)),
  );
  const all = [...new Set([...open.map(({ id }) => id), ...written])];
  // Of a `for_each` the pipeline names only the node of which there are several.
  if (all.includes(branch) || all.includes(withoutItems(branch))) return undefined;
  const fix = all.length === 0 ? 'leave it out' : `its branches: ${all.join(', ')}`;
  return refused('steer-branch', `run ${run} has no branch ${branch}`, fix);
}
