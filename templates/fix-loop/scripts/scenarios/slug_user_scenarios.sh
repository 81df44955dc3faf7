#!/usr/bin/env bash
# What a user does: names for a list of titles, which are then used as file names.
#   SCENARIO_MODE=selftest|live slug_user_scenarios.sh APP_DIR
# canary: quartz-2216-heron-user-scenarios
set -u
app=${1:-.}
work=$(mktemp -d) || exit 86
trap 'rm -rf "$work"' EXIT

# all_there: the files that the user expects are there, and no other.
all_there() { [ "$(ls "$work/site" | tr '\n' ' ')" = 'about-us.html contact.html our-work-in-2024.html ' ]; }

mkdir "$work/site"
case ${SCENARIO_MODE:-selftest} in
  selftest)
    : >"$work/site/about-us.html"
    all_there && exit 1
    : >"$work/site/contact.html"
    : >"$work/site/our-work-in-2024.html"
    all_there
    exit
    ;;
esac
cd "$app" || exit 1
for title in 'About us' 'Contact' 'Our work, in 2024'; do
  : >"$work/site/$("${APP_RUN:-env}" sh slug.sh "$title" </dev/null | tr -d '/').html"
done
if ! all_there; then
  printf 'FAIL: a page for each title\n  expected: about-us, contact, our-work-in-2024\n  observed: %s\n' "$(ls "$work/site" | tr '\n' ' ')"
  echo 'failure_class=product' >&2
  exit 1
fi
