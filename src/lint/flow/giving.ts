/** How a node of each type can end, as the router sees it: after its retries. */
import { flag, present } from '../../model/attribute.ts';
import type { Node } from '../../model/graph.ts';
import { type FailureClass, failureClasses, type OutcomeWord } from '../../model/outcome.ts';

export type Giving = {
  readonly key: string;
  readonly status: OutcomeWord;
  readonly broke: boolean;
  /** It may name a preferred label, suggest ids and set context keys. */
  readonly says: boolean;
  /** Classes that a failure may have, the plainest first. */
  readonly classes: readonly FailureClass[];
  /** Authors must reckon with it; any other one a tool or an agent reports only where it was written to. */
  readonly usual: boolean;
};

const giving = (status: OutcomeWord, more: Partial<Giving> = {}): Giving => {
  const made = { status, broke: false, says: false, classes: [], usual: true, ...more };
  const key = [status, made.broke ? 'broke' : '', made.says ? 'says' : '', made.classes[0] ?? ''].join(' ');
  return { ...made, key };
};
const unusual = (of: Giving): Giving => ({ ...of, usual: false });

/** Classes that no agent is asked to fix: they come last, so that the run of a witness continues. */
const unfixable: readonly FailureClass[] = ['config', 'infra', 'scenario'];
const anyClass = (first: FailureClass): readonly FailureClass[] => [
  first,
  ...failureClasses.filter((c) => ![first, ...unfixable, 'cancelled', 'internal'].includes(c)),
  ...unfixable,
];

/** What an exit gives that sends a run back, and a start. */
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
  // An agent names no class.
  giving('fail', { says: true, classes: ['product', 'guardrail'] }),
  giving('fail', { broke: true, classes: anyClass('agent') }),
];
const unknown = [...agent, partial, skipped, giving('retry', { says: true })].map(unusual);

/** What a node of the kind `type` can give, the plainest first; a conditional gives what it was given. `retry` is never
 *  among them: a node that only asks for it ends in failure, or in partial success with `allow_partial`. */
export function givingsOf(node: Node, type: string | undefined): readonly Giving[] {
  const partly = isSet(node, 'allow_partial');
  switch (type) {
    case 'start':
    case 'exit':
      return [success];
    case 'verification':
      return verification;
    case 'tool':
      return [...tool, partly ? partial : unusual(partial)];
    case 'codergen':
      // An agent that is asked for a text of a given form answers with that text and reports no outcome.
      return [
        ...agent,
        partly || present(node.attrs, 'response_schema') === undefined ? partial : unusual(partial),
      ];
    default:
      return unknown;
  }
}

/** Whether a flag of a node is set to true. */
export function isSet(node: Node, key: string): boolean {
  const attribute = present(node.attrs, key);
  const read = attribute === undefined ? undefined : flag().read(attribute.value);
  return read?.ok === true && read.value;
}
