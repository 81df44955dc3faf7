/** The git commands that a check may run where commits hold holdout files: they print how the workspace differs
 *  from the commits, and the commits' names. Any other command prints content, or starts a program that could. */
const file = String.raw`(?!-|.*\.\.)[\w./-]*`;
const words = (...each: readonly string[]): RegExp => new RegExp(`^(?:${each.join('|')})$`);
const questions: Readonly<Record<string, RegExp>> = {
  status: words('-s', '-b', '-sb', '--short', '--branch', '--porcelain(?:=v[12])?', '-u\\w*', file),
  // A name without a dot could be a commit's.
  diff: words(
    '--exit-code|--quiet|--check|--stat|--numstat|--shortstat|--name-only|--name-status|--cached|--staged|HEAD',
    String.raw`${file}\.\w+`,
  ),
  log: words(String.raw`-n?\d+`, '--oneline', String.raw`--(?:pretty|format)=[%\w: -]*`),
  'rev-parse': words('--verify|--quiet|-q|--short|--is-inside-work-tree|--show-toplevel|HEAD'),
};

/** After `--`, every name is a path. */
const path = words(file);

/** Whether an argv of git is one of these commands. */
export function showsNoCommit([program, question = '', ...more]: readonly string[]): boolean {
  const asked = Object.hasOwn(questions, question) ? questions[question] : undefined;
  const end = more.includes('--') ? more.indexOf('--') : more.length;
  return (
    program === 'git' &&
    asked !== undefined &&
    more.slice(0, end).every((word) => asked.test(word)) &&
    more.slice(end + 1).every((word) => path.test(word))
  );
}
