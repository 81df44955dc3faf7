/** The outcomes that a node may have after its retries, for findings about the possible paths of runs. */
import { agentPrograms } from './contracts/agent.ts';
import type { Node } from './graph.ts';
import { type FailureClass, failureClasses, type OutcomeWord } from './outcome.ts';
import { isGoalGate } from './settings/node.ts';

export type PossibleOutcome = {
  readonly key: string;
  readonly status: OutcomeWord;
  readonly broke: boolean;
  /** The node may report a preferred label, suggested ids and context keys. */
  readonly says: boolean;
  /** The only labels and targets that it reports; without it any. */
  readonly answers?: readonly { readonly label: string; readonly to: string }[];
  /** Classes that a failure may have, the simplest first. */
  readonly classes: readonly FailureClass[];
  /** Authors must expect this outcome; a tool or an agent reports others only if it is written to do so. */
  readonly usual: boolean;
};

export function possibleOutcome(
  status: OutcomeWord,
  more: Partial<Omit<PossibleOutcome, 'key' | 'status'>> = {},
): PossibleOutcome {
  const made = { status, broke: false, says: false, classes: [], usual: true, ...more };
  const answers = made.answers?.map(({ label, to }) => `${label}>${to}`) ?? [];
  const facts = [status, made.broke ? 'broke' : '', made.says ? 'says' : '', made.classes[0] ?? ''];
  return { ...made, key: [...facts, ...answers].join(' ') };
}

/** Classes that no agent can fix: they come last, so that example runs can continue. */
const unfixable: readonly FailureClass[] = ['config', 'infra', 'scenario'];

/** Classes of a failed command. */
export const commandClasses: readonly FailureClass[] = ['product', 'guardrail', ...unfixable];

/** Every class that a node may report or cause, `first` first. */
export const anyClass = (first: FailureClass): readonly FailureClass[] => [
  first,
  ...failureClasses.filter((c) => ![first, ...unfixable, 'cancelled', 'internal'].includes(c)),
  ...unfixable,
];

/** Of a start, and of an exit that sends a run back. */
export const plainSuccess = possibleOutcome('success');
export const reportedSuccess = possibleOutcome('success', { says: true });
export const partialSuccess = (usual: boolean): PossibleOutcome =>
  possibleOutcome('partial_success', { says: true, usual });

/** Whether a node is made to answer a partial success: by its settings, or in the words of its prompt or command. */
export const answersPartly = ({ settings, attrs }: Node): boolean =>
  settings.allow_partial ||
  [...attrs.values()].some(({ value }) => /\bpartial[_ ]success\b/i.test(value.text));

/** Whether the answer of an agent is a document: it goes to a file or has its own schema, and no agent that reports how the work
 *  went is named. It has no outcome besides success and failure. */
export function answersWithDocument({ settings, attrs }: Node): boolean {
  if (settings.response_file === undefined && settings.response_schema === undefined) return false;
  if (isGoalGate(settings) || attrs.has('command.run') || attrs.has('acp.command')) return false;
  const agents = (settings['agent.backend'] ?? '').split(',').map((name) => name.trim());
  return !agents.some((name) => [...agentPrograms, 'fake'].some((one) => one === name));
}

/** A program that breaks: a timeout, a crash. */
export const brokenProgram = possibleOutcome('fail', {
  broke: true,
  classes: ['timeout', ...commandClasses],
});

/** An agent's report of failure, which has no class, and what breaks an agent. */
export const agentFailures: readonly PossibleOutcome[] = [
  possibleOutcome('fail', { says: true, classes: ['product', 'guardrail'] }),
  possibleOutcome('fail', { broke: true, classes: anyClass('agent') }),
];

/** Of a node type that does not say which outcomes it has: any, and none that authors must expect. */
export const anyOutcome: readonly PossibleOutcome[] = [
  reportedSuccess,
  ...agentFailures,
  partialSuccess(false),
  possibleOutcome('skipped', { says: true }),
  possibleOutcome('retry', { says: true }),
].map((one) => ({ ...one, usual: false }));
