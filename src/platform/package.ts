/** The folder of this program: its files are found from this module's path, never from how it was started. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder that holds `package.json`, `pipelines/`, `prompts/` and `examples/` of this package. */
export function packageRoot(): string {
  for (let at = dirname(fileURLToPath(import.meta.url)); ; at = dirname(at)) {
    // The build folder has a separate `package.json`.
    if (existsSync(join(at, 'pipelines')) && existsSync(join(at, 'package.json'))) return at;
    if (at === dirname(at)) throw new Error('Internal: this module lies in no package of ours');
  }
}

export function packageVersion(): string {
  const read: unknown = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'));
  return typeof read === 'object' && read !== null && 'version' in read ? String(read.version) : 'unknown';
}
