/** Checks `node -e` programs without running them: whether they are JavaScript, and what they import. TypeScript is
 *  refused: only some versions of Node run it. */
import { type AnyNode, type Program, parse, type Token } from 'acorn';

export type JavaScriptImport = { readonly name: string; readonly how: 'require' | 'import' };

export type JavaScriptProgram = {
  /** Why it is not JavaScript, with line and column; undefined if it is. */
  readonly problem: string | undefined;
  /** Its imports with a literal name, in order, with duplicates; empty if there is a problem. */
  readonly imports: readonly JavaScriptImport[];
};

/** `module` and `commonjs` as `--input-type` says; `either`: Node chooses by the program's syntax. */
export type JavaScriptKind = 'module' | 'commonjs' | 'either';

const sourceTypes = { module: ['module'], commonjs: ['script'], either: ['script', 'module'] } as const;

/** Parses a program like Node: as a script if it is one, else as a module. Never throws. */
export function readJavaScript(source: string, kind: JavaScriptKind): JavaScriptProgram {
  let furthest = { message: '', pos: -1 };
  for (const sourceType of sourceTypes[kind]) {
    try {
      const program = parse(source, { ecmaVersion: 'latest', sourceType, onToken: depthLimit() });
      return { problem: undefined, imports: importsOf(program) };
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      // Report the error of the parse that got further.
      const pos = 'pos' in error ? Number(error.pos) : 0;
      if (pos >= furthest.pos) furthest = { message: error.message, pos };
    }
  }
  return { problem: furthest.message, imports: [] };
}

/** Limits the parser's depth: close to a stack overflow V8 aborts the process when it compiles a regular expression. */
function depthLimit(): (token: Token) => void {
  let depth = 0;
  return ({ type: { label } }) => {
    if (['(', '[', '{', '${'].includes(label)) depth++;
    if ([')', ']', '}'].includes(label)) depth--;
    if (depth > 200) throw new SyntaxError('brackets are nested deeper than 200 levels');
  };
}

function importsOf(program: Program): JavaScriptImport[] {
  const found: (JavaScriptImport & { readonly at: number })[] = [];
  const open: AnyNode[] = [program];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    const one = importOf(node);
    if (one !== undefined) found.push({ ...one, at: node.start });
    open.push(...Object.values(node).flat().filter(isNode));
  }
  return found.sort((a, b) => a.at - b.at).map(({ name, how }) => ({ name, how }));
}

const isNode = (value: unknown): value is AnyNode =>
  typeof value === 'object' && value !== null && 'type' in value;

function importOf(node: AnyNode): JavaScriptImport | undefined {
  if (node.type !== 'CallExpression') return 'source' in node ? named(node.source, 'import') : undefined;
  const isRequire = node.callee.type === 'Identifier' && node.callee.name === 'require';
  return isRequire ? named(node.arguments[0], 'require') : undefined;
}

const named = (name: AnyNode | null | undefined, how: JavaScriptImport['how']) =>
  name?.type === 'Literal' && typeof name.value === 'string' ? { name: name.value, how } : undefined;

/** Modules that an acceptance command may import although no work order provides them. */
export const ordinaryModules: ReadonlySet<string> = new Set(
  `abc ast asyncio base64 builtins collections contextlib copy csv dataclasses datetime decimal enum functools glob
  hashlib importlib inspect io itertools json logging math multiprocessing operator os pathlib pickle pprint queue
  random re shlex shutil signal socket sqlite3 string struct subprocess sys tempfile textwrap threading time traceback
  typing unittest urllib uuid warnings zipfile pytest pydantic numpy pip`.split(/\s+/),
);
