#!/usr/bin/env bash
# Which links and headings linkcheck sees in Markdown, and which of them are good, by its specification alone.
#
#   SCENARIO_MODE=selftest|live linkcheck_markdown_user_scenarios.sh APP_DIR
#
# The pages say themselves what is right: a target with "lost" in it leads nowhere, one with "never" is no link, all others are good.
# canary: sandpiper-6153-rowan-markdown-pages
set -u
APP_RUN=${APP_RUN:-env}
# What the product must not see: expected values, and what it printed.
work=$(mktemp -d "${TMPDIR:-/tmp}/linkcheck.XXXXXX") || exit 86
site=${SCENARIO_TMP:-$work}/site
trap 'rm -rf "$work"' EXIT
failures=0
differ() {
  printf 'FAIL: %s\n  expected: %s\n  observed: %s\n' "$1" "$2" "$3"
  failures=$((failures + 1))
}

make_site() {
  mkdir -p "$1/pages/sub" "$1/pages/sub.md" && cd "$1/pages" || exit 86
  cat >links.md <<'PAGE'
# Links

Three [on](lost-1.md) a [line](lost-2.md), the [last](lost-3.md).
![an image](lost-image.png) and [![an image](lost-inner.png)](lost-around-an-image.md).
[`code`](lost-behind-code.md), [a *word*](lost-behind-emphasis.md).
[a title](lost-title.md   "Two words"), [another](lost-quote.md 'Two words'), [in (brackets)](<lost (page).md> "Title").
- [in a list](lost-in-a-list.md)
> [in a quotation](lost-in-a-quotation.md)

| [in a table](lost-in-a-table.md) |
|---|

A [name][first], [another] and a [word]: never-inside-a-line.md

[first]: lost-definition.md
[another]: <lost definition.md> "A title"
[third]:   lost-definition.md   'A title'
PAGE
  sed 's/BLANKS$/  /' >code.md <<'PAGE'
# Code

`[x](never-in-code.md)`, [behind code](lost-behind-code.md), ``[x](never-1.md) ` [x](never-2.md)`` [and](lost-behind-two.md).
```
[x](never-in-a-fence.md)
~~~
[x](never-behind-tildes-in-it.md)
``` is not its end
[x](never-behind-backticks-with-words.md)
```BLANKS
[after it](lost-after-a-fence.md)

~~~ md
[x](never-in-tildes.md)
```
[x](never-behind-backticks-in-it.md)
~~~
[after it](lost-after-tildes.md)

````md
```
[x](never-in-a-longer-fence.md)
```
[x](never-behind-a-shorter-one.md)
`````
[after it](lost-after-a-longer-fence.md)

   ```
   [x](never-in-an-indented-fence.md)
   ```
[after it](lost-after-an-indented-fence.md)

Backticks ``` in a line open no fence.
[after them](lost-after-backticks-in-a-line.md)

```Nor do these```
[after them](lost-after-code-in-a-line.md)

`Code over
[x](never-in-code-over-lines.md)
lines`, a backtick ` alone, [then a link](lost-behind-a-backtick.md).

Another backtick ` alone, [then a link](lost-behind-another-backtick.md).

```
[x](never-in-a-fence-without-an-end.md)
PAGE
  cat >comments.md <<'PAGE'
# Comments

[before](lost-before.md) <!-- [x](never-in-a-comment.md) --> [between](lost-between.md) <!-- [x](never-in-another.md) -->
<!-- [x](never-on-the-first-line.md)

[x](never-on-the-third-line.md) --> [after it](lost-after-several-lines.md)
`<!--` [behind code](lost-behind-code.md)
PAGE
  cat >addresses.md <<'PAGE'
# Addresses

Folders: [one](sub), [one](sub/), [the one above](..), [none](lost-folder/).
From where it runs: [a page](/pages/links.md), [none](/lost.md), [none](/links.md?lost).
Itself: [a heading](#addresses), [none](#lost-heading), [with a query](?a=b#addresses), [none](?a=b#lost).
Queries: [good](links.md?plain=1), [good](links.md?plain=1#links), [none](lost.md?plain=1), [none](links.md?plain=1#lost).
Encoded: [good](a%23b.md), [good](what%3F.md#c-d), [good](half%20of%2050%25.md), [good](sub/page_(12).md#two), [none](lost%20page.md).
Encoded: [good](headings.md#caf%C3%A9), [good](headings.md#café), [broken off](lost-50%.md), [not UTF-8](lost-%E0%A4.md).
Colons: [a file](sub/at-12:30.md), [none](sub/lost:30.md).
Other sites: [a](https://example.org/a.md#b), [b](HTTP://example.org), [c](//example.org/c.md), [d](mailto:a@example.org),
[e](tel:123), [f](git+ssh://example.org/f), <https://example.org/never>.
Not Markdown: [a line](sub/code.js#L10), [a folder](sub#part), [another](sub.md#part), [none](sub/lost.js#L10).
The other ending: [good](sub/page.markdown#page), [none](sub/page.markdown#lost).
PAGE
  cat >headings.md <<'PAGE'
# What's *new* in 2.0?
## The `--json` option
## snake_case & kebab-case
###  Café  ###
  ###### See [the links](links.md)
  Underlined
==========

Underlined too
---

No heading
but dashes ---
---and words

## Ruled
---

---

## Same
## same
## Same
####### Seven
#Hash
text # Middle

```sh
# Fenced
```

<!--
# Commented
<a id="commented"></a> -->
<a id="by-id"></a> <p class="a" id='by-quote'>x</p> <img id = bare> <br data-id="by-data"> `<a id="by-code">` id="by-text"

[1](#whats-new-in-20), [2](#the---json-option), [3](#snake_case--kebab-case), [4](#café), [5](#see-the-links),
[6](#underlined), [7](#underlined-too), [8](#same), [9](#same-1), [10](#same-2), [11](?lost#same-3), [12](?lost#same-0),
[13](?lost#seven), [14](?lost#hash), [15](?lost#middle), [16](?lost#fenced), [17](?lost#commented), [18](?lost#what's-new-in-20),
[19](#by-id), [20](#by-quote), [21](?lost#by-data), [22](?lost#by-code), [23](?lost#by-text), [24](?lost#text), [25](#bare),
[26](?lost#no-heading), [27](?lost#but-dashes----), [28](#ruled), [29](?lost#ruled-1), [30](?lost#-ruled), [31](?lost#-1).
PAGE
  printf '# C\r\n\r\n## C D\r\n\r\n[good](#c-d)\r\n[none](#lost)\r\n[none](lost.md)\r\n' >'what?.md'
  touch 'a#b.md' 'half of 50%.md' sub/at-12:30.md sub/code.js
  echo '# Page' >sub/page.markdown
  echo '# Two' >'sub/page_(12).md'
}
total=': 104 links in 11 files, 6 to other sites.'

# wanted: what must be reported of the pages here, without columns.
wanted() {
  grep -rnoE '<[^<>]*lost[^<>]*>|[^][:space:]()<>]*lost[^][:space:]()<>]*' pages | tr -d '<>' |
    sed 's/^\([^:]*:[0-9]*\):\([^?#]*lost.*\)$/\1: no such file: \2/; t
      s/^\([^:]*:[0-9]*\):\(.*#.*\)$/\1: no such heading: \2/; t
      s/^\([^:]*:[0-9]*\):/\1: no such file: /' | sort
}

# check_report CODE OUT: exit code 1, these links and no others, all of them counted.
check_report() {
  [ "$(cat "$1")" = 1 ] || differ 'pages with broken links: exit code' 1 "$(cat "$1")"
  wanted >"$work/wanted"
  sed -n 's/^\([^:]*:[0-9]*\):[0-9]*: /\1: /p' "$2" | sort >"$work/seen"
  while IFS= read -r one; do differ 'a broken link is not reported' "$one" 'nothing, or something else'; done \
    < <(comm -23 "$work/wanted" "$work/seen")
  while IFS= read -r one; do differ 'what is reported is no broken link' 'nothing' "$one"; done \
    < <(comm -13 "$work/wanted" "$work/seen")
  last=$(tail -n 1 "$2")
  [ "$last" = "$(grep -c '' "$work/wanted") broken links$total" ] || differ 'the count of these pages' "…$total" "$last"
}

# must_find N WHAT: the checks since the last call found N faults.
must_find() {
  if [ "$failures" -ne "$1" ]; then
    printf 'selftest: %s: %s faults found, not %s\n' "$2" "$failures" "$1"
    exit 1
  fi
  failures=0
}

selftest() {
  make_site "$site"
  cd "$site" || exit 1
  echo 1 >"$work/code"
  wanted | sed 's/^\([^:]*:[0-9]*\)/\1:1/' >"$work/links"
  { cat "$work/links" && printf '\n%s broken links%s\n' "$(grep -c '' "$work/links")" "$total"; } >"$work/right"
  check_report "$work/code" "$work/right" >"$work/said"
  must_find 0 'a right report'
  { echo 'pages/code.md:3:5: no such file: never-in-code.md' && sed '1d' "$work/right"; } >"$work/wrong"
  check_report "$work/code" "$work/wrong" >"$work/said"
  must_find 2 'a report with one link missing and one too many'
  echo 0 >"$work/code"
  sed 's/6 to/7 to/' "$work/right" >"$work/wrong"
  check_report "$work/code" "$work/wrong" >"$work/said"
  must_find 2 'a wrong exit code and a wrong count'
  echo 'selftest: the checkers tell right reports from wrong ones'
}

live() {
  program=$(cd "$app" && pwd)/bin/linkcheck.js
  make_site "$site"
  cd "$site" || exit 86
  "$APP_RUN" node "$program" pages >"$work/out" 2>"$work/err" </dev/null
  echo "$?" >"$work/code"
  check_report "$work/code" "$work/out"
  [ "$failures" = 0 ] && return
  printf '%s checks failed\n' "$failures"
  echo 'failure_class=product' >&2
  exit 1
}

app=${1:-}
case ${SCENARIO_MODE:-selftest} in
  selftest) selftest ;;
  live) live ;;
  *)
    echo 'SCENARIO_MODE is selftest or live' >&2
    exit 2
    ;;
esac
