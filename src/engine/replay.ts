/** Answers a run's agents from the exchanges that another run recorded, until the two runs part. */
import type { Agent, AgentReport, AgentTask } from '../agents/agent.ts';
import type { Divergence, Exchange } from '../model/exchange.ts';
import type { Manifest, ReplayOf } from '../model/manifest.ts';
import { sha256 } from '../model/sha256.ts';
import type { RunRecord, VisitRecord } from '../model/visit-record.ts';
import { DamagedExchange, readBody, type StoredExchange } from '../store/exchanges.ts';
import { writeJson } from '../system/files.ts';
import type { Snapshots } from '../workspace/snapshot.ts';
import { firstDifference } from './difference.ts';
import { type Place, spellings, withoutTimes } from './normal.ts';
import type { Hidden } from './recorder.ts';
import { type Asking, type Taken, takerOf } from './replay-visit.ts';
import type { Change } from './state.ts';
import type { Log } from './watch.ts';

/** Thrown through an attempt when the record has no answer and nobody else may give one. */
export class Diverged extends Error {}

/** What a replayed attempt is handed of its site. */
export type ReplayDoor = {
  readonly node: string;
  readonly visit: number;
  /** The agent that answers where the record ends; undefined when none was chosen. */
  readonly live: Agent | undefined;
  readonly hidden: Hidden;
  readonly mask: (text: string) => string;
  /** Told the line that answers. */
  readonly replayed: (sha256: string) => void;
};

export interface Replay {
  /** False once the run has left the record. */
  readonly follows: boolean;
  agentFor(door: ReplayDoor): Agent;
  /** Before a visit begins; why the run cannot go on, or undefined. */
  enters(node: string, visit: number, step: number): Promise<string | undefined>;
  /** What the record has of a tool's or a check's visit, with the workspace and the node's folder as it left them; or why
   *  it does not fit, so that the stage must run. Undefined where nobody asks the record. */
  take(at: Asking): Promise<Taken | { readonly unlike: string } | undefined>;
  /** When a visit has ended and its edge is chosen, before the checkpoint says so. */
  left(visit: Change): Promise<string | undefined>;
}

export type Followed = {
  readonly replayOf: ReplayOf;
  /** The other run's visits from its first record on. */
  readonly records: readonly RunRecord[];
  readonly exchanges: readonly StoredExchange[];
  /** Where the texts of the exchanges lie. */
  readonly exchangesDir: string;
  /** A file that a recorded stage left in its folder, by its hash. */
  readonly artifact: (sha256: string) => string;
  /** Brings the history to where the workspace says that it stands; undefined in a run without commits. */
  readonly bringHistory: ((command: string) => Promise<void>) | undefined;
  /** Whether this run has left the record before. */
  readonly diverged: boolean;
};

/** The exchanges that count: of each call the last complete one, of calls that finished visits made. */
export function answersOf(
  records: readonly RunRecord[],
  exchanges: readonly StoredExchange[],
): ReadonlyMap<string, StoredExchange> {
  const calls = new Map<string, number>();
  for (const record of records)
    if (record.type === 'Visit') calls.set(record.node, Math.max(record.calls, calls.get(record.node) ?? 0));
  const found = new Map<string, StoredExchange>();
  for (const stored of exchanges) {
    const { node, call, complete } = stored.exchange;
    if (complete && call <= (calls.get(node) ?? 0)) found.set(keyOf(node, call), stored);
  }
  return found;
}

export const keyOf = (node: string, call: number): string => `${node} ${call}`;

export function replayOf(
  followed: Followed,
  here: {
    readonly manifest: Manifest;
    readonly runDir: string;
    readonly realRunDir: string;
    readonly variables: Readonly<Record<string, string>>;
    readonly snapshots: Snapshots;
    readonly live: boolean;
    readonly log: Log;
    /** Where it is written down that and why the run left the record. */
    readonly divergenceFile: string;
  },
): Replay {
  const { replayOf: of, records } = followed;
  const answers = answersOf(records, followed.exchanges);
  const steps = new Map<number, VisitRecord>();
  for (const record of records) if (record.type === 'Visit') steps.set(record.steps, record);
  const theirs: Place = { runId: of.run_id, dirs: [of.run_dir, ...of.aliases] };
  const ours: Place = { runId: here.manifest.run_id, dirs: [here.runDir, here.realRunDir] };
  const spelling = spellings(theirs, ours, placesOf(of));
  let follows = !followed.diverged;
  const taking = takerOf(followed, { ...here, spelling });

  /** Says that the run leaves the record; the answer is why it must stop, or undefined where it goes on live. */
  const leave = async (divergence: Divergence): Promise<string | undefined> => {
    const { node, visit, call, why } = divergence;
    await writeJson(here.divergenceFile, divergence, { sync: true, syncFolder: true });
    const where = `${node}@${visit}${call === null ? '' : `, call ${call}`}`;
    if (here.live) {
      follows = false;
      here.log('warn', 'the run leaves the record here and goes on live', { at: where, why });
      return undefined;
    }
    return `the replay of ${of.run_id} left the record at ${where}: ${why}`;
  };

  const compare = async (
    task: Pick<AgentTask, 'call' | 'prompt'>,
    recorded: Exchange,
  ): Promise<Omit<Divergence, 'node' | 'visit'> | undefined> => {
    const was = await readBody(followed.exchangesDir, recorded.prompt);
    if (was === task.prompt) return undefined;
    const then = spelling.was(was);
    const now = spelling.is(task.prompt);
    if (then === now) return undefined;
    // Tools run anew take another time, and prompts tell of it. Where somebody changed an input, the same numbers may
    // be what was changed.
    const asItWas = !of.changed.some((what) => /^(?:var|prompt) /.test(what));
    if (asItWas && withoutTimes(then) === withoutTimes(now)) return undefined;
    const recordedHash = recorded.prompt_sha256;
    const hash = sha256(task.prompt);
    const differs = firstDifference(then, now);
    return {
      call: task.call,
      kind: 'prompt',
      why: `the prompt is not the recorded one (recorded ${recordedHash.slice(0, 12)}…, now ${hash.slice(0, 12)}…): ${differs.inWords}`,
      recorded_sha256: recordedHash,
      sha256: hash,
      diff: differs.lines,
    };
  };

  const replayed = async (task: AgentTask, { exchange, sha256: line }: StoredExchange, door: ReplayDoor) => {
    const text = (body: Exchange['prompt']) => readBody(followed.exchangesDir, body);
    // Where its contents lie is known then: the snapshot of this attempt need not keep them once more.
    if (exchange.files?.changes.length === 0) await here.snapshots.load(exchange.files.after).catch(() => {});
    if (exchange.files !== null && exchange.files.changes.length > 0) {
      const after = await here.snapshots.load(exchange.files.after);
      const touched = new Set(exchange.files.changes.map(({ path }) => path));
      // Its agent has written that now.
      await here.snapshots.restore(after, (path) => touched.has(path), { times: 'now' });
    }
    for (const { name, content } of exchange.artifacts) await task.keep(name, await text(content));
    for (const action of exchange.actions) task.acted(action);
    for (const path of exchange.hidden.paths) door.hidden.paths.push(path);
    for (const path of exchange.hidden.made) door.hidden.made.push(path);
    door.hidden.sealed.push(...(exchange.hidden.sealed ?? []));
    door.replayed(line);
    // It was written by this program, and its hash was checked.
    const report = JSON.parse((await text(exchange.report ?? '')) || '{"kind":"cancelled"}') as AgentReport;
    if (report.kind === 'answered') task.onText?.(report.text, 'answer');
    return report;
  };

  return {
    get follows() {
      return follows;
    },
    agentFor(door) {
      const { live, node, visit } = door;
      return {
        name: live?.name ?? here.manifest.agent.name,
        describe: live?.describe ?? here.manifest.agent.describe,
        work: (task, signal) => work(task, signal).catch(damageStops),
      };

      async function work(task: AgentTask, signal: AbortSignal): Promise<AgentReport> {
        if (signal.aborted) return { kind: 'cancelled' };
        if (follows) {
          const stored = answers.get(keyOf(node, task.call));
          const parts =
            stored === undefined || stored.exchange.files === null
              ? {
                  call: task.call,
                  kind: 'no_record' as const,
                  why:
                    stored === undefined
                      ? 'there is no record of this call'
                      : 'what this call made of the workspace could not be recorded',
                  recorded_sha256: null,
                  sha256: sha256(task.prompt),
                  diff: '',
                }
              : await compare({ call: task.call, prompt: door.mask(task.prompt) }, stored.exchange);
          if (parts === undefined && stored !== undefined) return await replayed(task, stored, door);
          const stop = parts === undefined ? undefined : await leave({ node, visit, ...parts });
          if (stop !== undefined) throw new Diverged(stop);
        }
        if (live === undefined)
          throw new Diverged(`no agent was chosen to go on live with at ${node}@${visit}`);
        return live.work(task, signal);
      }
    },
    async take(at) {
      const was = steps.get(at.state.steps + 1);
      return follows && was !== undefined && of.run_tools !== true ? taking(at, was) : undefined;
    },
    async enters(node, visit, step) {
      if (!follows) return undefined;
      const was = steps.get(step);
      if (was?.node === node && was.visit === visit) return undefined;
      const why =
        was === undefined
          ? `the recorded run went no further than its stage ${steps.size}`
          : `the recorded run was at ${was.node}@${was.visit} then`;
      return leave({ ...noCall, node, visit, kind: 'end_of_record', why });
    },
    async left({ node, visit, now }) {
      if (!follows) return undefined;
      const was = steps.get(now.steps);
      if (was === undefined || was.next_node === now.next_node) return undefined;
      const to = (next: string | null) => (next === null ? 'the end' : `"${next}"`);
      const why = `the route is another one: it went to ${to(was.next_node)} (outcome ${was.outcome.status}), and goes to ${to(now.next_node)} (outcome ${now.last_outcome.status})`;
      return leave({ ...noCall, node, visit, kind: 'route', why });
    },
  };
}

const noCall = { call: null, recorded_sha256: null, sha256: null, diff: '' } as const;

/** A record that went bad under our hands ends the run as one that is missing does. */
const damageStops = (error: unknown): never => {
  throw error instanceof DamagedExchange ? new Diverged(`the record is damaged: ${error.message}`) : error;
};

/** The runs that a recorded one was made from, as its texts name them. */
export const placesOf = (of: ReplayOf): readonly Place[] =>
  of.ancestors.map(({ run_id, dirs }) => ({ runId: run_id, dirs }));
