/** Where this program lies: its own parts are found from its module's place, never from how it was called. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder that holds our `package.json`, `pipelines/`, `prompts/` and `examples/`. */
export function packageRoot(): string {
  for (let at = dirname(fileURLToPath(import.meta.url)); ; at = dirname(at)) {
    // What is built has a `package.json` of its own, beside it.
    if (existsSync(join(at, 'pipelines')) && existsSync(join(at, 'package.json'))) return at;
    if (at === dirname(at)) throw new Error('Internal: this module lies in no package of ours');
  }
}

export function packageVersion(): string {
  const read: unknown = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'));
  return typeof read === 'object' && read !== null && 'version' in read ? String(read.version) : 'unknown';
}
