/** What can be known of a `node -e` program without running it: whether it is JavaScript, and what it imports.
 *
 *  A script is compiled by the very V8 that runs this, so what counts as JavaScript is what this Node understands. A
 *  module's import and export declarations are held to a simpler grammar of our own (see `asFunction`), and what is
 *  left is compiled as the body of an async function: names that are exported without being declared go unnoticed.
 *  TypeScript is refused: only some versions of Node run it. */
import { Script } from 'node:vm';
import { asFunction } from './javascript/modules.ts';
import { type Token, tokens } from './javascript/tokens.ts';

export type JavaScriptImport = { readonly name: string; readonly how: 'require' | 'import' };

export type JavaScriptProgram = {
  /** Why it is not JavaScript, with the line where that is known; undefined when it is. */
  readonly problem: string | undefined;
  /** What it imports by a literal name, in order, repetitions kept; none when there is a problem. */
  readonly imports: readonly JavaScriptImport[];
};

/** `module` and `commonjs` as `--input-type` says; `either` is Node's own choice, by what the program contains. */
export type JavaScriptKind = 'module' | 'commonjs' | 'either';

/** Reads a program. Never throws, and runs nothing, whatever the text. */
export function readJavaScript(source: string, kind: JavaScriptKind): JavaScriptProgram {
  const asScript = kind === 'module' ? undefined : compileProblem(source, 0);
  if (kind !== 'module' && asScript === undefined) {
    return { problem: undefined, imports: importsOf(tokens(source)) };
  }
  const read = tokens(source);
  const asModule = asFunction(source, read);
  if (kind === 'commonjs' || (kind === 'either' && !asModule.isModule)) {
    return { problem: asScript, imports: [] };
  }
  const problem = asModule.problem ?? compileProblem(asModule.text, 1);
  return { problem, imports: problem === undefined ? importsOf(read) : [] };
}

/** `before`: lines that stand before the program's own. */
function compileProblem(text: string, before: number): string | undefined {
  try {
    new Script(text, { filename: 'program' });
    return undefined;
  } catch (error) {
    if (error instanceof RangeError) return 'it is nested too deep';
    if (!(error instanceof Error)) return String(error);
    const line = /^program:(\d+)/.exec(error.stack ?? '')?.[1];
    return line === undefined
      ? error.message
      : `${error.message} (line ${Math.max(1, Number(line) - before)})`;
  }
}

function importsOf(read: readonly Token[]): JavaScriptImport[] {
  return read.flatMap((token, at): JavaScriptImport[] => {
    if (token.kind !== 'name' || read[at - 1]?.text === '.') return [];
    const next = read[at + 1];
    const name = read[at + 2];
    if (next?.text === '(' && name?.kind === 'string' && /^[),]$/.test(read[at + 3]?.text ?? '')) {
      if (token.text === 'require' || token.text === 'import') return [{ name: name.value, how: token.text }];
    }
    if (token.text === 'import' && next?.kind === 'string') return [{ name: next.value, how: 'import' }];
    if (token.text === 'from' && next?.kind === 'string' && declares(read, at))
      return [{ name: next.value, how: 'import' }];
    return [];
  });
}

/** Whether the `from` at `at` belongs to an import or export declaration. */
function declares(read: readonly Token[], at: number): boolean {
  for (let i = at - 1; i >= 0; i--) {
    const { kind, text, depth } = read[i] ?? { kind: 'punctuation', text: ';', depth: 0 };
    if (text === 'import' || text === 'export') return true;
    // Strings that are names stand in braces.
    if (kind === 'string' && depth === read[at]?.depth) return false;
    if (kind !== 'name' && kind !== 'string' && !/^[{},*]$/.test(text)) return false;
  }
  return false;
}
