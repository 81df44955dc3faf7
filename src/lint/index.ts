/** Checks a graph against every rule. */
import type { Diagnostic } from '../core/diagnostic.ts';
import type { Typed } from '../core/settings/typing.ts';
import { type LintKind, type LintOptions, lintSubject, type Rule, type Subject } from './rule.ts';
import { conditionKey } from './rules/condition-key.ts';
import { conditionSyntax } from './rules/condition-syntax.ts';
import { duplicateNode } from './rules/duplicate-node.ts';
import { edgeNeverTaken } from './rules/edge-never-taken.ts';
import { emptyPrompt } from './rules/empty-prompt.ts';
import { endlessCycle } from './rules/endless-cycle.ts';
import { exitMissing } from './rules/exit-missing.ts';
import { exitOutgoing } from './rules/exit-outgoing.ts';
import { failureToSuccess } from './rules/failure-to-success.ts';
import { gateWithoutRetry } from './rules/gate-without-retry.ts';
import { holdoutRule } from './rules/holdout.ts';
import { holdoutAccess } from './rules/holdout-access.ts';
import { holdoutBeside } from './rules/holdout-beside.ts';
import { noHandler } from './rules/no-handler.ts';
import { notGraphviz } from './rules/not-graphviz.ts';
import { outcomeNotAsked } from './rules/outcome-not-asked.ts';
import { outcomeUncovered } from './rules/outcome-uncovered.ts';
import { quotedReference } from './rules/quoted-reference.ts';
import { refusedCommand } from './rules/refused-command.ts';
import { reservedId } from './rules/reserved-id.ts';
import { startCount } from './rules/start-count.ts';
import { startIncoming } from './rules/start-incoming.ts';
import { targetMissing } from './rules/target-missing.ts';
import { undeclaredNode } from './rules/undeclared-node.ts';
import { unknownOutcome } from './rules/unknown-outcome.ts';
import { unknownReference } from './rules/unknown-reference.ts';
import { unknownShape } from './rules/unknown-shape.ts';
import { unknownType } from './rules/unknown-type.ts';
import { unreachableNode } from './rules/unreachable.ts';
import { varsSyntax } from './rules/vars-syntax.ts';

/** All rules. Those about paths come last: they need a graph in which the others find no error. */
export const rules: readonly Rule[] = [
  startCount,
  exitMissing,
  startIncoming,
  exitOutgoing,
  unreachableNode,
  unknownType,
  unknownShape,
  noHandler,
  reservedId,
  holdoutRule,
  refusedCommand,
  conditionSyntax,
  conditionKey,
  unknownOutcome,
  targetMissing,
  varsSyntax,
  holdoutBeside,
  holdoutAccess,
  unknownReference,
  quotedReference,
  undeclaredNode,
  duplicateNode,
  emptyPrompt,
  gateWithoutRetry,
  outcomeNotAsked,
  notGraphviz,
  edgeNeverTaken,
  endlessCycle,
  outcomeUncovered,
  failureToSuccess,
];

/** Findings of the typing that are errors with `strict`. */
const unread: ReadonlySet<string> = new Set(['no-effect', 'unknown-attribute']);

/** Errors that leave the possible paths of runs undefined. */
const undefinedPaths: ReadonlySet<string> = new Set([
  'start-count',
  'exit-missing',
  'start-incoming',
  'exit-outgoing',
  'unknown-type',
  'unknown-shape',
  'no-handler',
  'condition-syntax',
  'unknown-outcome',
  'target-missing',
]);

/** All findings of the typing, the rules and the kinds, without duplicates, in the order of the author's text, misspelt
 *  targets of edges first. Pure; never throws unless a kind's own check does. */
export function lint(typed: Typed<LintKind>, options: LintOptions = {}): readonly Diagnostic[] {
  const subject = lintSubject(typed, options);
  const found = new Map<string, Diagnostic>();
  const add = (d: Diagnostic): void => {
    // Defaults and chains put one attribute on many nodes and edges; it is reported once.
    const key = `${d.code} ${d.place?.span.start.offset} ${d.message}`;
    if (!found.has(key)) found.set(key, d);
  };
  for (const d of typed.diagnostics)
    add(options.strict === true && unread.has(d.code) ? { ...d, severity: 'error' } : d);
  for (const d of ofKinds(subject)) add(d);
  for (const rule of rules) {
    if (options.partial === true && rule.needs !== undefined) continue;
    if (rule.needs === 'paths' && [...found.values()].some(leavesPathsOpen)) continue;
    for (const d of rule.check(subject)) add(d);
  }
  // A misspelt target of an edge explains others: it is the first.
  const offset = (d: Diagnostic) => (isMisspelt(d) ? -2 : (d.place?.span.start.offset ?? -1));
  return [...found.values()].sort((a, b) => offset(a) - offset(b));
}

/** What the node types find on their nodes. */
function* ofKinds({ graph, kindOf, invalid }: Subject): Generator<Diagnostic> {
  for (const node of graph.nodes.values()) {
    for (const found of kindOf.get(node.id)?.check?.(node, graph) ?? []) {
      // An invalid value looks absent to the type.
      if ([...node.attrs.values()].some((one) => invalid.has(one) && found.message.includes(one.key)))
        continue;
      yield found.place === undefined ? { ...found, place: { file: graph.file, span: node.span } } : found;
    }
  }
}

const isMisspelt = ({ code, severity }: Diagnostic): boolean =>
  code === 'undeclared-node' && severity === 'error';

const leavesPathsOpen = (d: Diagnostic): boolean =>
  isMisspelt(d) || (undefinedPaths.has(d.code) && d.severity === 'error');
