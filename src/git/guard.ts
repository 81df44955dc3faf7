/** Decides whether git may be called in a run's history. Git obeys the settings in a repository, and some of them run
 *  programs (`remote.*.uploadpack`, `core.fsmonitor`, `gpg.program`, …). A run directory may come from another user, or a
 *  node may have changed it: git is called only if the history has no settings except those that a run makes. */
import { existsSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readPlain } from '../platform/files/read.ts';
import { isMissing, systemWords } from '../platform/files/write.ts';
import { GitError } from '../platform/git.ts';

/** Settings allowed in the two files: those that `git init` and factory write, and those that change only spelling or
 *  display. Section, then key. */
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

/** The fix for a ForeignHistory. */
export const foreignHistoryText =
  'restore the run directory from a copy that you trust; one from another user may be meant to do harm';

/** Git is not called: the history has settings or files that no run puts there. */
export class ForeignHistory extends GitError {
  constructor(why: string) {
    super(`${why}: git is not called there, because its settings could make it run programs`, false);
  }
}

/** Files that make a repository read settings or objects from elsewhere. */
const leadsAway = ['commondir', 'config.worktree', join('objects', 'info', 'alternates')];

/** Throws a ForeignHistory if git must not be called. It reads only a few small files, because it runs before each call. */
export function assertOwnHistory(historyDir: string): void {
  const is = lstatSync(historyDir, { throwIfNoEntry: false });
  if (is === undefined) return;
  if (!is.isDirectory()) throw new ForeignHistory(`${historyDir} is not a folder`);
  for (const name of leadsAway)
    if (existsSync(join(historyDir, name)))
      throw new ForeignHistory(`${join(historyDir, name)} does not belong in a run's history`);
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

/** As `assertOwnHistory`; also refuses everything except files and folders: git would block on a pipe. */
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

/** The first line of a settings file that is not known to be harmless. */
function strangeSetting(text: string): string | undefined {
  let section = '';
  for (const line of text.split('\n').map((one) => one.trim())) {
    if (line === '' || line.startsWith('#') || line.startsWith(';')) continue;
    // Git joins the next line to this one: a section head there is none, so the keys below would belong to this section.
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
