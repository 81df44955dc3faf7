/** Says why a program is not grammatical Python. */

/** Thrown while a program is read, and caught where reading began. */
export class PythonSyntaxError extends Error {
  /** `at`: the offset in `source` of what is wrong. */
  constructor(why: string, source: string, at: number) {
    super(`${why} (line ${source.slice(0, at).split('\n').length})`);
  }
}
