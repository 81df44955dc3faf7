/** Several agents in order: the next one is asked where the one before could not answer. */
import type { Usage } from '../core/budget/usage.ts';
import type { Agent, AgentReport, AgentTask } from '../core/contracts/agent.ts';
import type { Json } from '../core/json.ts';
import type { AnsweredBy } from '../core/outcome.ts';

type Failed = Extract<AgentReport, { kind: 'failed' }>;

/** Network, server or machine failed it, its program is missing, its quota is used up or its login is missing: none of
 *  that is about the work. A broken answer, a timeout or a stall is the agent's own failure, and no reason for another. */
const couldNot = (report: AgentReport): report is Failed =>
  report.kind === 'failed' &&
  (report.class === 'infra' || report.missing === true || report.park !== undefined);

/** Asks in order until one answers. What one that could not answer has done to the workspace stays, as with any attempt
 *  that is made again. Where none could, the report is that of the agent that a later attempt helps best. */
export function fallbackAgent(agents: readonly Agent[]): Agent {
  return {
    name: agents.map((agent) => agent.name).join(','),
    describe: agents.map((agent) => agent.describe).join(', else '),
    each: (other) => fallbackAgent(agents.map(other)),
    answersAlone: (settings) => agents.every((agent) => agent.answersAlone?.(settings) === true),
    async work(task, signal) {
      const failed: { readonly agent: string; readonly report: Failed }[] = [];
      if (signal.aborted) return { kind: 'cancelled' };
      for (const agent of agents) {
        // An outage of one is a reason to ask the next, so each tries for itself before that.
        const report = await agent.work({ ...(agent.serving?.(task) ?? task), outageMs: 0 }, signal);
        if (report.kind === 'cancelled') return { ...report, ...history(agent.name, failed) };
        if (!couldNot(report)) return { ...named(report, agent.name), ...history(agent.name, failed) };
        failed.push({ agent: agent.name, report });
        const next = agents[failed.length];
        if (next === undefined) break;
        task.log('warn', `${agent.name} could not answer; ${next.name} is asked`, asFields(report));
        if (signal.aborted) return { kind: 'cancelled', ...spentBy(failed) };
      }
      return reportOfAll(failed);
    },
  };
}

/** An agent that cannot answer here, in a list with others. */
export const unusableAgent = (name: string, why: string): Agent => ({
  name,
  describe: `${name} (cannot answer here)`,
  free: true,
  // It does nothing: whether a list sees only prompts is said by those that can answer.
  answersAlone: () => true,
  work: async (_task: AgentTask, signal): Promise<AgentReport> =>
    signal.aborted ? { kind: 'cancelled' } : { kind: 'failed', class: 'config', reason: why, missing: true },
});

const asFields = ({ class: failureClass, reason }: Failed): Readonly<Record<string, Json>> => ({
  failure_class: failureClass,
  reason,
});

const spent = (agent: string, { usage }: { readonly usage?: Usage }): readonly Usage[] =>
  usage === undefined ? [] : [{ ...usage, agent }];

function named<R extends { readonly usage?: Usage }>(report: R, agent: string): R {
  const [usage] = spent(agent, report);
  return usage === undefined ? report : { ...report, usage };
}

/** Who answered, and who was asked before. */
function history(
  agent: string,
  failed: readonly { readonly agent: string; readonly report: Failed }[],
): { readonly by: AnsweredBy; readonly spentBefore?: readonly Usage[] } {
  const tried = failed.map(({ agent: name, report }) => ({
    agent: name,
    class: report.class,
    reason: report.reason,
  }));
  return {
    by: { agent, ...(tried.length === 0 ? {} : { tried }) },
    ...spentBy(failed),
  };
}

/** What those have used that were asked and could not answer. */
function spentBy(failed: readonly { readonly agent: string; readonly report: Failed }[]): {
  readonly spentBefore?: readonly Usage[];
} {
  const before = failed.flatMap((one) => spent(one.agent, one.report));
  return before.length === 0 ? {} : { spentBefore: before };
}

/** One report for all: a limit that may be over soon, else what passes by itself, else one that waits for a quota, else the
 *  last. */
function reportOfAll(failed: readonly { readonly agent: string; readonly report: Failed }[]): AgentReport {
  const passing = failed.find(
    ({ report }) => report.class === 'infra' && (report.park === undefined || report.park.kind === 'outage'),
  );
  const waiting = failed
    .filter(({ report }) => report.park?.kind === 'quota')
    .sort((a, b) => (a.report.park?.wakeAtMs ?? Infinity) - (b.report.park?.wakeAtMs ?? Infinity));
  const soon = failed.find(({ report }) => report.park?.unsaid === true);
  const chosen = soon ?? passing ?? waiting[0] ?? failed.at(-1);
  if (chosen === undefined) throw new Error('Internal: a list of agents without one');
  const others = failed.filter((one) => one !== chosen);
  const reason = failed.map(({ agent, report }) => `${agent}: ${report.reason}`).join('; ');
  return {
    ...named(chosen.report, chosen.agent),
    reason: `no agent could answer: ${reason}`,
    ...history(chosen.agent, others),
  };
}
