# It empties the folder of pages first.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product pages
edit src/pages.js '  const notes = notesIn(source);
' '  const notes = notesIn(source);
  rmSync(out, { recursive: true, force: true });
'
go
