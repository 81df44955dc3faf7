/** The own end of a scenario in bash that sources the product, which could end the shell with exit code 0. */
import { quoteWord } from '../core/policy/words.ts';
import { productStarts, type ScriptFile } from './starts.ts';

/** What behaves differently in a script that another one sources, or ends it without `exit`. */
const unlike =
  /\(\s*return\b|\breturn\b.*2>|\bFUNCNAME\b|\bcaller\b|BASH_SOURCE\[-|\bposix\b|\bexec\s+(?!\d*[<>]|\{\w+\}[<>])|\bRETURN\b|\bBASH_ENV\b|\b(?:builtin|command)\s+exit\b/;

/** Whether a file of the scenario sources the product, and nothing in them would behave differently when watched. */
export const isWatchedInBash = (files: readonly ScriptFile[]): boolean =>
  files.some(({ name, text }) =>
    productStarts(name, text).some((start) => /^(?:source|\.)\s/.test(start.text)),
  ) && !files.some(({ text }) => unlike.test(text));

/** The program that sources the script as if it were the main one: `$0`, `BASH_SOURCE` and error messages look as without it. */
export const bashRunner = (
  variable: string,
  { script, folder, app, helper }: Readonly<Record<'script' | 'folder' | 'app' | 'helper', string>>,
): string => `__own_mark=$${variable}
unset ${variable}
if [ "\${BASH_VERSINFO[0]}" -lt 5 ] || [ -o posix ]; then
  printf 0 >"$__own_mark"
  exec bash ${quoteWord(script)} "$@"
fi
readonly __own_mark
__own_is() {
  case $1 in
    ${quoteWord(app)}/* | ${quoteWord(helper)}) return 1 ;;
    /*) return 0 ;;
    *) [ -e ${quoteWord(folder)}/"$1" ] ;;
  esac
}
exit() {
  local __own_code=\${1-$?}
  if [ "$BASH_SUBSHELL" = 0 ] && __own_is "\${BASH_SOURCE[1]}"; then
    builtin printf %s "$__own_code" >"$__own_mark"
  fi
  builtin exit "$__own_code"
}
BASH_ARGV0=${quoteWord(script)}
source ${quoteWord(script)} "$@"
__own_code=$?
builtin printf %s "$__own_code" >"$__own_mark"
builtin exit "$__own_code"
`;
