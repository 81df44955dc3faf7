/** The commands of a project that make its workspace ready: when they are due, and what their failure is. Pure. */
import { wordsOfTheWorld } from './failure-class.ts';
import type { FailureClass } from './outcome.ts';
import { isLockFile } from './policy/check-files.ts';
import { isInstalled } from './policy/test-files.ts';
import type { RunState } from './records/checkpoint.ts';
import type { SetupRecord } from './records/visit.ts';
import { sha256 } from './sha256.ts';

/** What of a tree tells whether its lock files have changed. */
type Files = ReadonlyMap<string, { readonly hash?: string }>;

/** Lists of dependencies that are no lock files by their names. */
const listOfDependencies = /(?:^|\/)requirements(?:[^/]*|\/[^/]+)\.(?:txt|in)$/i;

/** Folders whose files are of dependencies, not of the project. */
const ofDependencies = /(?:^|\/)(?:\.venv|venv|\.tox|\.nox|target|third_party)\//;

/** Whether installed dependencies follow from this file. */
export const decidesDependencies = (path: string): boolean =>
  (isLockFile(path) || listOfDependencies.test(path)) && !isInstalled(path) && !ofDependencies.test(path);

const locksOf = (tree: Files): readonly (readonly [path: string, hash: string])[] =>
  [...tree].flatMap(([path, { hash }]) =>
    hash !== undefined && decidesDependencies(path) ? [[path, hash] as const] : [],
  );

/** Changes with the commands and with every lock file of the tree. */
export const readyHash = (commands: readonly string[], tree: Files): string =>
  sha256(JSON.stringify([commands, locksOf(tree).toSorted(([a], [b]) => (a < b ? -1 : 1))]));

/** Lock files that were added, changed or removed, sorted. */
export function changedLocks(before: Files, after: Files): readonly string[] {
  const [was, is] = [new Map(locksOf(before)), new Map(locksOf(after))];
  return [...new Set([...was.keys(), ...is.keys()])].filter((path) => was.get(path) !== is.get(path)).sort();
}

/** A path of a tree, as far as setups tell it from another. */
type SetUpEntry = { readonly kind?: string; readonly hash?: string; readonly target?: string };
export type SetUpTree = ReadonlyMap<string, SetUpEntry>;

const isSameEntry = (a: SetUpEntry | undefined, b: SetUpEntry | undefined): boolean =>
  a?.kind === b?.kind && a?.hash === b?.hash && a?.target === b?.target;

/** Paths that setup commands have made, changed or removed, one after another. */
export function* setUpPaths(before: SetUpTree, ready: SetUpTree): Generator<string, void> {
  for (const [path, entry] of ready) if (!isSameEntry(entry, before.get(path))) yield path;
  for (const path of before.keys()) if (!ready.has(path)) yield path;
}

/** Whether the workspace is back at what it was before the commands: an undone attempt has the lock files of the next one, and not what
 *  was installed for them. */
export function isSetupUndone(before: SetUpTree, ready: SetUpTree, now: SetUpTree): boolean {
  let some = false;
  for (const path of setUpPaths(before, ready)) {
    if (decidesDependencies(path)) continue;
    if (!isSameEntry(now.get(path), before.get(path))) return false;
    some = true;
  }
  return some;
}

/** Steps of our own pipelines, which run no program of the project and must work whatever it needs. */
export const isOwnStepText = (toolCommand: string): boolean =>
  /^\s*factory\s+(?:order|plan)\s/.test(toolCommand);

const noDisk = /\bENOSPC\b|No space left on device/;

/** Whose failure it is, by what was printed: the world's, or that of the given project. */
export function setupFailureClass(output: string): FailureClass {
  const isWorld =
    noDisk.test(output) || output.split('\n').some((line) => wordsOfTheWorld(line) !== undefined);
  return isWorld ? 'infra' : 'config';
}

/** What the state has after commands that made the workspace ready, which is the snapshot `ready` since. */
export function setupAfter(
  { setup: was }: Pick<RunState, 'setup'>,
  { ready_sha256, before, locks }: Pick<SetupRecord, 'ready_sha256' | 'before' | 'locks'>,
  ready: string,
): Pick<RunState, 'setup'> {
  if (ready_sha256 === undefined) return was === undefined ? {} : { setup: was };
  const now = { before: locks === undefined ? before : ready, after: ready };
  return { setup: { sha256: ready_sha256, before, snapshot: ready, first: was?.first ?? now } };
}

/** The snapshot with which the work of a run began: without what the first setup has added, where nothing ran before it. */
export const workBegan = (start: string, { setup }: Pick<RunState, 'setup'>): string =>
  setup?.first.before === start ? setup.first.after : start;
