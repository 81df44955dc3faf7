/** Every place of a text that names a node as a statement or as the end of an edge. */
import type { Range } from './lex.ts';
import { literalText } from './literals.ts';
import { piecesOf, rangeOf, type SyntaxTree } from './parse.ts';
import { rewrite } from './prepass.ts';

/** `isDeclared`: the place is the node's own statement, with or without attributes. */
export type Mention = Range & { readonly id: string; readonly isDeclared: boolean };

/** The places in the order of the text; of a text with mistakes those in the statements that can be read. Never throws. */
export function mentionsIn(text: string): readonly Mention[] {
  const found: Mention[] = [];
  for (const { base, trees } of piecesOf(text, rewrite(text), [])) collect(text, base, trees, found);
  return found.sort((a, b) => a.start - b.start);
}

function collect(text: string, base: number, trees: readonly SyntaxTree[], found: Mention[]): void {
  const add = (of: Parameters<typeof rangeOf>[1], isDeclared: boolean): void => {
    const range = rangeOf(base, of);
    found.push({ ...range, id: literalText(text, range), isDeclared });
  };
  for (const tree of trees) {
    if (tree.type === 'Subgraph') collect(text, base, tree.children, found);
    else if (tree.type === 'Node') add(tree.id, true);
    else if (tree.type === 'Edge')
      for (const target of tree.targets) {
        if (target.type === 'NodeRef') add(target.id, false);
        else for (const { id } of target.children) add(id, false);
      }
  }
}
