/** How a stage of each kind can end, as the router sees it: retries are over by then. */
import { flag, present } from '../../model/attribute.ts';
import type { Node } from '../../model/graph.ts';
import { type FailureClass, failureClasses, type OutcomeWord } from '../../model/outcome.ts';

export type Giving = {
  readonly key: string;
  readonly status: OutcomeWord;
  readonly broke: boolean;
  /** The stage may name a preferred label, suggest ids and set context keys. */
  readonly says: boolean;
  /** Classes that a failure may have, the plainest first. */
  readonly classes: readonly FailureClass[];
  /** Authors must reckon with it; any other one a tool or an agent gives only where it was written to. */
  readonly usual: boolean;
};

const giving = (status: OutcomeWord, more: Partial<Giving> = {}): Giving => {
  const made = { status, broke: false, says: false, classes: [], usual: true, ...more };
  return {
    ...made,
    key: `${status}${made.broke ? ' broke' : ''}${made.says ? ' says' : ''}${made.classes[0] ?? ''}`,
  };
};

/** Classes that no agent is asked to mend: they stand last, so that a run is shown that goes on. */
const unmendable: readonly FailureClass[] = ['config', 'infra', 'scenario'];
const anyClass = (first: FailureClass): readonly FailureClass[] => [
  first,
  ...failureClasses.filter(
    (c) => c !== first && c !== 'cancelled' && c !== 'internal' && !unmendable.includes(c),
  ),
  ...unmendable,
];

const success = giving('success');
/** What an exit gives that sends a run back. */
export const givenByExit = success;
const saidSuccess = giving('success', { says: true });
const saidFailure = giving('fail', { says: true, classes: anyClass('product') });
const partial = giving('partial_success', { says: true });
const unusual = (of: Giving): Giving => ({ ...of, usual: false });
const broken = (...classes: readonly FailureClass[]) => giving('fail', { broke: true, classes });

const tool = (partly: boolean) => [
  saidSuccess,
  saidFailure,
  broken('timeout', 'product', 'scenario', 'infra', 'config', 'guardrail'),
  partly ? partial : unusual(partial),
  unusual(giving('skipped', { says: true })),
];
// An agent names no class: its failure is the product's, or a breach of its scope.
const agentFailure = giving('fail', { says: true, classes: ['product', 'guardrail'] });
const agent = (partly: boolean) => [
  saidSuccess,
  agentFailure,
  giving('fail', { broke: true, classes: anyClass('agent') }),
  partly ? partial : unusual(partial),
];
const verification = [
  success,
  giving('fail', { classes: ['product', 'guardrail', 'config', 'infra', 'scenario'] }),
  broken('timeout', 'product', 'config', 'infra', 'scenario', 'guardrail'),
];
const givings = {
  start: [success],
  exit: [success],
  verification,
  tool: tool(false),
  partlyTool: tool(true),
  agent: agent(false),
  partlyAgent: agent(true),
  // A kind that this page does not know may do anything; nothing is asked of its author.
  any: [
    ...agent(false),
    unusual(giving('skipped', { says: true })),
    unusual(giving('retry', { says: true })),
  ].map(unusual),
} as const;

/** What a node of the kind `type` can give, the plainest first. A conditional gives what it was given: ask its
 *  predecessors. `retry` is never among them: a node that keeps on asking for it ends in failure, or in partial success
 *  with `allow_partial`. */
export function givingsOf(node: Node, type: string | undefined): readonly Giving[] {
  switch (type) {
    case 'start':
    case 'exit':
    case 'verification':
      return givings[type];
    case 'tool':
      return isSet(node, 'allow_partial') ? givings.partlyTool : givings.tool;
    case 'codergen':
      // An agent that is asked for a text of a given form answers with that text and no word of its own.
      return present(node.attrs, 'response_schema') === undefined || isSet(node, 'allow_partial')
        ? givings.partlyAgent
        : givings.agent;
    default:
      return givings.any;
  }
}

/** Whether a flag of a node is set to true. */
export function isSet(node: Node, key: string): boolean {
  const attribute = present(node.attrs, key);
  const read = attribute === undefined ? undefined : flag().read(attribute.value);
  return read?.ok === true && read.value;
}
