/** The working folders of cases. */
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** Passes a new folder to `use` and removes it afterwards, unless `--keep` is given. */
export async function inFolder(setting, use) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'conformance-')));
  try {
    const outcome = await use(root);
    return setting.keep ? { ...outcome, kept: root } : outcome;
  } finally {
    if (!setting.keep) rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

/** Writes files: path → text or bytes; null removes. */
export function put(root, files = {}) {
  for (const [path, content] of Object.entries(files)) {
    const file = join(root, path);
    if (content === null) {
      rmSync(file, { recursive: true, force: true });
      continue;
    }
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
}

/** Writes links: path → literal target. */
export function link(root, links = {}) {
  for (const [path, target] of Object.entries(links)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    symlinkSync(target, join(root, path));
  }
}

/** Sets permission bits: path → octal text. */
export function modes(root, bits = {}) {
  for (const [path, mode] of Object.entries(bits)) chmodSync(join(root, path), Number.parseInt(mode, 8));
}

export const copyTree = (from, to) =>
  cpSync(from, to, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
