/** Conditions compare keys that something before the edge sets: any other key is empty in every run. */
import { regionsOf } from '../../core/branches.ts';
import { isCallType } from '../../core/calls.ts';
import { type KeyNamed, parseCondition } from '../../core/conditions.ts';
import { setByEngine } from '../../core/context.ts';
import { type Edge, isAgentType, type Node } from '../../core/graph.ts';
import { gateKeys, humanGate, isHumanGate } from '../../core/human-gate.ts';
import { isJoinKey } from '../../core/join.ts';
import { answerKey, latestKeys, latestOfTool } from '../../core/latest-keys.ts';
import { nearest } from '../../core/nearest.ts';
import { present } from '../../core/settings/types.ts';
import { variablesOf } from '../../core/variables.ts';
import { spanInValue } from '../../dot/literals.ts';
import { contextKey } from '../flow/comparisons.ts';
import { finding, type Rule, type Subject } from '../rule.ts';
import { meantBy } from './condition-key.ts';

export const unsetKey: Rule = {
  code: 'unset-key',
  severity: 'warning',
  rule: 'A key of a condition is set by a node before the edge (an error where no tool or agent precedes it).',
  wrong:
    'start; exit; a [shape=parallelogram, tool_command=x]; start -> a; a -> exit [condition="exit_code!=1"]',
  fix: '`outcome=success`; or let the tool write `{"context_updates": {"KEY": "…"}}` to `$FACTORY_OUTPUT`',
  needs: 'whole graph',
  *check(subject) {
    const { graph } = subject;
    const settersOf = settersIn(subject);
    const reported = new Set<string>();
    const seen = new Set<string>();
    for (const edge of graph.edges) {
      const attribute = present(edge.attrs, 'condition');
      if (attribute === undefined || edge.condition === undefined) continue;
      for (const named of keysIn(attribute.value.text)) {
        const asked = `${edge.from} ${named.key} ${named.bare}`;
        if (seen.has(asked)) continue;
        seen.add(asked);
        const problem = problemOf(named, edge, () => settersOf(edge.from), subject);
        // One finding for a key, wherever conditions ask for it.
        const about = `${contextKey(named.key)} ${problem?.isCertain}`;
        if (problem === undefined || reported.has(about)) continue;
        reported.add(about);
        yield finding(
          graph,
          { ...unsetKey, severity: problem.isCertain ? 'error' : 'warning' },
          { ...problem, span: spanInValue(graph, attribute, named.at, named.length) },
        );
      }
    }
  },
};

/** The keys of a condition, each once; those that are probably misspelt words of the router are another rule's. */
function keysIn(text: string): readonly KeyNamed[] {
  const read = parseCondition(text);
  const keys = 'condition' in read ? read.keys : [];
  return keys.filter(
    (one, at) =>
      meantBy(one, text) === undefined &&
      keys.findIndex(({ key, bare }) => key === one.key && bare === one.bare) === at,
  );
}

/** For a node, those before it and itself that may set keys. */
function settersIn({ graph, incoming }: Subject): (id: string) => readonly Node[] {
  const known = new Map<string, readonly Node[]>();
  return (id) => {
    const old = known.get(id);
    if (old !== undefined) return old;
    const seen = new Set([id]);
    for (const at of seen) for (const { from } of incoming.get(at) ?? []) seen.add(from);
    const found = [...seen].flatMap((one) => graph.nodes.get(one) ?? []).filter(setsKeys);
    known.set(id, found);
    return found;
  };
}

/** Types of nodes that may set keys; a node of an unknown type might. */
const setsKeys = ({ type, settings }: Node): boolean =>
  ['tool', humanGate, ''].includes(type) ||
  isAgentType(type) ||
  (isCallType(type) && settings.returns !== undefined);

/** The engine's own keys. */
const router: ReadonlySet<string> = new Set(['outcome', 'preferred_label', 'failure_class', 'current_node']);
const engineKeys: readonly string[] = [
  ...['node_id', 'node_type', 'reason', 'class', 'hopeless', 'at', 'artifacts', 'summary'].map(
    (name) => `last_failure.${name}`,
  ),
  ...['graph.goal', 'tool.output', 'tool_stdout', ...latestKeys],
];

type Problem = { readonly message: string; readonly fix: string; readonly isCertain: boolean };

function problemOf(
  named: KeyNamed,
  edge: Edge,
  settersBefore: () => readonly Node[],
  subject: Subject,
): Problem | undefined {
  const problem = problemOfKey(named.key, edge, settersBefore, subject);
  // A bare key asks whether it is set.
  return problem === undefined
    ? undefined
    : { ...problem, isCertain: problem.isCertain && named.bare !== true };
}

function problemOfKey(
  key: string,
  edge: Edge,
  settersBefore: () => readonly Node[],
  subject: Subject,
): Problem | undefined {
  const bare = contextKey(key);
  // Most conditions name only such a key. Those before each node of a large graph would be as many as the square of its nodes.
  if (router.has(bare) || bare.startsWith('internal.')) return undefined;
  const setters = settersBefore();
  const { graph, options } = subject;
  // A called pipeline has its inputs in its context.
  if (options.isCalled === true && variablesOf(graph).some(({ name }) => name === bare)) return undefined;
  const fix = fixFor(bare, edge, subject);
  if (['tool.output', 'tool_stdout', ...latestOfTool].includes(bare)) {
    if (setters.some((node) => !isAgentType(node.type) && !isHumanGate(node))) return undefined;
    return { message: `"${key}" is empty here: no tool precedes this edge`, fix, isCertain: true };
  }
  const answers = bare === 'last_response' ? setters.filter(({ type }) => isAgentType(type)) : [];
  if (bare === 'last_stage' || answers.length > 0) return undefined;
  const node = graph.nodes.get(bare.replace(/^response\./, ''));
  if (node !== undefined && bare === answerKey(node.id) && isAgentType(node.type))
    return setters.includes(node)
      ? undefined
      : { message: `"${key}" is empty here: "${node.id}" does not precede this edge`, fix, isCertain: true };
  if (gateKeys.some((one) => one === bare)) {
    if (setters.some(isHumanGate)) return undefined;
    return { message: `"${key}" is empty here: no human gate precedes this edge`, fix, isCertain: false };
  }
  if (isJoinKey(bare)) {
    if (regionsOf(graph).size > 0) return undefined;
    return { message: `"${key}" is empty here: the pipeline has no branches`, fix, isCertain: true };
  }
  if (setByEngine(bare))
    return engineKeys.includes(bare)
      ? undefined
      : { message: `the engine sets no key "${key}", and nothing else can`, fix, isCertain: true };
  const free = setters.filter((node) => !isHumanGate(node));
  if (free.some((node) => setsKey(node, bare, subject))) return undefined;
  if (free.length === 0) {
    const message = `nothing can set "${key}": no tool or agent precedes this edge, so it is always empty`;
    return { message, fix, isCertain: true };
  }
  const message = `no node before this edge is seen to set "${key}": a key that nothing sets is empty`;
  return { message, fix, isCertain: false };
}

/** Whether a node before a condition sets its key, as far as the text shows. */
const setsKey = (node: Node, key: string, { options }: Subject): boolean =>
  isCallType(node.type) ? node.settings.returns?.includes(key) === true : mentionsKey(node, key, options);

/** Whether a node says that it sets a key: a tool that writes its outcome and names the key, itself or in a script that it calls; an
 *  agent whose prompt names it. */
export function mentionsKey(
  node: Node,
  key: string,
  { prompts, scripts }: Pick<Subject['options'], 'prompts' | 'scripts'>,
): boolean {
  const named = new RegExp(`(?<![\\w.-])${key.replace(/[.\\]/g, '\\$&')}(?![\\w-]|\\.\\w)`);
  if (node.type !== 'tool') {
    const { prompt = '' } = node.settings;
    const texts = [...node.attrs.values()].map(({ value }) => value.text);
    return [...texts, prompts?.get(prompt.trim()) ?? ''].some((text) => named.test(text));
  }
  const command = node.settings.tool_command ?? '';
  if (/\bfactory\s+(?:order|plan)\b/.test(command) && /^(?:order|build|plan)\./.test(key)) return true;
  return [command, ...(scripts?.get(command) ?? [])].some(
    (text) => text.includes('FACTORY_OUTPUT') && named.test(text),
  );
}

/** What the author may write in place of a key that nothing sets. */
function fixFor(key: string, edge: Edge, { graph }: Subject): string {
  const [, of = '', what = ''] = /^(?:node\.)?(.*)\.(\w+)$/.exec(key) ?? [];
  const isNode = graph.nodes.has(of);
  if (/^(?:exit_?code|exit_?status|return_?code|rc|code)$/i.test(isNode ? what : key))
    return 'an exit code other than 0 is outcome=fail';
  if (isNode && /^(?:outcome|status|result|failure_class|label)$/.test(what)) {
    const word = what === 'label' ? 'preferred_label' : what === 'failure_class' ? what : 'outcome';
    return of === edge.from
      ? `write ${word}: it is that of the node which the edge leaves`
      : `write ${word} on an edge that leaves "${of}": conditions see only the node which their edge leaves`;
  }
  if (/^(?:status|result)$/i.test(key)) return 'write outcome';
  if (/^(?:visits?|attempts?|tries|iterations?|rounds?)$/i.test(isNode ? what : key))
    return `max_visits on a node says how often it may run`;
  if (/^(?:output|stdout)$/.test(isNode ? what : key)) return 'tool.output is the output of the latest tool';
  const near = nearest(key, [...engineKeys, ...gateKeys]);
  if (near !== undefined) return `write ${near}`;
  return `let a tool before the edge write {"context_updates": {"${key}": "…"}} to $FACTORY_OUTPUT`;
}
