/** The possible outcomes of each node type, after retries. */
import type { Node } from '../../model/graph.ts';
import { type FailureClass, failureClasses, type OutcomeWord } from '../../model/outcome.ts';

export type Giving = {
  readonly key: string;
  readonly status: OutcomeWord;
  readonly broke: boolean;
  /** The node may report a preferred label, suggested ids and context keys. */
  readonly says: boolean;
  /** Classes that a failure may have, the simplest first. */
  readonly classes: readonly FailureClass[];
  /** Authors must expect this outcome; a tool or an agent reports others only if it is written to do so. */
  readonly usual: boolean;
};

const giving = (status: OutcomeWord, more: Partial<Giving> = {}): Giving => {
  const made = { status, broke: false, says: false, classes: [], usual: true, ...more };
  const key = [status, made.broke ? 'broke' : '', made.says ? 'says' : '', made.classes[0] ?? ''].join(' ');
  return { ...made, key };
};
const unusual = (of: Giving): Giving => ({ ...of, usual: false });

/** Classes that no agent can fix: they come last, so that example runs can continue. */
const unfixable: readonly FailureClass[] = ['config', 'infra', 'scenario'];
const anyClass = (first: FailureClass): readonly FailureClass[] => [
  first,
  ...failureClasses.filter((c) => ![first, ...unfixable, 'cancelled', 'internal'].includes(c)),
  ...unfixable,
];

/** The outcome of a start, and of an exit that sends a run back. */
export const success = giving('success');
const said = giving('success', { says: true });
const partial = giving('partial_success', { says: true });
const skipped = unusual(giving('skipped', { says: true }));
const command = ['product', 'guardrail', ...unfixable] as const;
const broken = giving('fail', { broke: true, classes: ['timeout', ...command] });

const verification = [success, giving('fail', { classes: command }), broken];
const tool = [said, giving('fail', { says: true, classes: anyClass('product') }), broken, skipped];
const agent = [
  said,
  // An agent reports no class.
  giving('fail', { says: true, classes: ['product', 'guardrail'] }),
  giving('fail', { broke: true, classes: anyClass('agent') }),
];
const unknown = [...agent, partial, skipped, giving('retry', { says: true })].map(unusual);

/** The possible outcomes of a node of the kind `type`, the simplest first; a conditional passes its outcome on. `retry`
 *  is never among them: exhausted retries end in failure, or in partial success with `allow_partial`. */
export function givingsOf(node: Node): readonly Giving[] {
  const { allow_partial: partly, response_schema: schema } = node.settings;
  switch (node.type) {
    case 'start':
    case 'exit':
      return [success];
    case 'verification':
      return verification;
    case 'tool':
      return [...tool, partly ? partial : unusual(partial)];
    case 'codergen':
      // An agent that must answer in a given form reports nothing else.
      return [...agent, partly || schema === undefined ? partial : unusual(partial)];
    default:
      return unknown;
  }
}
