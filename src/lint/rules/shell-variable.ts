/** A reference to a value of the run is written in a form that is replaced. */
import { type Graph, isAgentType, type Node } from '../../core/graph.ts';
import { nodeKeys, references } from '../../core/references.ts';
import { type Attribute, present } from '../../core/settings/types.ts';
import { variablesOf } from '../../core/variables.ts';
import { spanInValue } from '../../dot/literals.ts';
import { finding, type Rule } from '../rule.ts';

export const shellVariable: Rule = {
  code: 'shell-variable',
  severity: 'warning',
  rule: 'A variable of the graph is named as `${var.x}`: `${x}` and, in a command, `$x` are variables of the shell, and `${x}` in a prompt is plain text.',
  wrong: 'vars="x=1"; start; exit; a [shape=parallelogram, tool_command="echo ${x}"]; start -> a -> exit',
  fix: '`${var.x}`',
  needs: 'whole graph',
  *check({ graph, kindOf, options }) {
    const vars = new Set(variablesOf(graph).map(({ name }) => name));
    for (const node of graph.nodes.values()) {
      if (kindOf.get(node.id)?.executable !== true) continue;
      for (const [attribute, isCommand] of textsOf(node)) {
        const own = attribute.value.text;
        const file = attribute.key === 'prompt' ? options.prompts?.get(own.trim()) : undefined;
        for (const { at, written, meant } of slipsIn(file ?? own, isCommand, { graph, vars })) {
          yield finding(graph, shellVariable, {
            message: `${file === undefined ? '' : `in ${own.trim().slice(1)}: `}${written} is ${isCommand ? `left to the shell, which knows no such variable` : 'plain text here, and no value replaces it'}`,
            span:
              file === undefined ? spanInValue(graph, attribute, at, written.length) : attribute.valueSpan,
            fix: `write ${meant}`,
            instead: file === undefined ? meant : undefined,
          });
        }
      }
    }
  },
};

/** What is expanded when the node runs, and whether a shell or a program gets it as a command. */
function textsOf(node: Node): readonly (readonly [Attribute, boolean])[] {
  const commands = ['tool_command', 'command.run'].map((key) => present(node.attrs, key));
  const prompt =
    isAgentType(node.type) && node.settings.prompt_expand ? present(node.attrs, 'prompt') : undefined;
  return [
    ...commands.flatMap((one): [Attribute, boolean][] => (one === undefined ? [] : [[one, true]])),
    ...(prompt === undefined ? [] : [[prompt, false] as const]),
  ];
}

type Slip = { readonly at: number; readonly written: string; readonly meant: string };
type Known = { readonly graph: Graph; readonly vars: ReadonlySet<string> };

/** `${x}`, `$x`, `{{x}}`, and `${word.x}` with another word than var, ctx and node. */
const forms =
  /\$\{\s*([A-Za-z_][\w-]*)(?:\s*[.:]\s*([\w.-]+))?\s*\}|\$([A-Za-z_]\w*)(?:\.([\w-]+))?|\{\{\s*(?:vars?\.)?([\w-]+)\s*\}\}/g;

function* slipsIn(text: string, isCommand: boolean, known: Known): Generator<Slip> {
  const read = new Set(references(text).map(({ at }) => at));
  for (const match of text.matchAll(forms)) {
    const { index: at, 0: written } = match;
    // `$${` is a literal; a text in single quotes is no business of the shell.
    if (read.has(at) || text[at - 1] === '$' || (isCommand && isSingleQuoted(text, at))) continue;
    const [, braced, part, bare, member, curly] = match;
    const isBare = bare !== undefined;
    const word = braced ?? bare ?? '';
    const rest = part ?? (/^vars?$/.test(word) ? member : undefined);
    const meant = rest === undefined ? variable(curly ?? word, known) : dotted(word, rest, known);
    if (meant === undefined) continue;
    if (rest === undefined && (isBare ? !isCommand : false)) continue;
    if (rest === undefined && isCommand && curly === undefined && isAssigned(text, word)) continue;
    yield { at, written: rest === undefined && isBare ? `$${word}` : written, meant };
  }
}

const variable = (name: string, { vars }: Known): string | undefined =>
  vars.has(name) ? `\${var.${name}}` : undefined;

function dotted(word: string, rest: string, { vars, graph }: Known): string | undefined {
  if (/^(?:vars?|variables?|params?|inputs?|args?)$/i.test(word) && vars.has(rest)) return `\${var.${rest}}`;
  if (/^(?:ctx|context)$/i.test(word)) return `\${ctx.${rest}}`;
  const [id = '', key = ''] = /^nodes?$/i.test(word) ? rest.split(/\.(.*)/) : [word, rest];
  return graph.nodes.has(id) && nodeKeys.some((one) => one === key) ? `\${node.${id}.${key}}` : undefined;
}

/** An odd number of single quotes before, those in double quotes not counted. */
const isSingleQuoted = (text: string, at: number): boolean =>
  (
    text
      .slice(0, at)
      .replace(/"(?:[^"\\]|\\[\s\S])*"/g, '')
      .match(/'/g) ?? []
  ).length %
    2 ===
  1;

/** Whether a command sets the shell variable itself. */
const isAssigned = (text: string, name: string): boolean =>
  new RegExp(
    `(?:^|[\\s;&|({\`])${name}\\+?=|\\b(?:for|select|read|mapfile|readarray|getopts|printf|export|declare|local|typeset|readonly|let)\\b[^;&|\\n]*\\b${name}\\b|\\$\\{${name}:?[=-]`,
  ).test(text);
