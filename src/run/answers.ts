/** Answers the agents of a run from the exchanges that another run recorded, until the two runs diverge. */
import type { Agent, AgentReport, AgentTask } from '../core/contracts/agent.ts';
import type { StateChange } from '../core/decision.ts';
import type { RunState } from '../core/records/checkpoint.ts';
import type { Divergence, Exchange } from '../core/records/exchange.ts';
import type { ReplayOf } from '../core/records/manifest.ts';
import type { SteeringNote } from '../core/records/note.ts';
import { type Question, questionHash, type TakenAnswer } from '../core/records/question.ts';
import type { RunRecord, SetupRecord } from '../core/records/visit.ts';
import { sha256 } from '../core/sha256.ts';
import { DamagedStore } from '../platform/files/workspace-error.ts';
import { writeJson } from '../platform/files/write.ts';
import type { Snapshots } from '../workspace/snapshot.ts';
import { firstDifference, normalForm, runNames } from './comparable.ts';
import type { Hidden } from './record.ts';
import {
  type ExecutionStart,
  type RecordedAnswer,
  type RecordedRun,
  type RecordMismatch,
  type ReplayingRun,
  recordedExecutions,
} from './recorded-executions.ts';
import { type NextInBranch, type RecordedOrder, recordedOrder } from './recorded-order.ts';

/** Thrown through an attempt when the record has no answer and no live agent may give one. */
export class Diverged extends Error {}

/** One execution of an agent node, as its attempt describes it to the replay. */
export type ReplayedNode = {
  readonly node: string;
  readonly visit: number;
  /** Of the workspace in which it works. */
  readonly snapshots: Snapshots;
  /** The agent that answers after a divergence; undefined where none is configured. */
  readonly live: Agent | undefined;
  readonly hidden: Hidden;
  readonly mask: (text: string) => string;
  /** Called with the number of the exchange that answers. */
  readonly replayed: (line: number) => void;
};

/** The execution that comes next. */
export type NextNode = {
  readonly node: string;
  readonly visit: number;
  readonly step: number;
  readonly branch: string | undefined;
};

export interface Replay {
  /** False once the run has diverged from the record. */
  readonly follows: boolean;
  agentFor(node: ReplayedNode): Agent;
  /** Before an execution begins. Returns why the run must stop, or undefined. */
  checkNode(at: NextNode): Promise<string | undefined>;
  /** Whether an execution in a branch waits for other branches, so that those that the recorded run cancelled are cancelled there too. */
  isEarly(at: NextInBranch, state: RunState): boolean;
  /** Where all branches wait, as they did not in the recorded run: why the run must stop, or undefined. */
  checkWaiting(at: NextInBranch): Promise<string | undefined>;
  /** The recorded execution of a tool or a verification, with workspace and node directory as it left them; or why it
   *  does not fit, so that the node must run. Undefined where the record does not answer nodes (any more). */
  answer(start: ExecutionStart): Promise<RecordedAnswer | RecordMismatch | undefined>;
  /** The commands that made the workspace ready for the recorded execution, and the snapshot that they left; undefined where the
   *  record does not answer. */
  setupAt(node: string, visit: number): { readonly record: SetupRecord; readonly ready: string } | undefined;
  /** The recorded answer of a person; undefined where the record does not answer (any more). Throws `Diverged` where another question
   *  was asked and the replay is not live. */
  answerTo(question: Question): Promise<TakenAnswer | undefined>;
  /** The notes of people that the recorded execution had. */
  notesAt(node: string, visit: number): readonly SteeringNote[];
  /** Those of all notes that people had given by the end of a recorded execution; none where the record is not followed. */
  notesGivenBy(node: string, visit: number): readonly SteeringNote[];
  /** When an execution has ended and its edge is chosen, before the checkpoint has it. Returns why the run must stop. */
  checkRoute(change: StateChange): Promise<string | undefined>;
}

/** The exchanges that count: of each call the last complete one, of calls that finished executions made. */
export function answersOf(
  records: readonly RunRecord[],
  exchanges: readonly Exchange[],
): ReadonlyMap<string, Exchange> {
  const calls = callsOf(records);
  const found = new Map<string, Exchange>();
  for (const exchange of exchanges) {
    const { node, call, complete } = exchange;
    if (complete && call <= (calls.get(node) ?? 0)) found.set(callKey(node, call), exchange);
  }
  return found;
}

/** How many calls the finished executions of each node made. */
export function callsOf(records: readonly RunRecord[]): ReadonlyMap<string, number> {
  const calls = new Map<string, number>();
  for (const record of records)
    if (record.type === 'Visit' && record.calls > 0) calls.set(record.node, record.calls);
  return calls;
}

export const callKey = (node: string, call: number): string => `${node} ${call}`;

/** Brings texts of a replay and of its run to one form. Times count where an input was changed: it may read like one. */
export function replayNormalForm(of: ReplayOf, here: { readonly runId: string; readonly runDir: string }) {
  const { forked_from: from } = of;
  const names = [runNames(of.run_id, of.run_dir), runNames(here.runId, here.runDir)];
  if (from !== undefined) names.push(runNames(from.run_id, from.run_dir));
  return normalForm(names, { exactTimes: of.changed.some((what) => /^(?:var|prompt) /.test(what)) });
}

export const createReplay = (recorded: RecordedRun, run: ReplayingRun): Replay =>
  new RecordReplay(recorded, run);

class RecordReplay implements Replay {
  readonly #recorded: RecordedRun;
  readonly #run: ReplayingRun;
  readonly #answers: ReadonlyMap<string, Exchange>;
  readonly #order: RecordedOrder;
  readonly #normal: (text: string) => string;
  readonly #answerFrom: ReturnType<typeof recordedExecutions>;
  readonly #notes: readonly SteeringNote[];
  #follows: boolean;

  constructor(recorded: RecordedRun, run: ReplayingRun) {
    this.#recorded = recorded;
    this.#run = run;
    this.#answers = answersOf(recorded.records, recorded.exchanges);
    this.#order = recordedOrder(recorded.records);
    this.#notes = this.#order.executions.flatMap(({ steered = [] }) => steered);
    const here = { runId: run.manifest.run_id, runDir: run.runDir };
    this.#normal = replayNormalForm(recorded.replayOf, here);
    this.#answerFrom = recordedExecutions(recorded, this.#order, { ...run, normal: this.#normal });
    this.#follows = !run.diverged;
  }

  get follows(): boolean {
    return this.#follows;
  }

  agentFor(at: ReplayedNode): Agent {
    const { agent } = this.#run.manifest;
    return {
      name: at.live?.name ?? agent.name,
      describe: at.live?.describe ?? agent.describe,
      work: (task, signal) => this.#work(at, task, signal).catch(stopOnDamage),
    };
  }

  async answer(start: ExecutionStart): Promise<RecordedAnswer | RecordMismatch | undefined> {
    const was = this.#order.execution(start.node.id, start.visit);
    const answers = this.#follows && this.#recorded.replayOf.run_tools !== true;
    return answers && was !== undefined ? this.#answerFrom(start, was) : undefined;
  }

  setupAt(node: string, visit: number): ReturnType<Replay['setupAt']> {
    const was = this.#order.execution(node, visit);
    const answers = this.#follows && this.#recorded.replayOf.run_tools !== true;
    if (!answers || was?.setup?.ready_sha256 === undefined) return undefined;
    return { record: was.setup, ready: was.before };
  }

  isEarly(at: NextInBranch, state: RunState): boolean {
    return this.#follows && this.#order.isEarly(at, state);
  }

  async checkWaiting({ node, visit }: NextInBranch): Promise<string | undefined> {
    const why = 'the recorded run had cancelled the branch by then';
    return this.#follows ? this.#diverge({ ...noCall, node, visit, kind: 'end_of_record', why }) : undefined;
  }

  async checkNode({ node, visit, step, branch }: NextNode): Promise<string | undefined> {
    if (!this.#follows) return undefined;
    const order = this.#order;
    const was = order.hasBranches ? order.execution(node, visit) : order.inOrder(step);
    if (was?.node === node && was.visit === visit && was.branch === branch) return undefined;
    const count = order.executions.length;
    const why =
      was !== undefined
        ? `the recorded run was at ${was.node}@${was.visit}`
        : order.hasBranches
          ? `none of the ${count} executions of the recorded run is this one`
          : `the recorded run has ${count} executions, and this is number ${step}`;
    return this.#diverge({ ...noCall, node, visit, kind: 'end_of_record', why });
  }

  async answerTo(question: Question): Promise<TakenAnswer | undefined> {
    const was = this.#order.execution(question.node, question.visit);
    const answer = this.#follows ? was?.answer : undefined;
    const is = questionHash(question);
    if (!this.#follows || answer?.question_sha256 === is) return answer;
    const why =
      answer === undefined
        ? 'the record has no answer to this question'
        : 'the question is not the recorded one';
    const { node, visit } = question;
    const hashes = { recorded_sha256: answer?.question_sha256 ?? null, sha256: is };
    const stop = await this.#diverge({ ...noCall, node, visit, kind: 'question', why, ...hashes });
    if (stop !== undefined) throw new Diverged(stop);
    return undefined;
  }

  notesAt(node: string, visit: number): readonly SteeringNote[] {
    return this.#order.execution(node, visit)?.steered ?? [];
  }

  notesGivenBy(node: string, visit: number): readonly SteeringNote[] {
    const end = this.#follows ? this.#order.execution(node, visit)?.at : undefined;
    return end === undefined ? [] : this.#notes.filter(({ at }) => at <= end);
  }

  async checkRoute({ node, visit, now }: Parameters<Replay['checkRoute']>[0]): Promise<string | undefined> {
    const was = this.#order.execution(node, visit);
    if (!this.#follows || was === undefined || was.next_node === now.next_node) return undefined;
    const route = (next: string | null, outcome: string) =>
      `${next === null ? 'the end' : `"${next}"`} (outcome ${outcome})`;
    const then = route(was.next_node, was.outcome.status);
    const why = `the route was to ${then} and is to ${route(now.next_node, now.last_outcome.status)}`;
    return this.#diverge({ ...noCall, node, visit, kind: 'route', why });
  }

  /** Writes the divergence down; returns why the run must stop, or undefined where it continues live. */
  async #diverge(divergence: Divergence): Promise<string | undefined> {
    const { node, visit, call, why } = divergence;
    const { run_id, live } = this.#recorded.replayOf;
    await writeJson(this.#run.divergenceFile, divergence, { sync: true, syncFolder: true });
    const at = `${node}@${visit}${call === null ? '' : `, call ${call}`}`;
    if (!live) return `the replay of ${run_id} diverged from the record at ${at}: ${why}`;
    this.#follows = false;
    this.#run.log('warn', 'the replay diverged from the record; it continues live', { at, why });
    return undefined;
  }

  async #work(at: ReplayedNode, task: AgentTask, signal: AbortSignal): Promise<AgentReport> {
    const { node, visit, live } = at;
    if (signal.aborted) return { kind: 'cancelled' };
    if (this.#follows) {
      const exchange = this.#answers.get(callKey(node, task.call));
      if (exchange?.thread === 'lost' && task.thread !== undefined && task.thread.lost !== true)
        return { kind: 'failed', class: 'agent', reason: 'as in the recorded run', threadLost: true };
      const differs = this.#mismatch(task, at.mask, exchange);
      if (differs === undefined && exchange !== undefined) return await this.#report(task, exchange, at);
      const stop =
        differs === undefined ? undefined : await this.#diverge({ node, visit, call: task.call, ...differs });
      if (stop !== undefined) throw new Diverged(stop);
    }
    if (live === undefined) throw new Diverged(`no agent is configured to continue live at ${node}@${visit}`);
    return live.work(task, signal);
  }

  /** How this call is not the recorded one; undefined where it is. */
  #mismatch(task: AgentTask, mask: (text: string) => string, exchange: Exchange | undefined) {
    if (exchange === undefined || exchange.files === null) {
      const why =
        exchange === undefined
          ? 'there is no record of this call'
          : 'the record does not have the files that this call changed';
      const hashes = { recorded_sha256: null, sha256: sha256(task.prompt) };
      return { kind: 'no_record' as const, why, ...hashes, diff: '' };
    }
    const prompt = mask(task.prompt);
    const recorded = this.#recorded.body(exchange.prompt);
    const [was, is] = [this.#normal(recorded), this.#normal(prompt)];
    if (was === is) return undefined;
    const { sentence, diff } = firstDifference(was, is);
    const why = `the prompt is not the recorded one: ${sentence}`;
    const hashes = { recorded_sha256: exchange.prompt_sha256, sha256: sha256(prompt) };
    return { kind: 'prompt' as const, why, ...hashes, diff };
  }

  /** Keeps the conversation that the recorded execution kept: agents that answer after a divergence continue it. No recorded
   *  answer needs it. */
  #keepThread({ thread }: AgentTask, { node, visit }: ReplayedNode): void {
    const kept = this.#order.execution(node, visit)?.thread;
    if (kept === undefined) return;
    try {
      thread?.keep(this.#recorded.body(kept.session), kept.agent);
    } catch (error) {
      if (!(error instanceof DamagedStore)) throw error;
    }
  }

  /** Repeats what the call did, and answers with its report. */
  async #report(task: AgentTask, exchange: Exchange, at: ReplayedNode): Promise<AgentReport> {
    const { body } = this.#recorded;
    const { snapshots } = at;
    const { files, hidden } = exchange;
    const touched = new Set(files?.changes.map(({ path }) => path));
    if (files !== null && touched.size > 0) {
      const after = await snapshots.load(files.after);
      // Build tools compare times: the files are written now.
      await snapshots.restore(after, (path) => touched.has(path), { times: 'now' });
    }
    for (const { name, content } of exchange.artifacts) await task.keep(name, body(content));
    for (const action of exchange.actions) task.acted(action);
    at.hidden.paths.push(...hidden.paths);
    at.hidden.made.push(...hidden.made);
    at.hidden.sealed.push(...(hidden.sealed ?? []));
    this.#keepThread(task, at);
    at.replayed(exchange.seq);
    const report = JSON.parse(body(exchange.report ?? 'null')) as AgentReport | null;
    if (report?.kind === 'answered') task.onText?.(report.text, 'answer');
    return report ?? { kind: 'cancelled' };
  }
}

const noCall = { call: null, recorded_sha256: null, sha256: null, diff: '' } as const;

/** A record that is damaged while it is used ends the run as a missing one does. */
const stopOnDamage = (error: unknown): never => {
  throw error instanceof DamagedStore ? new Diverged(`the record is damaged: ${error.message}`) : error;
};
