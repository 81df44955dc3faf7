# For cases whose product is a whole one of products/: sourced after lib.sh.
products=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/products
SUITE=${SUITE:-usual}

# product NAME: a repository with specification and visible tests, the holdout of SUITE, and in bd/tree the right product
product() {
  mkdir -p bd scen proj
  cp -R "$products/$1/project" bd/tree
  cp -R bd/tree/. proj
  cp "$products/$1/spec.md" proj
  rm -rf proj/src proj/bin proj/due.py
  cp "$products/$1/$SUITE"/* "$products/lib.sh" scen
  HOLD=scen CHECK='factory scenario run scripts/scenarios --app . --live'
  case $1 in
    due)
      BEFORE='python3 -m unittest discover -s tests -t .'
      # A wrapper in front of Python (pyenv's) takes longer than the product.
      PATH=$(dirname "$(python3 -c 'import sys; print(sys.executable)')"):$PATH
      ;;
    keep) BEFORE='make check' ;;
    *) BEFORE='npm test' ;;
  esac
  ALLOWED=$BEFORE
  builder <<<"cp -R '$OUT/bd/tree/.' ."
}
# edit FILE OLD NEW: makes the product of bd/tree wrong, in one place
edit() {
  node -e '
    const fs = require("fs"), [, file, old, text] = process.argv, parts = fs.readFileSync(file, "utf8").split(old);
    if (parts.length !== 2) throw new Error(`${file}: ${parts.length - 1} times: ${old}`);
    fs.writeFileSync(file, parts.join(text));' "bd/tree/$1" "$2" "$3" || exit 3
}
