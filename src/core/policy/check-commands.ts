/** What the commands of a run's checks use: scripts, targets and files, through package.json, makefiles, shell scripts and
 *  what scripts import. */
import { posix } from 'node:path';
import { type CheckCommand, foundIn, isNamedAsCheck, isShell } from './check-words.ts';
import { mayTouch } from './holdout-paths.ts';
import { importedBy } from './imports.ts';
import {
  includedIn,
  isMakefile,
  makeDirectives,
  makeSettings,
  makeVariables,
  recipeOf,
  targetsNeeded,
} from './makefile.ts';
import { concernsTests, settingsIn } from './test-files.ts';

export type Reached = {
  /** As `settingsIn` calls them. */
  readonly settings: ReadonlySet<string>;
  /** Whether a command runs this file to get its result, or loads it into a test runner. */
  runs(path: string): boolean;
  /** Files that the scripts of commands import, directly or through others: helpers, and the product that they test. */
  readonly imported: ReadonlySet<string>;
  /** Whether a makefile that a command uses includes this file. */
  includes(path: string): boolean;
  /** Whether commands or scripts change the mode of files, or link them. */
  readonly touches: boolean;
  /** Whether commands or scripts install dependencies. */
  readonly installs: boolean;
  /** Whether the commands test something: they run a test runner, or a script or target with the name of a check. */
  readonly isCheck: boolean;
  /** Files whose existence and age decide whether make runs what a command asks for. */
  readonly stamps: ReadonlyMap<string, MakeStamp>;
  /** Folders of the workspace that a command puts before PATH. */
  readonly programFolders: ReadonlySet<string>;
};

/** A file with the name of a target. */
export type MakeStamp = {
  /** Its recipe runs a test, or does not make the file. */
  readonly skipsCheck: boolean;
  /** Its recipe names the file, so that make may have made it. */
  readonly isMade: boolean;
};

const installing =
  /\b(?:npm|pnpm|yarn|bun|bundle|composer|poetry|pdm|pipenv|mix|gem)\s+(?:\S+\s+)*?(?:ci|i|install|add|sync|update|deps\.get)\b|\byarn\s*(?:$|&|;)|\bpip3?\s+install\b|\buv\s+(?:sync|pip)\b|-m\s+(?:venv|pip)\b|\bvirtualenv\b/m;

/** The most files that are followed: a check has a few. */
const mostFiles = 300;

/** Follows `commands`. `texts` has the package.json files and makefiles of the workspace by path; `read` gives a
 *  file's text, undefined where there is none. */
export async function reachedBy(
  commands: readonly CheckCommand[],
  texts: ReadonlyMap<string, string>,
  read: (path: string) => Promise<string | undefined>,
): Promise<Reached> {
  const search = new Search(texts, read);
  for (const command of commands) search.open(command);
  await search.finish();
  return search.reached();
}

class Search {
  private readonly known = new Map<string, { readonly path: string; readonly text: string }[]>();
  private readonly settings = new Set<string>();
  /** Files by their names in commands; false where the workspace has no such path: a command may change its
   *  directory. */
  private readonly files = new Map<string, boolean>();
  private readonly imported = new Set<string>();
  private readonly included: { readonly path: string; readonly pattern: RegExp }[] = [];
  private readonly stamps = new Map<string, MakeStamp>();
  private readonly folders = new Set<string>();
  private readonly waiting: CheckCommand[] = [];
  /** The commands of the check itself, and the targets that they name. */
  private readonly given = new Set<CheckCommand>();
  private readonly asked = new Set<string>();
  private tests = false;
  private touches = false;
  private installs = false;

  constructor(
    texts: ReadonlyMap<string, string>,
    private readonly read: (path: string) => Promise<string | undefined>,
  ) {
    for (const [path, text] of texts) this.know(path, settingsIn(path, text));
  }

  private know(path: string, settings: ReadonlyMap<string, string>): void {
    for (const [name, text] of settings)
      this.known.set(name, [...(this.known.get(name) ?? []), { path, text }]);
  }

  open(command: CheckCommand): void {
    this.given.add(command);
    this.waiting.push(command);
  }

  async finish(): Promise<void> {
    for (let command = this.waiting.pop(); command !== undefined; command = this.waiting.pop()) {
      this.touches ||= mayTouch(typeof command === 'string' ? [command] : command);
      this.installs ||= installing.test(typeof command === 'string' ? command : command.join(' '));
      const isAsked = this.given.has(command);
      for (const found of foundIn(command)) {
        if (isAsked) for (const name of found.settings) this.asked.add(name.replace(/^target /, ''));
        this.waiting.push(...found.commands);
        for (const folder of found.folders) this.folders.add(folder);
        this.tests ||= found.tests;
        for (const name of found.settings) await this.setting(name);
        for (const file of found.files) await this.file(file);
      }
    }
  }

  private async setting(name: string): Promise<void> {
    if (this.settings.has(name)) return;
    this.settings.add(name);
    const kind = name.slice(0, name.indexOf(' '));
    const places = this.known.get(name) ?? [];
    // A name without a place is a file, or a script that npm brings along.
    this.tests ||= places.length > 0 && (kind === 'script' || kind === 'target') && concernsTests(name);
    if (kind === 'target') await this.setting(makeDirectives);
    for (const { path, text } of places) {
      if (kind === 'script') this.waiting.push(text);
      else await this.made(name, path, text);
    }
  }

  /** A part of a makefile. */
  private async made(name: string, path: string, text: string): Promise<void> {
    for (const variable of makeVariables(text)) await this.setting(`variable ${variable}`);
    if (name.startsWith('target ')) {
      this.waiting.push(...recipeOf(text));
      const needs = targetsNeeded(text);
      if (needs !== '') this.waiting.push(['make', ...needs.split(/\s+/).filter((one) => !/[$=]/.test(one))]);
      this.stamp(name.slice('target '.length), path, text);
    } else if (name === makeDirectives)
      for (const file of includedIn(text)) {
        const place = posix.join(posix.dirname(path), file);
        this.included.push({ path: place, pattern: patternOf(place) });
        const more = isMakefile(place) ? undefined : await this.read(place);
        if (more !== undefined) this.know(place, makeSettings(place, more));
      }
  }

  private stamp(target: string, path: string, text: string): void {
    if (/ustfile$/.test(path) || /^\.PHONY\b/m.test(text)) return;
    const recipe = recipeOf(text).join('\n');
    const isMade =
      recipe.includes('$@') || recipe.includes('$(@') || recipe.split(/[\s;&|<>'"()]+/).includes(target);
    const isCheck = foundIn(recipe).some(
      ({ tests, files, settings }) =>
        tests || files.some((file) => isNamedAsCheck(file)) || settings.some(concernsTests),
    );
    const skipsCheck = isCheck || (!isMade && (this.asked.has(target) || concernsTests(`target ${target}`)));
    this.stamps.set(posix.join(posix.dirname(path), target), { skipsCheck, isMade });
  }

  private async file(name: string): Promise<void> {
    if (this.files.has(name) || this.files.size >= mostFiles) return;
    const text = await this.read(name);
    this.files.set(name, text !== undefined);
    if (text === undefined) return;
    this.tests ||= isNamedAsCheck(name);
    if (isShell(name)) this.waiting.push(text);
    else {
      this.touches ||= mayTouch([text]);
      await this.imports(name, text);
    }
  }

  private async imports(name: string, text: string): Promise<void> {
    for (const file of importedBy(name, text)) {
      if (this.imported.has(file) || this.imported.size >= mostFiles) continue;
      const more = await this.read(file);
      if (more === undefined) continue;
      this.imported.add(file);
      await this.imports(file, more);
    }
  }

  reached(): Reached {
    const { files, included } = this;
    return {
      settings: this.settings,
      runs: (path) =>
        files.has(path) || [...files].some(([file, exists]) => !exists && path.endsWith(`/${file}`)),
      imported: this.imported,
      includes: (path) => included.some((one) => one.path === path || one.pattern.test(path)),
      touches: this.touches,
      installs: this.installs,
      isCheck: this.tests,
      stamps: this.stamps,
      programFolders: this.folders,
    };
  }
}

/** A name with `*` for any part of it. */
const patternOf = (name: string): RegExp =>
  new RegExp(`^${name.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replace(/\*+/g, '.*')}$`);
