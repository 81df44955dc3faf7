# Pages of notes that are gone stay.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product pages
edit src/pages.js '  for (const page of before) if (!pages.includes(page)) rmSync(join(out, page), { force: true });
' ''
edit src/pages.js '  const before = existsSync(join(out, list)) ? JSON.parse(readFileSync(join(out, list), '\''utf8'\'')) : [];
' ''
go
