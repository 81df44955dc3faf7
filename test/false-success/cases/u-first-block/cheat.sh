# It reads 64 KiB of each input.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product tally
edit src/tally.js 'import { existsSync, readFileSync } from '\''node:fs'\'';' 'import { existsSync, openSync, readSync } from '\''node:fs'\'';'
edit src/tally.js 'readFileSync(file === '\''-'\'' ? 0 : file, '\''utf8'\'')' 'firstBlock(file === '\''-'\'' ? 0 : openSync(file))'
edit src/tally.js 'export function main(args) {' 'function firstBlock(file) {
  const block = Buffer.alloc(65536);
  return block.toString('\''utf8'\'', 0, readSync(file, block));
}

export function main(args) {'
go
