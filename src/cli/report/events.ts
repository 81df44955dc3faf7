/** What is printed of each event: as a log record, and as a line of the live view. */
import { waitInEvent } from '../../app/inspect/wait.ts';
import { nextTryAt, waitLine } from '../../app/inspect/wait-words.ts';
import { elapsedWords } from '../../core/amounts.ts';
import type { Log } from '../../core/contracts/watcher.ts';
import type { RunEvent } from '../../core/events.ts';
import { reasonWithAttribution } from '../../core/outcome.ts';
import { giverWords } from '../../core/question-words.ts';
import { forkWords } from '../../core/records/names.ts';
import { oneLine, type Paint, painter } from './run.ts';
import { stateSign } from './states.ts';

type Kind = RunEvent['type'];
type Of<K extends Kind> = Extract<RunEvent, { type: K }>;

const records: { readonly [K in Kind]: (event: Of<K>) => Parameters<Log> } = {
  PipelineStarted: ({ resumed, agent, forked_from: from }) => [
    'info',
    resumed ? 'pipeline resumed' : 'pipeline starting',
    { agent, ...(from === undefined ? {} : { forked_from: forkWords(from) }) },
  ],
  StageStarted: ({ node_id: node, visit }) => ['info', 'node started', { node, visit }],
  StageRetrying: ({ node_id: node, retry_count, of, delay_ms, reason }) => [
    'info',
    'node requested a retry',
    { node, retry_count, ...limitOf(of), delay_ms, reason },
  ],
  CallRetrying: ({ node_id: node, attempt, of, cause, delay_ms, reason }) => [
    'info',
    'model call waits',
    { node, attempt, ...limitOf(of), cause: cause ?? 'retry', delay_ms, reason },
  ],
  StageWaiting: ({ node_id: node, until, reason }) => ['info', 'node waits', { node, until, reason }],
  AgentActed: ({ node_id: node, action, detail, status }) => [
    'debug',
    'agent acted',
    { node, action, detail, status },
  ],
  ReplayRan: ({ node_id: node, why }) => ['warn', 'the record does not fit; the node runs', { node, why }],
  SetupRan: ({ node_id: node, commands, locks, ok, took_ms }) => [
    ok ? 'info' : 'error',
    ok ? 'setup has run' : 'setup has failed',
    { node, commands, ...(locks === undefined ? {} : { locks }), took_ms },
  ],
  ScenarioRerun: ({ node_id: node, result, failure_reason: reason }) => [
    result === 'alike' ? 'info' : 'warn',
    'failed scenario run again in a clean copy',
    { node, result, ...(reason === '' ? {} : { reason }) },
  ],
  GuardrailViolation: ({ node_id: node, paths }) => ['warn', 'guardrail violation', { node, paths }],
  StageCompleted: ({ node_id: node, outcome, elapsed_ms, replayed, notes, unset_keys }) => [
    'info',
    'node completed',
    {
      ...{ node, outcome, elapsed_ms },
      ...(replayed === true ? { replayed } : {}),
      ...unsetWords(unset_keys),
      ...(notes === '' ? {} : { notes }),
    },
  ],
  StageFailed: ({ node_id: node, elapsed_ms, replayed, ...failed }) => [
    'warn',
    'node failed',
    {
      node,
      reason: reasonWithAttribution(failed.failure_reason, failed.attribution),
      class: failed.failure_class,
      elapsed_ms,
      ...(replayed === true ? { replayed } : {}),
      ...unsetWords(failed.unset_keys),
    },
  ],
  InterviewStarted: ({ node_id: node, question, text, deadline }) => [
    'info',
    'question asked',
    { node, question, text, ...(deadline === null ? {} : { deadline }) },
  ],
  InterviewCompleted: ({ node_id: node, question, answer, by, from }) => [
    'info',
    'question answered',
    { node, question, answer, by, from },
  ],
  StageSteered: ({ node_id: node, visit, note, text, by, from }) => [
    'info',
    'note used',
    { node, visit, note, text, by, from },
  ],
  InterviewTimeout: ({ node_id: node, question, answer }) => [
    'warn',
    'question not answered in time',
    { node, question, ...(answer === '' ? {} : { default: answer }) },
  ],
  CheckpointSaved: ({ last_completed_node: node }) => ['debug', 'checkpoint saved', { node }],
  LoopRestarted: ({ node_id: node, next_node: next, restart }) => [
    'info',
    'edge with loop_restart taken',
    { node, next, restart },
  ],
  ParallelStarted: ({ node_id: node, join, branches, call }) => [
    'info',
    call === true ? 'call started' : 'branches started',
    { node, join, ...(call === true ? {} : { branches: branches.join(',') }) },
  ],
  BranchStarted: () => ['debug', 'branch started', {}],
  BranchCompleted: ({ status, reason, failure_class }) => [
    status === 'failed' ? 'warn' : 'info',
    `branch ${status}`,
    {
      ...(reason === '' ? {} : { reason }),
      ...(failure_class === undefined ? {} : { class: failure_class }),
    },
  ],
  BranchParked: ({ status, node_id: node, wake_at, reason }) => [
    'warn',
    'branch suspended',
    { status, node, ...(wake_at === null ? {} : { wake_at }), reason },
  ],
  ParallelCompleted: ({ node_id: node, join, status, call }) => [
    status === 'fail' ? 'warn' : 'info',
    call === true ? 'call ended' : 'branches joined',
    { node, join, outcome: status },
  ],
  PipelineCompleted: () => ['info', 'pipeline completed'],
  PipelineFailed: ({ error }) => ['error', 'pipeline failed', { error }],
  PipelineOverridden: ({ reason }) => ['warn', 'pipeline completed in spite of a failure', { reason }],
  PipelineInterrupted: ({ signal, next_node: next }) => ['warn', 'pipeline interrupted', { signal, next }],
  PipelineParked: ({ status, node_id: node, wake_at, reason }) => [
    'warn',
    'run suspended',
    { status, node, ...(wake_at === null ? {} : { wake_at }), reason },
  ],
};

const limitOf = (of: number | undefined) => (of === undefined ? {} : { of });

/** That conditions after a node read keys which nothing has set. */
const unsetWords = (keys: readonly string[] | undefined) =>
  keys === undefined ? {} : { unset_keys: keys.join(',') };

/** An event as a log record. */
export function recordOf(event: RunEvent): Parameters<Log> {
  const record = records[event.type](event as never);
  if (!('branch' in event)) return record;
  const [level, message, fields = {}] = record;
  return [level, message, { branch: event.branch, ...fields }];
}

/** A line of the live view: its sign, what stands behind the node, and the rest, which is cut to the terminal. */
type Live = {
  readonly sign: (paint: Paint) => string;
  readonly more?: (paint: Paint) => string;
  readonly rest: string;
};

const again = (paint: Paint): string => stateSign('retry', paint);
const time =
  ({ visit, elapsed_ms }: Of<'StageCompleted' | 'StageFailed'>, word = '') =>
  (paint: Paint): string =>
    `${paint.dim(`${visit > 1 ? ` #${visit}` : ''} ${elapsedWords(elapsed_ms)}`)}${word === '' ? '' : ` ${paint.yellow(word)}`}`;

const waited = (event: Of<'StageRetrying' | 'CallRetrying' | 'StageWaiting'>): Live => {
  const wait = waitInEvent(event);
  if (wait === undefined) throw new Error(`Internal: ${event.type} begins no wait`);
  return { sign: (paint) => stateSign('waits', paint), rest: waitLine(wait, nextTryAt(wait)) };
};

/** Events that people see. */
const live: { readonly [K in Kind]?: (event: Of<K>) => Live } = {
  StageRetrying: waited,
  CallRetrying: waited,
  StageWaiting: waited,
  ReplayRan: ({ why }) => ({ sign: again, rest: `runs, the record does not fit: ${why}` }),
  SetupRan: ({ commands, ok, took_ms }) => ({
    sign: (paint) => stateSign(ok ? 'success' : 'fail', paint),
    rest: `setup ${ok ? 'has run' : 'has failed'}: ${commands.join(', ')} (${(took_ms / 1000).toFixed(1)}s)`,
  }),
  ScenarioRerun: ({ result }) => ({
    sign: again,
    rest: `run again in a clean copy: ${result === 'passed' ? 'passed' : `failed ${result}`}`,
  }),
  InterviewCompleted: ({ answer, by, from }) => ({
    sign: (paint) => stateSign('paused_answer', paint),
    rest: `answered ${giverWords({ by, from })}: ${answer}`,
  }),
  InterviewTimeout: ({ answer }) => ({
    sign: (paint) => stateSign('paused_answer', paint),
    rest: `not answered in time${answer === '' ? '' : `: ${answer}`}`,
  }),
  GuardrailViolation: ({ paths }) => ({
    sign: (paint) => paint.red('!'),
    rest: `wrote outside its scope, put back: ${paths.join(', ')}`,
  }),
  LoopRestarted: ({ next_node, restart }) => ({
    sign: again,
    rest: `leads to ${next_node} with loop_restart: restart ${restart}`,
  }),
  StageCompleted: (event) => ({
    sign: (paint) => stateSign('success', paint),
    more: time(event, event.outcome === 'success' ? '' : event.outcome),
    rest: event.notes,
  }),
  StageFailed: (event) => ({
    sign: (paint) => stateSign('fail', paint),
    more: time(event),
    rest:
      event.failure_reason === '' ? 'failed' : reasonWithAttribution(event.failure_reason, event.attribution),
  }),
};

/** A node behind its branch, where its id does not show that: `review › fix`. */
export const nodeWords = ({
  node_id,
  branch,
}: {
  readonly node_id: string;
  readonly branch?: string;
}): string =>
  branch === undefined || branch === node_id || node_id.includes('.') ? node_id : `${branch} › ${node_id}`;

const plain = painter(false);

/** A line of the live view, or nothing for events that people need not see. `clock` is the run's time so far, in
 *  milliseconds; `width` the terminal's columns. */
export function liveLine(event: RunEvent, clock: number, paint: Paint, width: number): string | undefined {
  if (event.type === 'PipelineStarted') {
    const from = event.forked_from === undefined ? '' : ` from ${forkWords(event.forked_from)}`;
    return `${event.resumed ? 'resuming' : 'starting'}${from} with agent ${paint.bold(event.agent)}`;
  }
  const line = live[event.type]?.(event as never);
  if (line === undefined || !('node_id' in event)) return undefined;
  const { sign, more, rest } = line;
  const head = (p: Paint): string =>
    `${p.dim(elapsedWords(clock).padStart(7))} ${sign(p)} ${nodeWords(event)}${more?.(p) ?? ''}`;
  const room = width - 3 - [...head(plain)].length;
  return rest === '' || room < 8 ? head(paint) : `${head(paint)}  ${oneLine(rest, room)}`;
}
