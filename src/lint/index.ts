/** Checks a graph against every rule. */
import { type Diagnostic, hasErrors } from '../core/diagnostic.ts';
import { type Finding, type Repair, repaired } from '../core/settings/repair.ts';
import { type Typed, typed } from '../core/settings/typing.ts';
import { editsOf } from './repair-edits.ts';
import { type LintKind, type LintOptions, lintSubject, type Rule, type Subject } from './rule.ts';
import { barePrefix } from './rules/bare-prefix.ts';
import { branchAccess } from './rules/branch-access.ts';
import { branchEdge } from './rules/branch-edge.ts';
import { branchJoin } from './rules/branch-join.ts';
import { branchRetry } from './rules/branch-retry.ts';
import { callFile } from './rules/call-file.ts';
import { callGuard } from './rules/call-guard.ts';
import { callInput } from './rules/call-input.ts';
import { callNesting } from './rules/call-nesting.ts';
import { callReturn } from './rules/call-return.ts';
import { callSetting } from './rules/call-setting.ts';
import { conditionKey } from './rules/condition-key.ts';
import { conditionSyntax } from './rules/condition-syntax.ts';
import { duplicateNode } from './rules/duplicate-node.ts';
import { edgeNeverTaken } from './rules/edge-never-taken.ts';
import { emptyPrompt } from './rules/empty-prompt.ts';
import { endlessCycle } from './rules/endless-cycle.ts';
import { exitMissing } from './rules/exit-missing.ts';
import { exitOutgoing } from './rules/exit-outgoing.ts';
import { failureToSuccess } from './rules/failure-to-success.ts';
import { forEach } from './rules/for-each.ts';
import { gateWithoutRetry } from './rules/gate-without-retry.ts';
import { holdoutRule } from './rules/holdout.ts';
import { holdoutAccess } from './rules/holdout-access.ts';
import { holdoutBeside } from './rules/holdout-beside.ts';
import { joinAlone } from './rules/join-alone.ts';
import { maskedFailure } from './rules/masked-failure.ts';
import { needsSandbox } from './rules/needs-sandbox.ts';
import { notGraphviz } from './rules/not-graphviz.ts';
import { outcomeNotAsked } from './rules/outcome-not-asked.ts';
import { outcomeUncovered } from './rules/outcome-uncovered.ts';
import { planMissing } from './rules/plan-missing.ts';
import { promptFileMissing } from './rules/prompt-file-missing.ts';
import { providerUnserved } from './rules/provider-unserved.ts';
import { quotedReference } from './rules/quoted-reference.ts';
import { refusedCommand } from './rules/refused-command.ts';
import { reservedId } from './rules/reserved-id.ts';
import { restartExit } from './rules/restart-exit.ts';
import { shellVariable } from './rules/shell-variable.ts';
import { startCount } from './rules/start-count.ts';
import { startIncoming } from './rules/start-incoming.ts';
import { strengthBudget } from './rules/strength-budget.ts';
import { strengthUnmeasured } from './rules/strength-unmeasured.ts';
import { stylesheetProperty } from './rules/stylesheet-property.ts';
import { stylesheetSyntax } from './rules/stylesheet-syntax.ts';
import { stylesheetValue } from './rules/stylesheet-value.ts';
import { targetMissing } from './rules/target-missing.ts';
import { threadHoldout } from './rules/thread-holdout.ts';
import { undeclaredNode } from './rules/undeclared-node.ts';
import { unknownClass } from './rules/unknown-class.ts';
import { unknownOutcome } from './rules/unknown-outcome.ts';
import { unknownReference } from './rules/unknown-reference.ts';
import { unknownShape } from './rules/unknown-shape.ts';
import { unknownType } from './rules/unknown-type.ts';
import { unreachableNode } from './rules/unreachable.ts';
import { unsetKey } from './rules/unset-key.ts';
import { varsSyntax } from './rules/vars-syntax.ts';
import { workdirMissing } from './rules/workdir-missing.ts';

/** All rules. Those about paths come last: they need a graph in which the others find no error. */
export const rules: readonly Rule[] = [
  startCount,
  exitMissing,
  startIncoming,
  exitOutgoing,
  unreachableNode,
  unknownType,
  unknownShape,
  reservedId,
  branchJoin,
  branchEdge,
  joinAlone,
  branchRetry,
  branchAccess,
  forEach,
  callFile,
  callNesting,
  callInput,
  callReturn,
  callSetting,
  callGuard,
  holdoutRule,
  refusedCommand,
  needsSandbox,
  strengthBudget,
  strengthUnmeasured,
  maskedFailure,
  barePrefix,
  conditionSyntax,
  conditionKey,
  unknownOutcome,
  unknownClass,
  targetMissing,
  varsSyntax,
  stylesheetSyntax,
  stylesheetProperty,
  stylesheetValue,
  providerUnserved,
  holdoutBeside,
  holdoutAccess,
  threadHoldout,
  unknownReference,
  shellVariable,
  quotedReference,
  workdirMissing,
  promptFileMissing,
  planMissing,
  undeclaredNode,
  duplicateNode,
  emptyPrompt,
  gateWithoutRetry,
  outcomeNotAsked,
  restartExit,
  unsetKey,
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
  'condition-syntax',
  'unknown-outcome',
  'unknown-class',
  'target-missing',
  'undeclared-node',
  'branch-join',
  'branch-edge',
  'join-alone',
]);

/** What is wrong with a graph. A mistake whose author's intention is clear comes first, in place of all that follows from it:
 *  findings that are gone once the graph says what was meant. The others follow in the order of the author's text; hints come
 *  last, and only without errors. Pure; never throws unless a kind's own check does. */
export function lint(read: Typed<LintKind>, options: LintOptions = {}): readonly Diagnostic[] {
  const found = allFindings(read, options);
  const isMistake = ({ repairs = [] }: Finding): boolean => repairs.length > 0;
  const left = withoutConsequences(read, found, options);
  const isFailing = hasErrors(left);
  // Where only consequences are errors, the mistakes are.
  const lifts = !isFailing && hasErrors(found);
  const rank = (one: Finding): number => (isMistake(one) ? 0 : one.severity === 'hint' ? 2 : 1);
  const offset = (one: Finding): number => one.place?.span.start.offset ?? -1;
  return left
    .filter(({ severity }) => severity !== 'hint' || !(isFailing || lifts))
    .sort((a, b) => rank(a) - rank(b) || offset(a) - offset(b))
    .map((one) => {
      const { repairs = [], ...rest } = one;
      const texts = { ...rest, ...editsOf(read.graph, repairs) };
      return lifts && isMistake(one) ? { ...texts, severity: 'error' } : texts;
    });
}

/** Missing edges and exits: they may follow from misspelt words, not the other way round. */
const structural: ReadonlySet<string> = new Set(['outcome-uncovered', 'exit-missing']);

/** The findings without those that lint no longer finds once the mistakes are repaired, misspelt words first. */
function withoutConsequences(
  { graph, kinds }: Typed<LintKind>,
  found: readonly Finding[],
  options: LintOptions,
): readonly Finding[] {
  const key = ({ code, place }: Finding): string => `${code} ${place?.span.start.offset}`;
  let left = found;
  const made: Repair[] = [];
  const reported = new Set<Finding>();
  for (const isOfTier of [
    ({ code }: Finding) => !structural.has(code),
    ({ code }: Finding) => structural.has(code),
  ]) {
    const causes = new Set(
      left.filter((one) => isOfTier(one) && one.repairs !== undefined && one.repairs.length > 0),
    );
    if (causes.size === 0) continue;
    made.push(...[...causes].flatMap(({ repairs = [] }) => repairs));
    const stays = new Set(allFindings(typed(repaired(graph, made), kinds), options).map(key));
    // What is a cause of this kind or of the one before is gone as well, and is reported.
    left = left.filter((one) => causes.has(one) || reported.has(one) || stays.has(key(one)));
    for (const one of causes) reported.add(one);
  }
  return left;
}

/** All findings of the typing, the rules and the kinds, without duplicates. */
function allFindings(read: Typed<LintKind>, options: LintOptions): readonly Finding[] {
  const subject = lintSubject(read, options);
  const found = new Map<string, Finding>();
  const add = (d: Finding): void => {
    // Defaults and chains put one attribute on many nodes and edges; it is reported once.
    const key = `${d.code} ${d.place?.span.start.offset} ${d.message}`;
    if (!found.has(key)) found.set(key, d);
  };
  for (const d of read.diagnostics)
    add(options.strict === true && unread.has(d.code) ? { ...d, severity: 'error' } : d);
  for (const d of ofKinds(subject)) add(d);
  for (const rule of rules) {
    if (options.partial === true && rule.needs !== undefined) continue;
    if (rule.needs === 'paths' && [...found.values()].some(leavesPathsOpen)) continue;
    for (const d of rule.check(subject)) add(d);
  }
  return [...found.values()];
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

const leavesPathsOpen = (d: Diagnostic): boolean => undefinedPaths.has(d.code) && d.severity === 'error';
