/** What can be known of a `python -c` program without Python: whether it is grammatical, and what it imports. */
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
