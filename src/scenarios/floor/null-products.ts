/** Products that do nothing: what `"$APP_RUN" …` does in their place. A suite of scenarios that accepts one of them shows nothing. */

export const nullProducts = ['silent', 'failing', 'refusing', 'echo', 'absent'] as const;
export type NullProduct = (typeof nullProducts)[number];

/** What each does, after "a product that". */
export const nullProductWords: Readonly<Record<NullProduct, string>> = {
  silent: 'prints nothing and ends with exit code 0',
  failing: 'prints nothing and ends with exit code 1',
  refusing: 'prints one line on standard error and ends with exit code 2',
  echo: 'prints its arguments and ends with exit code 0',
  absent: 'is missing (exit code 127, no files)',
};

/** Of `node bin/x.js a b` the product's own arguments are `a b`. */
const echoed = `program=$1
shift
case \${program##*/} in
  sh | bash | dash | zsh | node | nodejs | bun | deno | ruby | perl | php | java | python* | pypy*)
    while :; do case \${1-} in -?*) shift ;; *) break ;; esac; done
    [ "$#" -eq 0 ] || shift ;;
esac
printf '%s\\n' "$*"`;

const answers: Readonly<Record<NullProduct, string>> = {
  silent: 'exit 0',
  failing: 'exit 1',
  refusing: "echo 'error: this cannot be done' >&2\nexit 2",
  echo: echoed,
  absent: `echo "APP_RUN: 1: $1: not found" >&2\nexit 127`,
};

/** The launcher that answers as this product would. */
export const nullLauncher = (product: NullProduct): string => `#!/bin/sh
[ "$#" -gt 0 ] || { echo 'APP_RUN: no program is given: "$APP_RUN" PROGRAM ARGUMENTS…' >&2; exit 125; }
${answers[product]}
`;
