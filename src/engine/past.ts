/** What of the run so far a prompt says: read from the journal, without secrets, names of runs and lines of the holdout. */

import { executionsOnPath, type PathPart, type PathStep } from '../core/branch-path.ts';
import type { AgentReport } from '../core/contracts/agent.ts';
import { fanOutType, type Graph, nodeIn, nodeOf } from '../core/graph.ts';
import { type JsonObject, jsonIn, own } from '../core/json.ts';
import { type Outcome, reasonOf } from '../core/outcome.ts';
import { type PastExecution, type PreambleKind, preambleOf, type RunPast } from '../core/preamble.ts';
import type { Body } from '../core/records/body.ts';
import type { Exchange } from '../core/records/exchange.ts';
import type { VisitRecord } from '../core/records/visit.ts';
import { couldReadHoldout, mayReadHoldout } from '../core/settings/node.ts';
import { wholeLinesOf } from './feedback.ts';
import type { LayerContext } from './layers/layer.ts';
import type { Run } from './run-context.ts';
import { bodyText } from './threads.ts';

/** Executions of which there are texts; of earlier ones a line has room at most. */
const mostTexts = 40;

/** Executions that may have a line. */
const mostLines = 400;

/** Characters of a text that are looked at. */
const mostRead = 16 * 1024;

/** Types of nodes that do nothing that a prompt has to say. */
const silent: readonly string[] = ['start', 'exit', 'conditional', fanOutType];

/** A node that is about to ask its agent. */
export type Asking = Pick<LayerContext, 'run' | 'node' | 'state'>;

/** What is put before the prompt of the node's agent. */
export async function preambleFor(
  kind: PreambleKind,
  at: Asking,
  mask: (text: string) => string,
): Promise<string> {
  const of: RunPast = await pastOf(at, kind, cleaner(at, mask));
  return preambleOf(kind, of);
}

type Clean = (text: string) => Promise<string>;

/** The beginning of a text without secrets, names of runs and lines of the holdout. */
export const cleaner =
  ({ run: { leaks, past } }: Asking, mask: (text: string) => string): Clean =>
  async (text) => {
    if (text.trim() === '') return '';
    const plain = firstPart(mask(text), leaks !== undefined);
    // First: a line in which a name was replaced would not be recognised.
    return past.withoutNames((await leaks?.printable(plain)) ?? plain);
  };

async function pastOf({ run, node, state }: Asking, kind: PreambleKind, clean: Clean): Promise<RunPast> {
  const goal = await clean(run.graph.settings.goal?.text ?? '');
  const { last_failure: last } = state;
  const failure = last && { node: last.node, class: last.class, reason: await clean(last.reason) };
  if (kind === 'truncate') return { goal, executions: [], failure: failure ?? undefined };
  const { records, exchanges } = run.past.history();
  const visits = withOutputs(stepsSeen(run.graph, executionsOnPath(records, run.branch)))
    .filter(({ visit }) => !silent.includes(visit.node_type) && visit.steps > (state.round_step ?? 0))
    .slice(-mostLines);
  const answers = new Map(exchanges.map((one) => [`${one.node} ${one.visit}`, one]));
  const executions: PastExecution[] = [];
  for (const [at, one] of visits.entries()) {
    const { visit } = one;
    const answer = answers.get(`${visit.node} ${visit.visit}`);
    const texts = at < visits.length - mostTexts ? noTexts : visitTexts(run, node, one, answer);
    executions.push({
      ...{ node: visit.node, visit: visit.visit, type: visit.node_type, outcome: outcomeWord(visit.outcome) },
      label: await clean(visit.outcome.label),
      reason: await clean(texts.reason),
      notes: await clean(texts.notes),
      changes: texts.changes.length === 0 ? [] : (await clean(texts.changes.join('\n'))).split('\n'),
      text: await clean(texts.text),
    });
  }
  return { goal, executions, failure: failure ?? undefined };
}

/** The caller of a pipeline sees of it only how the call ended. */
function stepsSeen(graph: Graph, steps: readonly PathStep[]): readonly PathStep[] {
  if (graph.children === undefined) return steps;
  const isSeen = (id: string): boolean => nodeIn(graph.nodes, id) !== undefined;
  const openCalls = new Map<string, VisitRecord>();
  return steps.flatMap((step) => {
    const { visit } = step;
    if (visit.fork?.call === true) openCalls.set(visit.node, visit);
    const call = openCalls.get(visit.joined ?? '');
    if (call !== undefined && isSeen(call.node)) {
      const { node, node_type, visit: number } = call;
      return [{ ...step, visit: { ...visit, node, node_type, visit: number } }];
    }
    return visit.fork?.call !== true && isSeen(visit.node) ? [step] : [];
  });
}

const outcomeWord = (outcome: Outcome): string =>
  outcome.status === 'fail' ? `fail (${outcome.class})` : outcome.status;

type Texts = Pick<PastExecution, 'reason' | 'notes' | 'changes' | 'text'>;
const noTexts: Texts = { reason: '', notes: '', changes: [], text: '' };

type WithOutput = { readonly visit: VisitRecord; readonly output: string };

/** What an execution has said, as far as the agent of `asking` may read it. `output`: the end of what a tool printed. */
export function visitTexts(
  run: Run,
  asking: LayerContext['node'],
  { visit, output }: WithOutput,
  answer: Exchange | undefined,
): Texts {
  const { outcome } = visit;
  const by = nodeOf(run.graph, visit.node);
  const couldRead = by === undefined || mayReadHoldout(by) || couldReadHoldout(answer?.attributes ?? {});
  const isOpen = !couldRead || mayReadHoldout(asking);
  const spoken = visit.answer?.text ?? output;
  const changes = answer?.files?.changes.filter(({ kind }) => kind !== 'dir') ?? [];
  return {
    reason: reasonOf(outcome),
    notes: outcome.notes,
    changes: changes.map(({ path, change }) => `${change} ${path.replace(/\n/g, ' ')}`),
    // What may read the scenarios may also tell them in other words.
    text: answer === undefined ? spoken : isOpen ? answerIn(run, answer.report, outcome.notes) : '',
  };
}

/** What the agent has said, besides its notes. */
function answerIn(run: Run, report: Body | null, notes: string): string {
  const read = report === null ? undefined : (jsonIn(bodyText(run, report) ?? 'null') as AgentReport | null);
  const text = read?.kind === 'answered' ? read.text : read?.kind === 'finished' ? read.response : undefined;
  return text === undefined || text.trim() === notes.trim() ? '' : text;
}

/** The executions, those of tools with the end of what they printed: the context has it, where it is another one than before. */
function withOutputs(steps: readonly PathStep[]): readonly WithOutput[] {
  const latest = new Map<PathPart, string>();
  const latestIn = (lane: PathPart | undefined): string =>
    lane === undefined ? '' : (latest.get(lane) ?? latestIn(lane.from));
  return steps.map(({ visit, lane }) => {
    // What a branch begins with: later ones of where it branched off come after it.
    if (!latest.has(lane)) latest.set(lane, latestIn(lane.from));
    if (visit.node_type !== 'tool') return { visit, output: '' };
    const { set, unset } = visit.context;
    const output: unknown = own(set as JsonObject, 'tool.output');
    // The end of a path would not be recognised as that of the run.
    if (typeof output === 'string') latest.set(lane, wholeLinesOf(output));
    else if (unset.includes('tool.output')) latest.set(lane, '');
    return { visit, output: latestIn(lane) };
  });
}

/** The beginning of a long text; with a holdout whole lines, since a part of one would not be recognised. */
function firstPart(text: string, hasHoldout: boolean): string {
  if (text.length <= mostRead) return text;
  const end = text.lastIndexOf('\n', mostRead);
  if (!hasHoldout) return text.slice(0, mostRead);
  return end > 0 ? text.slice(0, end) : (text.split('\n', 1)[0] ?? '');
}
