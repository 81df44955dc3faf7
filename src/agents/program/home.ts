/** What an agent's program is shown of its home in a sandbox: a private folder for its sessions, with its login and its settings. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentPlace, AgentProgram } from '../../core/contracts/agent.ts';

export type HomeNames = {
  /** Its login: programs renew the tokens in it. */
  readonly login: readonly string[];
  /** Settings that can name programs, and words for all sessions. The user's own sessions, which nothing confines, believe them. */
  readonly settings: RegExp;
  /** Folders of settings in which it installs its own entries, whose names begin with a dot. */
  readonly shared: readonly string[];
};

/** The home, empty at first: what other nodes, runs and the user have said and done in it is seen by no program, whatever its files
 *  are called. Over it lie the login, writable, and the settings, read-only; missing ones are skipped. */
export function homeWith(home: string, { login, settings, shared }: HomeNames): AgentProgram['home'] {
  const top = namesIn(home);
  const within = shared.flatMap((folder) =>
    namesIn(join(home, folder)).flatMap((name) => (name.startsWith('.') ? [] : [join(folder, name)])),
  );
  const lies = (names: readonly string[], write: boolean): AgentPlace[] =>
    names.map((name) => ({ path: join(home, name), write }));
  return [
    { path: home, write: true, empty: true },
    ...lies(
      login.filter((name) => top.includes(name)),
      true,
    ),
    ...lies([...top.filter((name) => settings.test(name)), ...within], false),
  ];
}

/** Sorted; none of what is no folder. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

/** A JSON file without the fields whose names say that they hold sessions: a copy, and changes of it are lost. Empty where there is
 *  no such file. */
export function jsonWithout(path: string, fields: RegExp): readonly AgentPlace[] {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return [];
  }
  if (typeof value !== 'object' || value === null) return [];
  const kept = Object.entries(value).filter(([name]) => !fields.test(name));
  return [{ path, write: true, text: `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n` }];
}
