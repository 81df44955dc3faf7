/** Whether git may be called in a run's history at all. Git obeys the settings that lie in a repository, and some of them
 *  run programs (`remote.*.uploadpack`, `core.fsmonitor`, `gpg.program`, …). A run directory may come from somebody else,
 *  or a stage may have been at it: git is called where there are no other settings than a run's own. */
import { existsSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isMissing, systemWords } from '../system/files.ts';
import { GitError } from '../system/git.ts';
import { readPlain } from '../system/read.ts';

/** What may stand in the two files of settings: what `git init` and we write, and what only says how something is spelt or
 *  shown. Section, then key. */
const known: Readonly<Record<string, RegExp>> = {
  core: /^(?:repositoryformatversion|filemode|bare|symlinks|ignorecase|precomposeunicode|logallrefupdates|sharedrepository|autocrlf|eol|safecrlf|quotepath)$/,
  extensions: /^(?:objectformat|refstorage)$/,
  safe: /^directory$/,
  user: /^(?:name|email)$/,
  init: /^defaultbranch$/,
  commit: /^gpgsign$/,
  advice: /^[a-z]+$/,
  color: /^[a-z]+$/,
};

/** What to do about it. */
export const notYours =
  'put back a copy of the run directory that you trust; one that somebody else has made may be meant to do harm';

/** Git is not called: the history has something that no run's history has. */
export class ForeignHistory extends GitError {
  constructor(why: string) {
    super(`${why}: git is not called there, since what it finds could make it run programs`, false);
  }
}

/** Files by which a repository takes settings or objects from elsewhere. */
const leadsAway = ['commondir', 'config.worktree', join('objects', 'info', 'alternates')];

/** Throws a ForeignHistory where git is not to be called. A few looks at single files: it is asked before each call. */
export function assertOwnHistory(historyDir: string): void {
  const is = lstatSync(historyDir, { throwIfNoEntry: false });
  if (is === undefined) return;
  if (!is.isDirectory()) throw new ForeignHistory(`${historyDir} is no folder`);
  for (const name of leadsAway)
    if (existsSync(join(historyDir, name)))
      throw new ForeignHistory(`${join(historyDir, name)} is no file of a run's history`);
  for (const name of ['config', 'factory.gitconfig']) {
    const path = join(historyDir, name);
    const read = readPlain(path, 65_536);
    if (read.kind === 'missing') continue;
    if (read.kind !== 'text') throw new ForeignHistory(`${path} ${read.why}`);
    const strange = strangeSetting(read.text);
    if (strange !== undefined)
      throw new ForeignHistory(`${path} has a setting that no run makes (${JSON.stringify(strange)})`);
  }
}

/** As `assertOwnHistory`, and that there are only files and folders in it: git would wait for a pipe for ever. */
export function assertPlainHistory(historyDir: string): void {
  assertOwnHistory(historyDir);
  const open = [historyDir];
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    for (const entry of entriesOf(folder)) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) open.push(path);
      else if (!entry.isFile()) throw new ForeignHistory(`${path} is neither a file nor a folder`);
    }
  }
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (isMissing(error)) return [];
    throw new ForeignHistory(`${folder} cannot be read: ${systemWords(error)}`);
  }
}

/** The first line of a file of settings that says something else than we know to be harmless. */
function strangeSetting(text: string): string | undefined {
  let section = '';
  for (const line of text.split('\n').map((one) => one.trim())) {
    if (line === '' || line.startsWith('#') || line.startsWith(';')) continue;
    // For git the next line goes on with this one: what reads as a section there is none, and the keys below it are of this.
    if (line.endsWith('\\')) return line.slice(0, 100);
    const head = /^\[([a-z]+)\]$/i.exec(line)?.[1];
    if (head !== undefined) section = head.toLowerCase();
    const [, key = ''] = /^([a-z]+)(?:\s*=.*)?$/i.exec(line) ?? [];
    const keys = Object.hasOwn(known, section) ? known[section] : undefined;
    if (keys === undefined || (head === undefined && !keys.test(key.toLowerCase())))
      return line.slice(0, 100);
  }
  return undefined;
}
