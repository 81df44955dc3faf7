/** Failures that led to a human gate: a success after that is `overridden` until something shows that they are fixed. Pure. */
import type { RunEnding } from './decision.ts';
import { shortText, shown } from './diagnostic.ts';
import { isExecutableType } from './graph.ts';
import { reasonOf } from './outcome.ts';
import { answeredText } from './question-words.ts';
import type { RunState } from './records/checkpoint.ts';
import { type OpenFailure, type OverriddenFailure, questionIdOf } from './records/question.ts';
import type { VisitRecord } from './records/visit.ts';

type Finished = Pick<VisitRecord, 'node' | 'node_type' | 'visit' | 'outcome' | 'answer'>;

/** The failures that count after an execution: those on their way to a gate, which any success of an executable node settles; and those
 *  that an answer has let pass, which only a success of the same node or a passed verification settles. */
export function openFailuresAfter(
  before: readonly OpenFailure[],
  { node, node_type, visit, outcome, answer }: Finished,
): readonly OpenFailure[] {
  if (answer !== undefined) return answeredAt(before, questionIdOf(node, visit), answer);
  if (!isExecutableType(node_type)) return before;
  switch (outcome.status) {
    case 'fail': {
      const failure = {
        node,
        visit,
        class: outcome.class,
        reason: shortText(reasonOf(outcome), shown.message),
      };
      return [...before.filter((one) => one.node !== node || one.answered !== undefined), failure];
    }
    case 'success':
      if (node_type === 'verification') return [];
      return before.filter((one) => one.node !== node && one.answered !== undefined);
    case 'partial_success':
      return before.filter((one) => one.node !== node);
    default:
      return before;
  }
}

/** Whatever was answered: also a timeout lets the run continue. Of several answers at one gate to failures of one node the last counts. */
function answeredAt(
  before: readonly OpenFailure[],
  question: string,
  answer: NonNullable<Finished['answer']>,
): readonly OpenFailure[] {
  const gate = (id: string): string => id.split('@', 1)[0] ?? '';
  const { by, at, from } = answer;
  const answered = { question, answer: answeredText(answer), by, at, from };
  const passed = before
    .filter((one) => one.answered === undefined)
    .map((one): OpenFailure => ({ ...one, answered }));
  const isReplaced = (one: OpenFailure): boolean =>
    passed.some(
      ({ node }) => node === one.node && one.answered && gate(one.answered.question) === gate(question),
    );
  return [...before.filter((one) => one.answered !== undefined && !isReplaced(one)), ...passed];
}

/** What makes a success of the run an overridden one. */
export const overriddenIn = ({
  open_failures: open = [],
}: Pick<RunState, 'open_failures'>): OverriddenFailure[] =>
  open.flatMap(({ answered, ...failure }) => (answered === undefined ? [] : [{ ...failure, answered }]));

/** The exit code of such a success. */
const overriddenCode = 5;

/** The status of a run that has ended so. */
export const statusAtEnd = (
  ending: Pick<RunEnding, 'ok' | 'cause'>,
): 'completed' | 'overridden' | 'failed' =>
  ending.ok ? 'completed' : isOverridden(ending) ? 'overridden' : 'failed';

/** Whether a run with this status has reached a success exit. */
export const hasSucceeded = (status: string): boolean => status === 'completed' || status === 'overridden';

export const isOverridden = ({ cause }: Pick<RunEnding, 'cause'>): boolean => cause?.kind === 'overridden';

/** The end of the run in place of a success; undefined where nothing was overridden. */
export function overriddenEnd(ending: RunEnding, state: RunState): RunEnding | undefined {
  const [first, ...more] = overriddenIn(state);
  if (first === undefined) return undefined;
  const { node, visit, class: of, reason, answered } = first;
  const others = more.length === 0 ? '' : ` (and ${more.length} more)`;
  return {
    ...ending,
    ok: false,
    code: overriddenCode,
    reason: `overridden: ${node}@${visit} failed (${of}: ${shortText(reason, shown.name)}), and ${answered.by} answered "${answered.answer}" at ${answered.question}${others}`,
    cause: { kind: 'overridden' },
  };
}
