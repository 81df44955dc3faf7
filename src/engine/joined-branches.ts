/** What the prompt of the first agent after a join says of the branches that met in it: their notes and answers. */
import { executionsOnPath, type PathPart, type PathStep } from '../core/branch-path.ts';
import { fanOutType, type Graph, isAgentType } from '../core/graph.ts';
import { joinRulesIn } from '../core/join.ts';
import { isObject, type JsonObject, own } from '../core/json.ts';
import { branchAccounts, type PastExecution } from '../core/preamble.ts';
import type { RunRecord, VisitRecord } from '../core/records/visit.ts';
import { wholeLinesOf } from './feedback.ts';
import { type Asking, cleaner, visitTexts } from './past.ts';

/** Empty where no branches have met since the latest agent on the path to this one. */
export async function joinedBranches(at: Asking, mask: (text: string) => string): Promise<string> {
  const { run, state } = at;
  const results = own(state.context, 'parallel.results');
  if (!Array.isArray(results) || isSilent(run.graph)) return '';
  const { records, exchanges } = run.past.history();
  const met = meeting(at) ?? lastMeeting(executionsOnPath(records, run.branch), state.round_step ?? 0);
  if (met === undefined || !joinRulesIn(run.graph, met).summary) return '';
  const answers = new Map(exchanges.map((one) => [`${one.node} ${one.visit}`, one]));
  const clean = cleaner(at, mask);
  const accounts: PastExecution[] = [];
  for (const result of results.filter(isObject)) {
    const steps = met.stepsOf(String(result['id']), records);
    const visit = (mostTelling(steps, result) ?? steps.at(-1))?.visit;
    const texts =
      visit === undefined
        ? undefined
        : visitTexts(
            run,
            at.node,
            { visit, output: outputOf(visit) },
            answers.get(`${visit.node} ${visit.visit}`),
          );
    accounts.push({
      ...{ node: String(result['id']), visit: 1, type: visit?.node_type ?? '', label: '' },
      outcome: outcomeIn(result),
      reason: await clean(String(result['reason'])),
      notes: await clean(texts?.notes ?? ''),
      changes:
        texts === undefined || texts.changes.length === 0
          ? []
          : (await clean(texts.changes.join('\n'))).split('\n'),
      text: await clean(texts?.text ?? ''),
    });
  }
  return branchAccounts(met.join, accounts);
}

/** Whether no fan-out of the graph wants a summary of its branches: then the journal is not read for one. */
function isSilent({ nodes }: Graph): boolean {
  const fanOuts = [...nodes.values()].filter(({ type }) => type === fanOutType);
  return fanOuts.length > 0 && fanOuts.every(({ settings }) => settings.branch_summary === false);
}

/** Of a branch that has failed its latest failure, else the latest answer of an agent. */
const mostTelling = (steps: readonly PathStep[], { status }: JsonObject): PathStep | undefined =>
  steps.findLast(({ visit: { outcome, node_type } }) =>
    status === 'fail' ? outcome.status === 'fail' : isAgentType(node_type),
  );

const outcomeIn = ({ status, failure_class: of }: JsonObject): string =>
  status === 'fail' && typeof of === 'string' ? `fail (${of})` : String(status);

function outputOf({ context: { set } }: VisitRecord): string {
  const output = own(set, 'tool.output');
  return typeof output === 'string' ? wholeLinesOf(output) : '';
}

type Meeting = {
  /** The fan-out. */
  readonly node: string;
  readonly join: string;
  stepsOf(branch: string, records: readonly RunRecord[]): readonly PathStep[];
};

/** The branches that meet in this very node. */
function meeting({ node, state: { fork } }: Asking): Meeting | undefined {
  if (fork?.join !== node.id || fork.call === true) return undefined;
  return {
    ...{ node: fork.node, join: node.id },
    stepsOf: (branch, records) =>
      executionsOnPath(records, branch).filter(({ visit }) => visit.steps > fork.step),
  };
}

/** The latest join on the path that no agent has followed. */
function lastMeeting(path: readonly PathStep[], since: number): Meeting | undefined {
  for (let at = path.length - 1; at >= 0; at--) {
    const { visit, lane } = path[at] as PathStep;
    // An agent in which branches have met was the first after them.
    if (visit.steps <= since || isAgentType(visit.node_type)) return undefined;
    const opening = path.findLastIndex(
      ({ visit: one }, index) => index < at && one.node === visit.joined && one.fork !== undefined,
    );
    if (visit.joined !== undefined && path[opening]?.visit.fork?.call !== true) {
      const between = path.slice(opening + 1, at);
      const stepsOf: Meeting['stepsOf'] = (branch) => between.filter(isIn(between, branch, lane));
      return { node: visit.joined, join: visit.node, stepsOf };
    }
  }
  return undefined;
}

/** Whether a step was made in the branch, or in branches of it. */
function isIn(steps: readonly PathStep[], branch: string, outer: PathPart): (step: PathStep) => boolean {
  const own = steps.find(({ visit, lane }) => visit.branch === branch && lane.from === outer)?.lane;
  return ({ lane }) => {
    for (let at: PathPart | undefined = lane; at !== undefined; at = at.from) if (at === own) return true;
    return false;
  };
}
