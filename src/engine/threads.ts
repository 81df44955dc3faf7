/** The conversations of agents: what the run has of them, and what an attempt keeps. */
import type { Agent, AgentReport, AgentTask, AgentThread } from '../core/contracts/agent.ts';
import { lostThread } from '../core/fidelity.ts';
import { own } from '../core/json.ts';
import type { Body } from '../core/records/body.ts';
import type { ThreadRecord } from '../core/records/visit.ts';
import { mayReadHoldout } from '../core/settings/node.ts';
import { DamagedStore } from '../platform/files/workspace-error.ts';
import type { LayerContext } from './layers/layer.ts';
import type { KeptThread, Run } from './run-context.ts';

/** The conversation of one attempt. */
export interface AttemptThread {
  /** One that begins anew has nothing of what was kept under its key. */
  open(key: string, begins: boolean): AgentThread | { readonly refused: string };
  /** The agent, each of a list by itself; asked only where it can continue the conversation of its task, or need not. */
  continuing(agent: Agent): Agent;
  /** Notes how the agent's call has ended: an agent that did not come to its end has kept nothing. */
  after(report: AgentReport): AgentReport;
  kept(): KeptThread | undefined;
}

export function attemptThread({ run, node, state, secrets }: LayerContext): AttemptThread {
  let kept: KeptThread | undefined;
  const seesHoldout = mayReadHoldout(node);
  const recorded = (key: string) => own(state.threads ?? {}, key);
  const continuing = (agent: Agent): Agent =>
    agent.each === undefined
      ? { ...agent, work: (task, signal) => workIn(recorded, agent, task, signal) }
      : agent.each(continuing);
  return {
    continuing,
    open(key, begins) {
      const last = begins ? undefined : recorded(key);
      if (last !== undefined && (last.sees_holdout === true) !== seesHoldout)
        return { refused: refusalOf(key, node.id, last.node, seesHoldout) };
      return {
        key,
        before: last && bodyText(run, last.session),
        keep(session, by = '') {
          const text = secrets.mask(session);
          kept = { key, agent: by, session: text, ...(seesHoldout ? { sees_holdout: true } : {}) };
        },
      };
    },
    after(report) {
      if (report.kind !== 'finished' && report.kind !== 'answered') kept = undefined;
      return report;
    },
    kept: () => kept,
  };
}

const refusalOf = (key: string, node: string, other: string, sees: boolean): string =>
  `the conversation "${key}" has texts of "${other}", which ${sees ? 'may not' : 'may'} read the scenarios, and "${node}" ` +
  `${sees ? 'may' : 'may not'}: give "${node}" a separate thread_id`;

/** Asks the agent, or says why it cannot continue the conversation. */
async function workIn(
  recorded: (key: string) => { readonly agent: string } | undefined,
  agent: Agent,
  task: AgentTask,
  signal: AbortSignal,
): Promise<AgentReport> {
  const { thread, ...alone } = task;
  if (thread === undefined) return agent.work(task, signal);
  const isFree = thread.begins === true || thread.lost === true;
  if (agent.threads !== true)
    return isFree
      ? agent.work(alone, signal)
      : lostThread(`the agent ${agent.name} cannot continue a conversation`);
  const last = recorded(thread.key);
  const isOwn = last === undefined || last.agent === agent.name;
  if (!isFree && !isOwn)
    return lostThread(`it was with the agent ${last.agent}, and ${agent.name} cannot continue it`);
  if (!isFree && last !== undefined && thread.before === undefined)
    return lostThread('the content store no longer has it');
  const keep = (session: string) => thread.keep(session, agent.name);
  return agent.work({ ...task, thread: { ...thread, keep } }, signal);
}

/** A text of the journal; undefined where the store no longer has it, or other bytes. */
export function bodyText({ snapshots }: Run, session: Body): string | undefined {
  if (typeof session === 'string') return session;
  try {
    return snapshots.store.read(session.sha256).toString();
  } catch (error) {
    if (error instanceof DamagedStore) return undefined;
    throw error;
  }
}

/** What a line of the journal says of a conversation; a long text is in the content store then. */
export async function threadRecord(
  { exchanges }: Pick<Run, 'exchanges'>,
  kept: KeptThread | undefined,
): Promise<ThreadRecord | undefined> {
  if (kept === undefined || exchanges === undefined) return undefined;
  return { ...kept, session: await exchanges.body(kept.session) };
}
