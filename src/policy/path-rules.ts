/** Path rules for words: nodes work inside their workspace and name everything relative to it. */

/** `..` between the ends of a path component, whatever punctuation the path is embedded in. */
const parent = /(?:^|[\s/;&|()'"`=:,{<>@])\.\.(?=$|[\s/;&|()'"`:,}<>])/;
/** `-I/usr`, `-I../x`, `-cf/tmp/x`: a path in one word with its option. */
const glued = /^-[A-Za-z]+(\/.+|\.\.(?:\/.*)?)$/s;

/** The problem with a word (quotes removed), to follow "contains"; undefined when there is none. A `pattern` may
 *  begin with a slash. */
export function pathProblem(word: string, isPattern = false): string | undefined {
  const inOption = isPattern ? '' : (glued.exec(word)?.[1] ?? '');
  const paths = [...beginnings(word), inOption];
  if (paths.some((path) => path.startsWith('~'))) return `a home reference: ${shown(word)}`;
  if (parent.test(word) || parent.test(inOption)) return `a ".." path component: ${shown(word)}`;
  if (!isPattern && paths.some(isAbsolute)) return `an absolute path: ${shown(word)}`;
  return undefined;
}

/** `/dev/null`, a process's own streams and `env`, which finds programs on PATH, lie outside the workspace and give access to
 *  nothing there. */
const isHarmless = (path: string): boolean =>
  /^\/(?:dev\/(?:null|stdin|stdout|stderr|fd\/\d+)|usr\/bin\/env)$/.test(path);
const isAbsolute = (path: string): boolean =>
  (path.startsWith('/') && !isHarmless(path)) || /^file:\//i.test(path);

/** Where a path may begin in a word: at its start, after `name=` or `--flag=`, and in the lists of variables such
 *  as `PATH`. */
function beginnings(word: string): readonly string[] {
  const found = [word];
  let rest = word;
  for (let name = /^[\w.+\-[\]]+=/.exec(rest); name !== null; name = /^[\w.+\-[\]]+=/.exec(rest)) {
    rest = rest.slice(name[0].length);
    found.push(rest);
  }
  // The two slashes of `http://` begin no path.
  const isAssignment = /^[A-Za-z_]\w*\+?=/.test(word);
  if (isAssignment)
    found.push(
      ...rest
        .split(':')
        .slice(1)
        .filter((part) => !part.startsWith('//')),
    );
  return found;
}

/** A word as messages show it: on one line and not too long. */
export function shown(word: string): string {
  const line = word.replace(/\s+/g, ' ');
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}
