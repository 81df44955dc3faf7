/** A fan-out over a list has one branch, and says where the list is. */
import { regionsOf } from '../../core/branches.ts';
import { itemsUnread, listOf } from '../../core/for-each.ts';
import { fanOutType, type Graph, type Node } from '../../core/graph.ts';
import { references } from '../../core/references.ts';
import { type Finding, withText } from '../../core/settings/repair.ts';
import { type Attribute, present } from '../../core/settings/types.ts';
import { variablesOf } from '../../core/variables.ts';
import { finding, nodesOf, type Rule, type Subject } from '../rule.ts';

export const forEach: Rule = {
  code: 'for-each',
  severity: 'error',
  rule: 'A fan-out with `for_each` has one edge, and names a list; `${item}` is used only where it is replaced.',
  wrong:
    'start; exit; fork [shape=component, for_each=items]; a [prompt="Fix ${item}"]; j [label=j]; start -> fork -> a -> j -> exit',
  fix: '`for_each="${ctx.items}"`',
  needs: 'whole graph',
  *check(subject) {
    for (const node of nodesOf(subject, fanOutType)) {
      yield* ofList(node, subject);
      if (listOf(node) !== undefined) yield* unread(node, subject);
    }
  },
};

const fail = (graph: Graph, { valueSpan: span }: Attribute, message: string, fix: string): Finding =>
  finding(graph, forEach, { message, span, fix });

function* ofList(node: Node, { graph, outgoing }: Subject): Generator<Finding> {
  const list = present(node.attrs, 'for_each');
  const key = present(node.attrs, 'foreach_key');
  const itemKey = present(node.attrs, 'item_key');
  const attribute = list ?? key;
  if (attribute === undefined) {
    if (itemKey !== undefined)
      yield fail(
        graph,
        itemKey,
        `${itemKey.written} has no effect on "${node.id}": it has no list`,
        'add for_each="${ctx.KEY}", or remove it',
      );
    return;
  }
  const targets = new Set((outgoing.get(node.id) ?? []).map(({ to }) => to));
  if (targets.size > 1)
    yield fail(
      graph,
      attribute,
      `"${node.id}" runs its branch once for each item, and ${targets.size} edges leave it`,
      'leave one edge: what belongs to an item is a path in one branch, which may fan out again',
    );
  const conditional = (outgoing.get(node.id) ?? []).find(({ conditionText }) => conditionText.trim() !== '');
  if (conditional !== undefined)
    yield fail(
      graph,
      attribute,
      `the edge ${conditional.from} -> ${conditional.to} has a condition, and "${node.id}" takes it for each item`,
      'remove the condition: an empty list has no branch, and is a success',
    );
  if (list !== undefined && key !== undefined)
    yield fail(graph, key, `"${node.id}" has both for_each and ${key.written}`, 'remove one of them');
  const meant = list === undefined ? undefined : meantBy(list.value.text, graph);
  if (list !== undefined && meant !== undefined)
    yield finding(graph, forEach, {
      message: `${list.written} is the text "${list.value.text.trim()}" and names no list`,
      span: list.valueSpan,
      fix: `write for_each="${meant.reference}"`,
      repairs: [
        { attribute: list, instead: withText(list, meant.reference), isPlaceholder: meant.isPlaceholder },
      ],
    });
}

/** What a single word, which is no list, was probably meant to name; of other texts an example. */
function meantBy(
  text: string,
  graph: Graph,
): { readonly reference: string; readonly isPlaceholder: boolean } | undefined {
  if (references(text, true).length > 0 || /[\n[]/.test(text)) return undefined;
  const word = /^\s*[${(]*\s*(?:(ctx|context|vars?|inputs)\.)?([\w.-]+?)\s*[})]*\s*$/.exec(text);
  const [, kind = '', name = 'items'] = word ?? [];
  const isVariable =
    /^(?:var|inputs)/.test(kind) || (kind === '' && variablesOf(graph).some((one) => one.name === name));
  return { reference: `\${${isVariable ? 'var' : 'ctx'}.${name}}`, isPlaceholder: word === null };
}

/** Attributes of nodes of the branch that name the item where nothing replaces it. */
function* unread(node: Node, { graph }: Subject): Generator<Finding> {
  for (const branch of regionsOf(graph).get(node.id)?.branches ?? [])
    for (const id of branch.nodes) {
      const one = graph.nodes.get(id);
      for (const attribute of one === undefined ? [] : itemsUnread(one))
        yield fail(
          graph,
          attribute,
          `${attribute.written} of "${id}" names the item, which is not replaced there`,
          'name it in the prompt or the command, or give the attribute a value without it',
        );
    }
}
