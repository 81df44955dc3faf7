/** Whose quota an agent program uses: a hash of its keys and of its login, of which nothing can be read. */
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Environment } from '../../core/contracts/process.ts';
import { mostGivenLevels, parseJson } from '../../core/json.ts';
import { sha256 } from '../../core/sha256.ts';

/** A value of a JSON file that names the account for good, unlike the tokens next to it, which are renewed; undefined where the file
 *  or the value is missing. */
export function loginIn(path: string, keys: readonly string[]): string | undefined {
  let value: unknown;
  try {
    value = parseJson(readFileSync(path, 'utf8'), mostGivenLevels);
  } catch {
    return undefined;
  }
  for (const key of keys) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = Object.entries(value).find(([name]) => name === key)?.[1];
  }
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** `names`: of variables with keys; `settings`: what else decides about its server. A program without a key or a known login has
 *  the account of its home on this host. */
export function holderOf(
  env: Environment,
  names: readonly string[],
  by: {
    readonly login: string | undefined;
    readonly home: string | undefined;
    readonly settings: readonly string[];
  },
): string {
  const keys = [...new Set(names)].sort().flatMap((name) => {
    const key = env[name]?.trim() ?? '';
    return key === '' ? [] : [`${name}=${sha256(key)}`];
  });
  const login = by.login ?? (keys.length > 0 ? '' : `${hostname()}:${by.home ?? ''}`);
  return sha256(JSON.stringify([keys, login, by.settings]));
}
