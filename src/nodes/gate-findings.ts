/** What `validate` finds about a human gate, and how it may end. */
import { countedItems } from '../core/amounts.ts';
import type { CodeDescription, Diagnostic, Span } from '../core/diagnostic.ts';
import type { Graph, Node } from '../core/graph.ts';
import { choicesOf, defaultsNamed, failsBy, timeoutActionOf } from '../core/human-gate.ts';
import { labelAsAsked } from '../core/own-words.ts';
import { type PossibleOutcome, possibleOutcome } from '../core/possible-outcomes.ts';

export const gateCodes: readonly CodeDescription[] = [
  {
    code: 'gate-options',
    severity: 'error',
    rule: 'A human gate has outgoing edges: they are its options.',
    wrong: 'start; exit; ask [shape=hexagon]; start -> ask; start -> exit',
    fix: '`ask -> exit [label="[A] Approve"]`',
  },
  {
    code: 'gate-yes-no',
    severity: 'warning',
    rule: 'A human gate in the mode `yes_no` has two options.',
    wrong: 'start; exit; ask [shape=hexagon, mode=yes_no]; start -> ask -> exit',
    fix: 'two outgoing edges, or another `mode`',
  },
  {
    code: 'gate-default',
    severity: 'error',
    rule: 'The default choice of a human gate names one of its options.',
    wrong:
      'start; exit; ask [shape=hexagon, human.default_choice=later]; start -> ask; ask -> exit [label="[A] Approve"]',
    fix: '`human.default_choice=A`',
  },
  {
    code: 'gate-text',
    severity: 'warning',
    rule: 'Of several edges of a human gate that wants words, one says that it takes them.',
    wrong:
      'start; exit; ask [shape=hexagon, mode=freeform]; start -> ask; ask -> exit [label=a]; ask -> start [label=b]',
    fix: '`freeform=true` on one of the edges',
  },
];

const severityOf = (code: string): Diagnostic['severity'] =>
  gateCodes.find((one) => one.code === code)?.severity ?? 'error';

export function gateFindings(node: Node, graph: Graph): readonly Diagnostic[] {
  const { id, settings } = node;
  const choices = choicesOf(graph, node);
  const { options, text } = choices;
  const at = (key: string): Span => node.attrs.get(key)?.valueSpan ?? node.span;
  const found = (code: string, span: Span, message: string, fix: string): Diagnostic => ({
    code,
    severity: severityOf(code),
    message,
    place: { file: graph.file, span },
    fix,
  });
  const names = options.map(({ key, label }) => `${key} (${label})`).join(', ');
  const findings: Diagnostic[] = [];
  if (options.length === 0 && text === undefined)
    findings.push(
      found(
        'gate-options',
        node.span,
        `the human gate "${id}" has no outgoing edge, and so no option`,
        `add an edge for each option: ${id} -> next [label="[A] Approve"]`,
      ),
    );
  if (settings.mode === 'yes_no' && options.length > 0 && options.length !== 2)
    findings.push(
      found(
        'gate-yes-no',
        at('mode'),
        `the human gate "${id}" asks for yes or no, and has ${countedItems(options.length, 'option')}: ${names}`,
        'give it two outgoing edges, or remove mode=yes_no',
      ),
    );
  const marked = graph.edges.some((edge) => edge.from === id && edge.attrs.has('freeform'));
  const open = graph.edges.filter((edge) => edge.from === id && edge.condition === undefined);
  if (settings.mode === 'freeform' && !marked && open.length > 1 && text?.label.trim() !== '')
    findings.push(
      found(
        'gate-text',
        at('mode'),
        `the human gate "${id}" wants words, and several edges could take them: it takes the one to "${text?.to}"`,
        'write freeform=true on the edge that takes the words',
      ),
    );
  return [...findings, ...defaultFindings(node, choices, names, (...of) => found('gate-default', ...of))];
}

function defaultFindings(
  { id, attrs, span, settings }: Node,
  choices: ReturnType<typeof choicesOf>,
  names: string,
  found: (span: Span, message: string, fix: string) => Diagnostic,
): readonly Diagnostic[] {
  const choice = settings['human.default_choice'];
  if (choice === undefined)
    return settings.timeout_action === 'default'
      ? [
          found(
            attrs.get('timeout_action')?.valueSpan ?? span,
            `timeout_action=default, but the human gate "${id}" has no default choice`,
            `write human.default_choice: the target, key or label of an option (${names})`,
          ),
        ]
      : [];
  const named = defaultsNamed(choices, choice);
  if (named.length === 1) return [];
  const attribute = attrs.get('human.default_choice');
  const message =
    named.length === 0
      ? `the default choice "${choice}" of the human gate "${id}" names none of its options`
      : `the default choice "${choice}" of the human gate "${id}" is ambiguous: it names ${named.map(({ key, label, to }) => `${key} (${label}, to ${to})`).join(' and ')}`;
  return [found(attribute?.valueSpan ?? span, message, `write the target, key or label of one: ${names}`)];
}

/** The outcomes of a gate: what it can answer is declared by its edges. */
export function gateOutcomes(node: Node, graph: Graph): readonly PossibleOutcome[] {
  const { options, text } = choicesOf(graph, node);
  const answer = ({ label, to }: { readonly label: string; readonly to: string }) => ({
    label: labelAsAsked(graph, node.id, label),
    to,
  });
  const good = [
    ...options.filter((one) => !failsBy(one)),
    ...(text === undefined ? [] : [{ label: text.label.trim(), to: text.to }]),
  ].map(answer);
  const bad = options.filter(failsBy).map(answer);
  const isTimed = node.settings['human.timeout'] !== undefined || node.attrs.has('timeout');
  const mayTimeOut = isTimed && timeoutActionOf(node.settings) === 'fail';
  return [
    ...(good.length === 0 ? [] : [possibleOutcome('success', { says: true, answers: good })]),
    ...(bad.length === 0
      ? []
      : [possibleOutcome('fail', { says: true, answers: bad, classes: ['product'] })]),
    ...(mayTimeOut ? [possibleOutcome('fail', { broke: true, classes: ['timeout'] })] : []),
  ];
}
