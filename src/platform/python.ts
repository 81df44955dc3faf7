/** Checks Python programs with the installed Python, which will run them: syntax and imports. The programs are not executed. */
import * as z from 'zod';
import { jsonIn } from '../core/json.ts';
import { once } from '../core/once.ts';
import { outputOf } from './process/run-sync.ts';
export type PythonProgram =
  /** The modules imported anywhere in it, outermost statements first, with duplicates. A relative import counts by its
   *  module's name; `from . import x` has none. */
  | { readonly kind: 'valid'; readonly imports: readonly string[] }
  /** `problem` names the version and the line: `not valid Python 3.11: invalid syntax (line 1)`. */
  | { readonly kind: 'invalid'; readonly problem: string }
  | { readonly kind: 'unchecked'; readonly why: string };
/** By the program's text. */
export type PythonPrograms = ReadonlyMap<string, PythonProgram>;
const timeoutMs = 20_000;
/** Prints the version, then one line per program: a list of imports, a problem, or null if unknown. Each line is flushed,
 *  so that a program that crashes the parser only loses its own result and later ones. */
const checker = `
import ast, json, sys
print('%d.%d' % sys.version_info[:2], flush=True)
def imports(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
for text in json.load(sys.stdin.buffer):
    try:
        answer = list(imports(ast.parse(text)))
    except SyntaxError as error:
        answer = '%s (line %s)' % (error.msg, error.lineno)
    except ValueError as error:
        answer = str(error)
    except (MemoryError, RecursionError):
        answer = None
    print(json.dumps(answer), flush=True)
`;

const answerZodSchema = once(() => z.union([z.array(z.string()), z.string()]));

/** Checks programs, by their text. Starts one Python for all of them, none without programs. Never throws. */
export function readPython(texts: readonly string[]): PythonPrograms {
  const distinct = [...new Set(texts)];
  if (distinct.length === 0) return new Map();
  // Arguments of programs are UTF-8, which has no lone surrogates.
  const input = JSON.stringify(distinct.map((text) => Buffer.from(text).toString()));
  // Isolated and without site packages: no module of the workspace or of the user's settings is loaded.
  const printed = outputOf('python3', ['-I', '-S', '-c', checker], { input, timeoutMs });
  const [version = '', ...lines] = printed.split('\n');
  return new Map(distinct.map((text, at) => [text, programOf(version, lines[at])]));
}

function programOf(version: string, line: string | undefined): PythonProgram {
  if (!/^\d+\.\d+$/.test(version)) return { kind: 'unchecked', why: 'no python3' };
  // A crash leaves an incomplete line.
  const answer = answerZodSchema().safeParse(jsonIn(line ?? ''));
  if (!answer.success) return { kind: 'unchecked', why: 'python3 gave no answer' };
  return typeof answer.data === 'string'
    ? { kind: 'invalid', problem: `not valid Python ${version}: ${answer.data}` }
    : { kind: 'valid', imports: answer.data };
}
