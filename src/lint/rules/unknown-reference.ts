/** References in prompts and commands name declared variables, nodes of the graph or its goal. */
import { isInItem, listOf } from '../../core/for-each.ts';
import { fanOutType, type Graph, isAgentType, type Node } from '../../core/graph.ts';
import { humanGate, isHumanGate, questionKeys } from '../../core/human-gate.ts';
import { nearest, nearestAmong } from '../../core/nearest.ts';
import { mayLackGoal, nodeKeys, type Reference, references } from '../../core/references.ts';
import { type Attribute, present } from '../../core/settings/types.ts';
import { parseVars, variablesOf } from '../../core/variables.ts';
import { spanInValue } from '../../dot/literals.ts';
import { finding, type Rule } from '../rule.ts';

type Wrong = { readonly message: string; readonly fix: string; readonly instead?: string };
/** The known names, with a search for the nearest one. */
type Names = {
  readonly vars: ReadonlySet<string>;
  readonly nearestVar: (word: string) => string | undefined;
  readonly nearestNode: (word: string) => string | undefined;
  /** Whether the node runs for an item of a list. */
  readonly inItem: boolean;
};

function wrong(graph: Graph, names: Names, reference: Reference): Wrong | undefined {
  const { kind, key, written } = reference;
  switch (kind) {
    case 'item':
    case 'index':
      return names.inItem
        ? undefined
        : {
            message: `${written} has a value only in the branch of a fan-out with for_each`,
            fix: 'move the node into such a branch, or write $${ for the plain text',
          };
    case 'var': {
      if (names.vars.has(key)) return undefined;
      const meant = names.nearestVar(key);
      const isInput = written.startsWith('{{');
      const named = (name: string) => (isInput ? `{{ inputs.${name} }}` : `\${var.${name}}`);
      return {
        message: `the variable "${key}" is not declared`,
        ...(meant !== undefined
          ? { fix: `write ${named(meant)}`, instead: named(meant) }
          : { fix: `declare it: ${isInput ? `inputs="${key}"` : `vars="${key}=…"`}` }),
      };
    }
    case 'node': {
      const id = key.split('.', 1)[0] ?? '';
      const path = key.slice(id.length + 1);
      if (path === '') return { message: `${written} names no value of a node`, fix: 'write ${node.id.key}' };
      if (graph.nodes.has(id)) {
        if (nodeKeys.some((known) => known === path)) return undefined;
        const near = nearest(path, nodeKeys);
        return {
          message: `a node has no value "${path}": there are ${nodeKeys.join(', ')}`,
          fix: `write \${node.${id}.${near ?? 'outcome'}}`,
        };
      }
      const meant = names.nearestNode(id);
      const instead = `\${node.${meant}.${path}}`;
      return {
        message: `there is no node "${id}"`,
        ...(meant === undefined
          ? { fix: 'name a node of this graph' }
          : { fix: `write ${instead}`, instead }),
      };
    }
    case 'ctx':
      return key === '' ? { message: `${written} names no context key`, fix: 'write ${ctx.key}' } : undefined;
    case 'goal':
      // A bare $goal without a goal is left unchanged; ${goal} requires one.
      return mayLackGoal(reference) || graph.settings.goal !== undefined
        ? undefined
        : { message: 'the graph has no goal', fix: 'give the graph a goal="…"' };
  }
}

/** The attributes of a node that are expanded when it runs. The prompt and label are expanded only for agents and at human gates. */
function expanded(node: Node, type: string) {
  const commands = ['tool_command', 'command.run', 'for_each'].map((key) => present(node.attrs, key));
  const asked = isAgentType(type) ? asks(node) : type === humanGate ? question(node) : undefined;
  return [asked, ...commands].filter((a) => a !== undefined);
}

const question = ({ attrs }: Node): Attribute | undefined =>
  questionKeys.map((key) => present(attrs, key)).find((attribute) => attribute !== undefined);

function asks({ attrs, settings }: Node): Attribute | undefined {
  const file = present(attrs, 'prompt_file');
  if (file !== undefined) return file;
  if (!settings.prompt_expand) return undefined;
  return present(attrs, 'prompt') ?? present(attrs, 'label');
}

export const unknownReference: Rule = {
  code: 'unknown-reference',
  severity: 'error',
  rule: 'References in prompts and commands exist.',
  wrong: 'start; exit; a [prompt="say ${var.nope}"]; start -> a -> exit',
  fix: 'declare it: `vars="nope=…"`',
  needs: 'whole graph',
  *check({ graph, kindOf, options }) {
    const vars = variablesOf(graph).map(({ name }) => name);
    // Invalid entries are reported once, not at every use of their variable.
    const { vars: defaults = '', inputs = '' } = graph.settings;
    const meant = [defaults, inputs].flatMap((text) =>
      parseVars(text).problems.flatMap(({ name }) => name ?? []),
    );
    const names: Names = {
      vars: new Set([...vars, ...meant]),
      nearestVar: nearestAmong(vars),
      nearestNode: nearestAmong([...graph.nodes.keys()]),
      inItem: false,
    };
    const hasList = [...graph.nodes.values()].some((node) => listOf(node) !== undefined);
    for (const node of graph.nodes.values()) {
      const kind = kindOf.get(node.id);
      if (kind === undefined || !(kind.executable || isHumanGate(kind) || kind.type === fanOutType)) continue;
      const inItem = isInItem(graph, node.id);
      for (const attribute of expanded(node, kind.type)) {
        const own = attribute.value.text;
        const file = attribute.key === 'prompt' ? options.prompts?.get(own.trim()) : undefined;
        // Without a list anywhere, and in commands, the words are those of other programs.
        const mayAsk = inItem || (hasList && ['prompt', 'for_each'].includes(attribute.key));
        for (const reference of references(file ?? own, mayAsk)) {
          const found = wrong(graph, { ...names, inItem }, reference);
          if (found === undefined) continue;
          yield finding(graph, unknownReference, {
            message: file === undefined ? found.message : `in ${own.trim().slice(1)}: ${found.message}`,
            span:
              file === undefined
                ? spanInValue(graph, attribute, reference.at, reference.length)
                : attribute.valueSpan,
            fix: found.fix,
            instead: file === undefined ? found.instead : undefined,
          });
        }
      }
    }
  },
};
