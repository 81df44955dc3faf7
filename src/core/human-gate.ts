/** Human gates: the options between which a person chooses, from the edges that leave the node. Pure. */
import { type EdgeCondition, evaluate } from './conditions.ts';
import { allNodes, type Edge, type Graph, type Node, writtenId } from './graph.ts';
import { failed, type NodeReport, type Outcome, succeeded } from './outcome.ts';
import { labelAsAsked, normalLabel } from './own-words.ts';
import type { Question, QuestionMode } from './records/question.ts';
import { edgeAttributes } from './settings/graph.ts';
import { present } from './settings/types.ts';

/** The node type. */
export const humanGate = 'wait.human';

export const isHumanGate = ({ type }: Pick<Node, 'type'>): boolean => type === humanGate;

/** Whether a run of the graph may ask a person. */
export const asksPeople = (graph: Graph): boolean => [...allNodes(graph).values()].some(isHumanGate);

/** Attributes with the text of the question, the strongest first. */
export const questionKeys = ['prompt', 'question', 'label'] as const;

/** Context keys that an answer sets. */
export const gateKeys = [
  'human.gate.selected',
  'human.gate.label',
  'human.gate.text',
  'human.gate.by',
  'human.gate.at',
  'human_response',
] as const;

/** An option of a gate. */
export type GateOption = Question['options'][number] & {
  readonly edge: Edge;
  /** In the mode `yes_no`: choosing it is the outcome `fail`. */
  readonly isNo: boolean;
};

/** What a person may answer at a gate. */
export type GateChoices = {
  readonly options: readonly GateOption[];
  /** The edge that takes an answer in words. */
  readonly text: Edge | undefined;
};

/** The options of a gate, in the order of the edges in the text: edges of the same label and target are one. An edge with
 *  `freeform=true` takes words and is no option. */
export function choicesOf(graph: Graph, { id, settings }: Pick<Node, 'id' | 'settings'>): GateChoices {
  const { mode } = settings;
  const edges = graph.edges.filter(({ from }) => from === id);
  const text = textEdge(edges, mode);
  const named = edges
    .filter((edge) => !takesText(edge) && (mode !== 'freeform' || edge !== text))
    .map((edge) => ({ edge, to: edge.to, ...namedOption(graph, edge) }));
  const single = named.filter(
    (one, at) => named.findIndex(({ to, label }) => to === one.to && sameLabel(label, one.label)) === at,
  );
  const keys = keysFor(single);
  const no = mode === 'yes_no' ? noAmong(single, keys) : undefined;
  const options = single.map(({ edge, label, to }, at) => ({
    ...{ key: keys[at] ?? '', label, to, edge },
    isNo: at === no,
  }));
  return { options, text };
}

/** Whether an edge is that of the option which an outcome of the gate chooses, by label and target. Undefined for a node of another
 *  type. Of an answer in words it is true for none: the edges decide. */
export function isChosenAt(
  graph: Graph,
  id: string,
  { label, suggested: [to] }: Pick<Outcome, 'label' | 'suggested'>,
): ((edge: Edge) => boolean) | undefined {
  const node = graph.nodes.get(id);
  if (node === undefined || !isHumanGate(node)) return undefined;
  const { text } = choicesOf(graph, node);
  return (edge) => edge !== text && edge.to === to && sameLabel(namedOption(graph, edge).label, label);
}

/** Whether an edge takes an answer in words. */
function takesText(edge: Edge): boolean {
  const attribute = present(edge.attrs, 'freeform');
  const read = attribute && edgeAttributes.freeform.read(attribute.value);
  return read?.ok === true && read.value;
}

/** The edge with `freeform=true`; else the only edge, if it has no label. A gate that wants words has one in any case: the only edge
 *  without a label, else the first without a condition, else the first. */
function textEdge(edges: readonly Edge[], mode: QuestionMode): Edge | undefined {
  const marked = edges.find(takesText);
  if (marked !== undefined) return marked;
  const unlabelled = edges.filter(({ label }) => label.trim() === '');
  const [only, ...more] = unlabelled;
  if (mode !== 'freeform') return edges.length === 1 && mode === 'choice' ? only : undefined;
  if (only !== undefined && more.length === 0) return only;
  return edges.find(({ condition }) => condition === undefined) ?? edges[0];
}

const acceleratorForm = /^(?:\[\s*([\p{L}\p{N}_]+)\s*\]\s*|([\p{L}\p{N}_])\)\s+|([\p{L}\p{N}_])\s+-\s+)/u;

type Named = { readonly label: string; readonly accelerator: string | undefined };

/** The label without its accelerator; the target's id where there is none. */
function namedOption(graph: Pick<Graph, 'call'>, { label: written, to }: Edge): Named {
  const text = written.replace(/\s+/g, ' ').trim();
  const match = acceleratorForm.exec(text);
  const accelerator = match?.[1] ?? match?.[2] ?? match?.[3];
  const rest = text.slice(match?.[0].length ?? 0).trim();
  return { label: rest || accelerator || writtenId(graph, to), accelerator };
}

const folded = (text: string): string => text.toUpperCase();

/** One key for each option, in upper case: its accelerator where no earlier option has that, else the first letter of its label that no
 *  other has, else a number. Accelerators are given first. */
function keysFor(options: readonly Named[]): readonly string[] {
  const used = new Set<string>();
  const keys = new Map<Named, string>();
  const give = (one: Named, letters: readonly string[]): void => {
    const key = letters.map(folded).find((word) => !used.has(word));
    if (key === undefined) return;
    used.add(key);
    keys.set(one, key);
  };
  for (const one of options) give(one, one.accelerator === undefined ? [] : [one.accelerator]);
  for (const one of options) {
    const numbers = options.map((_, at) => String(at + 1));
    if (!keys.has(one)) give(one, [...(one.label.match(/[\p{L}\p{N}]/gu) ?? []), ...numbers]);
  }
  return options.map((one) => keys.get(one) ?? '');
}

/** The place of No among the options: the one whose condition only a failure makes true; else the one with the key N or a label such as
 *  "Reject"; else the second. */
function noAmong(
  options: readonly { readonly edge: Edge; readonly label: string }[],
  keys: readonly string[],
): number | undefined {
  const byCondition = options.findIndex(({ edge }) => edge.condition && isForFailure(edge.condition));
  if (byCondition !== -1) return byCondition;
  const byKey = keys.indexOf('N');
  if (byKey !== -1) return byKey;
  const byWord = options.findIndex(({ label }) =>
    /^(?:no|not|reject|deny|decline|refuse|disapprove|disagree)\b/i.test(label),
  );
  if (byWord !== -1) return byWord;
  return options.length > 1 ? 1 : undefined;
}

function isForFailure(condition: EdgeCondition): boolean {
  const given = (outcome: string) => evaluate(condition, (key) => (key === 'outcome' ? outcome : ''));
  return given('fail') && !given('success');
}

const sameLabel = (a: string, b: string): boolean => normalLabel(a) === normalLabel(b);

/** The options that a word means: the first of target id, key and label that any option has. Several for a word that is ambiguous. */
export function optionsNamed<O extends Question['options'][number]>(
  options: readonly O[],
  word: string,
): readonly O[] {
  const name = word.trim();
  const ways: readonly ((option: O) => boolean)[] = [
    // In a called pipeline, ids begin with that of the call.
    ({ to }) => to === name || to.endsWith(`.${name}`),
    ({ key }) => folded(key) === folded(name),
    ({ label }) => label === name,
    ({ label }) => sameLabel(label, name),
  ];
  return ways.map((fits) => options.filter(fits)).find((found) => found.length > 0) ?? [];
}

/** The options that a person or a program chooses: by the key first, since a node may have the id that is the key of another option. */
export function optionsChosen<O extends Question['options'][number]>(
  options: readonly O[],
  word: string,
): readonly O[] {
  const byKey = options.filter(({ key }) => folded(key) === folded(word.trim()));
  return byKey.length > 0 ? byKey : optionsNamed(options, word);
}

/** What `human.default_choice` names: also the edge that takes words, which is then left with none. Several where it is ambiguous. */
export function defaultsNamed(
  { options, text }: GateChoices,
  word: string,
): readonly Question['options'][number][] {
  if (text === undefined || options.some(({ to }) => to === text.to)) return optionsNamed(options, word);
  return optionsNamed([...options, { key: '', label: namedOption({}, text).label, to: text.to }], word);
}

/** What follows a question without an answer in time. */
export const timeoutActionOf = ({
  'human.default_choice': otherwise,
  timeout_action: action,
}: Node['settings']): Question['timeout_action'] => action ?? (otherwise === undefined ? 'fail' : 'default');

/** Whether the question can be answered with an empty text, which continues: there is no other way. */
export const takesEmptyText = ({ text_to, options }: Pick<Question, 'text_to' | 'options'>): boolean =>
  text_to !== null && options.every(({ to }) => to === text_to);

/** Whether an option is chosen with a failure: No, or one whose condition only a failure makes true. */
export const failsBy = ({ isNo, edge }: GateOption): boolean =>
  isNo || (edge.condition !== undefined && isForFailure(edge.condition));

/** The outcome of a gate where this option is chosen, as far as the context does not matter. */
export function outcomeOfOption(graph: Graph, { id }: Pick<Node, 'id'>, option: GateOption): Outcome {
  const report = { label: labelAsAsked(graph, id, option.label), suggested: [option.to] };
  return outcomeOfChoice(option, failsBy(option), report);
}

/** The outcome with which an option is chosen, by success or by failure. */
export const outcomeOfChoice = (
  { label }: GateOption,
  fails: boolean,
  report: Partial<NodeReport>,
): Outcome =>
  fails
    ? failed(`the answer is "${label}"`, 'product', { ...report, classSaid: true })
    : succeeded({ ...report, notes: `answered "${label}"` });

/** The same for the default choice, else the first option; undefined for a gate that only takes words. */
export function usualOutcome(graph: Graph, node: Node): Outcome | undefined {
  const { options } = choicesOf(graph, node);
  const named = optionsNamed(options, node.settings['human.default_choice'] ?? '');
  const [option = options[0]] = named;
  return option && outcomeOfOption(graph, node, option);
}
