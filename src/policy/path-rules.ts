/** What a word may not say about paths: stages work inside their workspace and name everything relative to it. */

/** `..` between the ends of a path component, whatever punctuation the path is embedded in. */
const parent = /(?:^|[\s/;&|()'"`=:,{<>@])\.\.(?=$|[\s/;&|()'"`:,}<>])/;

export type WordNature = {
  /** It is a pattern or the like, which may begin with a slash. */
  readonly pattern?: boolean;
  /** A shell would expand its braces. */
  readonly braces?: boolean;
};

/** What is wrong with a word (quotes removed), to be read after "contains"; undefined when nothing is. */
export function pathProblem(word: string, nature: WordNature = {}): string | undefined {
  const starts = [...beginnings(word, nature.braces === true)];
  if (starts.some((path) => path.startsWith('~'))) return `a home reference: ${shown(word)}`;
  // `-I/usr`, `-I../x`, and bundled as in `tar -cf/tmp/x`.
  const glued = nature.pattern === true ? undefined : /^-[A-Za-z]+(\/.+|\.\.(?:\/.*)?)$/s.exec(word)?.[1];
  if (parent.test(word) || (glued !== undefined && parent.test(glued))) {
    return `a ".." path component: ${shown(word)}`;
  }
  if (nature.pattern !== true && [...starts, glued ?? ''].some(isAbsolute)) {
    return `an absolute path: ${shown(word)}`;
  }
  return undefined;
}

const isAbsolute = (path: string): boolean =>
  (path.startsWith('/') && path !== '/dev/null') || /^file:\//i.test(path);

/** Where a path may begin in a word: at its head, after `name=` or `--flag=`, in the lists that variables such as
 *  `PATH` hold, and in each alternative of `{a,b}`. */
function* beginnings(word: string, braces: boolean): Generator<string> {
  yield word;
  let rest = word;
  for (;;) {
    const name = /^[\w.+\-[\]]+=/.exec(rest)?.[0];
    if (name === undefined) break;
    rest = rest.slice(name.length);
    yield rest;
  }
  if (/^[A-Za-z_]\w*\+?=/.test(word)) {
    // The two slashes of `http://` begin no path.
    yield* rest
      .split(':')
      .slice(1)
      .filter((part) => !part.startsWith('//'));
  }
  const alternatives = braces ? /^\{([^{}]*,[^{}]*)\}/.exec(word)?.[1] : undefined;
  yield* alternatives?.split(',') ?? [];
}

/** A word as messages show it: on one line and not too long. */
export function shown(word: string): string {
  const line = word.replace(/\s+/g, ' ');
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}
