/** An event in words, for the list of events. */
import type { StoredEvent } from '../../../app/answers.ts';
import type { ShownState } from '../../../app/inspect/states.ts';
import type { WaitReason } from '../../../app/inspect/wait.ts';
import { waitWords } from '../../../app/inspect/wait-words.ts';
import { durationText, exactTime } from './format.ts';

export interface EventLine {
  readonly what: string;
  readonly state?: ShownState;
  /** The execution that it belongs to: `verify@3`, or the node alone where the event has no number. */
  readonly at?: string;
}

const text = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value);
const joined = (...some: readonly string[]): string => some.filter(Boolean).join(' · ');
const took = (event: StoredEvent): string =>
  typeof event['elapsed_ms'] === 'number' ? durationText(event['elapsed_ms']) : '';

/** A wait that is over is read as what it was: for how long, and why. */
function waited(event: StoredEvent): Omit<EventLine, 'at'> {
  const until = event['until'];
  const ms =
    typeof until === 'string' ? Date.parse(until) - Date.parse(event.at) : Number(event['delay_ms'] ?? 0);
  const [attempt, of] = [event['attempt'], event['of']].map((value) =>
    typeof value === 'number' ? value : null,
  );
  const reason = event.type === 'StageWaiting' ? 'time' : (text(event['cause']) as WaitReason) || 'retry';
  const words = waitWords({ for: reason, attempt: attempt ?? null, of: of ?? null });
  return { what: joined(`${words}, for ${durationText(ms)}`, text(event['reason'])), state: 'waits' };
}

const lines: Readonly<Record<string, (event: StoredEvent) => Omit<EventLine, 'at'>>> = {
  PipelineStarted: (event) => ({
    what: joined(event['resumed'] === true ? 'run resumed' : 'run started', text(event['agent'])),
    state: 'running',
  }),
  StageStarted: (event) => ({ what: joined('started', text(event['node_type'])), state: 'running' }),
  StageRetrying: waited,
  CallRetrying: waited,
  StageWaiting: waited,
  AgentActed: (event) => ({
    what: joined(text(event['action']).replace('_', ' '), text(event['detail']), text(event['status'])),
  }),
  LoopRestarted: (event) => ({
    what: `restart ${text(event['restart'])}, at ${text(event['next_node'])}`,
    state: 'retry',
  }),
  ReplayRan: (event) => ({ what: joined('executed instead of replayed', text(event['why'])) }),
  SetupRan: (event) => ({
    what: joined('setup', (event['commands'] as readonly string[] | undefined)?.join(', ') ?? ''),
    state: event['ok'] === true ? 'success' : 'fail',
  }),
  ScenarioRerun: () => ({ what: 'scenario executed again in a clean copy', state: 'retry' }),
  GuardrailViolation: (event) => ({
    what: `wrote outside its allowed paths: ${(event['paths'] as readonly string[] | undefined)?.join(', ') ?? ''}`,
    state: 'fail',
  }),
  StageCompleted: (event) => ({
    what: joined(text(event['outcome']).replace('_', ' '), text(event['notes']), took(event)),
    state: event['outcome'] === 'partial_success' ? 'partial_success' : 'success',
  }),
  StageFailed: (event) => ({
    what: joined(text(event['failure_class']), text(event['failure_reason']), took(event)),
    state: 'fail',
  }),
  InterviewStarted: (event) => ({ what: joined('asks', text(event['text'])), state: 'paused_answer' }),
  InterviewCompleted: (event) => ({
    what: joined('answered', text(event['answer']), `by ${text(event['by'])}`),
    state: 'success',
  }),
  StageSteered: (event) => ({
    what: joined(`note ${text(event['note'])}`, text(event['text']), `by ${text(event['by'])}`),
  }),
  InterviewTimeout: (event) => ({
    what: joined('not answered in time', text(event['answer'])),
    state: 'skipped',
  }),
  CheckpointSaved: () => ({ what: 'checkpoint saved' }),
  ParallelStarted: (event) => ({
    what:
      event['call'] === true
        ? 'call started'
        : `branches to ${text(event['join'])}: ${(event['branches'] as readonly string[] | undefined)?.join(', ') ?? ''}`,
  }),
  BranchStarted: () => ({ what: 'branch started', state: 'running' }),
  BranchCompleted: (event) => ({
    what: joined(`branch ${text(event['status'])}`, text(event['reason'])),
    state: branchStates[text(event['status'])] ?? 'fail',
  }),
  BranchParked: (event) => ({
    what: joined('branch suspended', ...suspended(event)),
    state: event['status'] === 'paused_answer' ? 'paused_answer' : 'suspended',
  }),
  ParallelCompleted: (event) => ({
    what: `${event['call'] === true ? 'call ended' : `branches joined at ${text(event['join'])}`}: ${text(event['status']).replace('_', ' ')}`,
    state: event['status'] === 'fail' ? 'fail' : 'success',
  }),
  PipelineCompleted: () => ({ what: 'run completed', state: 'completed' }),
  PipelineFailed: (event) => ({ what: joined('run failed', text(event['error'])), state: 'failed' }),
  PipelineOverridden: (event) => ({
    what: joined('run overridden', text(event['reason'])),
    state: 'overridden',
  }),
  PipelineInterrupted: (event) => ({
    what: joined('run interrupted', text(event['signal']), `continues at ${text(event['next_node'])}`),
    state: 'interrupted',
  }),
  PipelineParked: (event) => ({ what: joined('run suspended', ...suspended(event)), state: 'paused_quota' }),
};

const suspended = (event: StoredEvent): readonly string[] => [
  text(event['reason']),
  event['wake_at'] ? `resumes at ${exactTime(text(event['wake_at']))}` : '',
];

const branchStates: Readonly<Record<string, ShownState>> = {
  completed: 'success',
  failed: 'fail',
  cancelled: 'skipped',
};

/** An event of another version shows its type. */
export function eventLine(event: StoredEvent): EventLine {
  const line = lines[event.type]?.(event) ?? { what: event.type };
  const branch = text(event['branch']);
  // A branch has the id of its first node.
  const node = text(event['node_id'] ?? event['last_completed_node'] ?? event['branch']);
  if (node === '') return line;
  const what = branch === '' || branch === node ? line.what : `${branch}: ${line.what}`;
  return { ...line, what, at: typeof event['visit'] === 'number' ? `${node}@${event['visit']}` : node };
}
