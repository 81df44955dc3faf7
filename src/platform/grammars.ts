/** Syntax trees by tree-sitter: grammars in WebAssembly with their runtime, which need no compiler. Loaded when the first text
 *  is parsed, and by nothing else. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliDecompressSync } from 'node:zlib';
import type * as Runtime from '@vscode/tree-sitter-wasm';

export type GrammarName =
  | 'javascript'
  | 'typescript'
  | 'tsx'
  | 'python'
  | 'go'
  | 'rust'
  | 'java'
  | 'bash'
  | 'regex';

/** A node of a tree, without the memory of the runtime. Offsets count UTF-16 units; lines begin at 1. */
export interface SyntaxNode {
  readonly type: string;
  /** Whether it is a rule of the grammar; others are tokens such as `+`. */
  readonly named: boolean;
  /** What it is of its parent: `condition`, `left` … */
  readonly field: string | undefined;
  readonly start: number;
  readonly end: number;
  readonly line: number;
  readonly text: string;
  /** Whether the grammar did not understand it. */
  readonly broken: boolean;
  readonly parent: SyntaxNode | undefined;
  readonly children: readonly SyntaxNode[];
}

/** A text with its tree, which holds memory of the runtime until it is closed. */
export interface ParsedSource {
  readonly root: SyntaxNode;
  /** How many places the grammar does not understand, in the text or with a part of it replaced. */
  errors(change?: { readonly start: number; readonly end: number; readonly replacement: string }): number;
  close(): void;
}

/** The files that the build made, or those of the package. */
function openPackage(): { readonly runtime: typeof Runtime; readonly read: (name: string) => Uint8Array } {
  const require = createRequire(import.meta.url);
  const built = fileURLToPath(new URL('./tree-sitter.cjs', import.meta.url));
  if (existsSync(built)) {
    const folder = join(dirname(built), 'grammars');
    return {
      runtime: require(built),
      read: (name) => brotliDecompressSync(readFileSync(join(folder, `${name}.br`))),
    };
  }
  const module = require.resolve('@vscode/tree-sitter-wasm');
  return { runtime: require(module), read: (name) => readFileSync(join(dirname(module), name)) };
}

async function start() {
  const { runtime, read } = openPackage();
  // It asks where its file is even if it has the bytes.
  const options = { wasmBinary: read('tree-sitter.wasm'), locateFile: (file: string) => file };
  await runtime.Parser.init(options);
  return { runtime, read };
}

let started: ReturnType<typeof start> | undefined;
const parsers = new Map<GrammarName, Promise<Runtime.Parser>>();

async function createParser(grammar: GrammarName): Promise<Runtime.Parser> {
  started ??= start();
  const { runtime, read } = await started;
  const language = await runtime.Language.load(read(`tree-sitter-${grammar}.wasm`));
  return new runtime.Parser().setLanguage(language);
}

const parserOf = (grammar: GrammarName): Promise<Runtime.Parser> => {
  const parser = parsers.get(grammar) ?? createParser(grammar);
  parsers.set(grammar, parser);
  return parser;
};

export async function parseSource(grammar: GrammarName, text: string): Promise<ParsedSource> {
  const parser = await parserOf(grammar);
  const tree = parse(parser, text);
  const pointOf = pointsOf(text);
  return {
    root: plainTree(tree, text),
    errors(change) {
      if (change === undefined) return errorsIn(tree);
      const edited = tree.copy();
      const { start, end, replacement } = change;
      const startPosition = pointOf(start);
      edited.edit({
        startIndex: start,
        oldEndIndex: end,
        newEndIndex: start + replacement.length,
        startPosition,
        oldEndPosition: pointOf(end),
        newEndPosition: after(startPosition, replacement),
      });
      const parsed = parse(parser, `${text.slice(0, start)}${replacement}${text.slice(end)}`, edited);
      const errors = errorsIn(parsed);
      edited.delete();
      parsed.delete();
      return errors;
    },
    close: () => tree.delete(),
  };
}

function parse(parser: Runtime.Parser, text: string, old?: Runtime.Tree): Runtime.Tree {
  const tree = parser.parse(text, old);
  if (tree === null) throw new Error('Internal: a parser without a language');
  return tree;
}

function errorsIn(tree: Runtime.Tree): number {
  if (!tree.rootNode.hasError) return 0;
  let errors = 0;
  const cursor = tree.walk();
  for (let more = true; more; ) {
    const node = cursor.currentNode;
    if (node.isError || node.isMissing) errors += 1;
    // A subtree without errors is as good as a leaf.
    more = (node.hasError && cursor.gotoFirstChild()) || cursor.gotoNextSibling();
    while (!more && cursor.gotoParent()) more = cursor.gotoNextSibling();
  }
  cursor.delete();
  return errors;
}

function plainTree(tree: Runtime.Tree, text: string): SyntaxNode {
  const cursor = tree.walk();
  const take = (parent: SyntaxNode | undefined): SyntaxNode => {
    const [start, end] = [cursor.startIndex, cursor.endIndex];
    const children: SyntaxNode[] = [];
    const { nodeType, nodeIsNamed } = cursor;
    const node: SyntaxNode = {
      type: nodeType,
      named: nodeIsNamed,
      field: cursor.currentFieldName ?? undefined,
      start,
      end,
      line: cursor.startPosition.row + 1,
      text: text.slice(start, end),
      broken: nodeType === 'ERROR' || cursor.nodeIsMissing,
      parent,
      children,
    };
    if (cursor.gotoFirstChild()) {
      do children.push(take(node));
      while (cursor.gotoNextSibling());
      cursor.gotoParent();
    }
    return node;
  };
  const root = take(undefined);
  cursor.delete();
  return root;
}

/** Row and column of an offset, from 0. */
export function pointsOf(text: string): (offset: number) => Runtime.Point {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    let [low, high] = [0, starts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return { row: low, column: offset - (starts[low] ?? 0) };
  };
}

/** Where a text ends that begins there. */
function after(point: Runtime.Point, text: string): Runtime.Point {
  const rows = text.split('\n');
  const last = rows.at(-1)?.length ?? 0;
  return rows.length === 1
    ? { row: point.row, column: point.column + last }
    : { row: point.row + rows.length - 1, column: last };
}
