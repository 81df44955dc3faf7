/** What can be known of a `python -c` program without Python: whether it is grammatical, and what it imports.
 *
 *  The grammar under `python/` is written here because what npm has is made for editors and answers another question:
 *  `@lezer/python` 1.1.19 refuses valid programs (`x = 1.`, `x[*a]`, `with (open(a) as b, open(c) as d): pass`) and
 *  takes invalid ones (`f() = 1`, `0777`, `def f(a=1, b): pass`, `try: pass`). Ours answers as the `ast.parse` of
 *  Python 3.11 does, wherever the two were compared, except that
 *  - what newer Pythons added is accepted: `type X = int`, `def f[T](x)`, the same quotes inside an f-string again;
 *  - where a statement begins with a backslash at the end of a line, the next line's indentation is passed over;
 *  - names in `"\N{...}"` and lone surrogates are not looked at;
 *  - more than 401 operators before one operand (`not not ... x`) are refused; brackets nest 200 deep, as there.
 *
 *  As with `ast.parse`, what only Python's compiler finds is no matter of grammar and is accepted: `return` and `await`
 *  outside functions, `break` outside loops, the same parameter twice. */
import { parseProgram } from './python/statements.ts';
import { PythonSyntaxError } from './python/syntax-error.ts';

export type PythonProgram = {
  /** Why the program is not grammatical, with its line; undefined when it is. */
  readonly problem: string | undefined;
  /** The modules imported anywhere in it, outermost statements first, repetitions kept; none when there is a problem.
   *  A relative import counts as its module's name; `from . import x` names none. */
  readonly imports: readonly string[];
};

/** Reads a program. Never throws, whatever the text. */
export function readPython(source: string): PythonProgram {
  try {
    return { problem: undefined, imports: parseProgram(source) };
  } catch (error) {
    if (error instanceof PythonSyntaxError) return { problem: error.message, imports: [] };
    throw error;
  }
}

/** Modules that an acceptance command may import without any work order providing them. */
export const ordinaryModules: ReadonlySet<string> = new Set(
  `abc ast asyncio base64 builtins collections contextlib copy csv dataclasses datetime decimal enum functools glob
  hashlib importlib inspect io itertools json logging math multiprocessing operator os pathlib pickle pprint queue
  random re shlex shutil signal socket sqlite3 string struct subprocess sys tempfile textwrap threading time traceback
  typing unittest urllib uuid warnings zipfile pytest pydantic numpy pip`.split(/\s+/),
);
