/** Findings about files that replace what a check runs, or what its tests count. */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { Reached } from '../../core/policy/check-commands.ts';
import { isOutput } from '../../core/policy/check-files.ts';
import { isInstalled, isInstalledRunner } from '../../core/policy/test-files.ts';
import { overrideIn } from '../../core/policy/test-overrides.ts';

/** A changed file, with its times. */
export type ReplacingChange = {
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
  /** The first bytes of a file that is no text. */
  readonly head: Buffer | undefined;
  readonly by: 'agent' | 'tool';
  readonly mtimeMs?: number | undefined;
  /** The end of the execution. */
  readonly at?: string | undefined;
};

export type Replaced = { readonly code: string; readonly why: string };

type AboutReplaced = {
  readonly start: ReadonlySet<string>;
  readonly reached: Reached;
  readonly began: string;
  /** The time of a file at the end of the run, in milliseconds; 0 for none. */
  readonly timeOf: (path: string) => number;
};

/** What a change replaces; undefined for none. `folders`: those with tests of the start in them or below. */
export function replacedBy(
  change: ReplacingChange,
  about: AboutReplaced,
  folders: ReadonlySet<string>,
): Replaced | undefined {
  if (change.after === undefined) return undefined;
  return (
    program(change, about) ??
    installed(change, about) ??
    bytecode(change) ??
    upToDate(change, about) ??
    overrides(change, about, folders)
  );
}

/** Whether a file decides by its place or its kind, so that its content has to be looked at. */
export const mayReplace = (
  path: string,
  { reached, start }: Pick<AboutReplaced, 'reached' | 'start'>,
): boolean =>
  isProgram(path, reached) ||
  isOfPackage(path, start) ||
  /\.py[co]$/.test(path) ||
  stampOf(path, reached) !== undefined;

/** Folders that programs put before PATH, and what Python loads at its start. */
const programFolder =
  /(?:^|\/)(?:node_modules\/\.bin|(?:\.?venv|env|virtualenv)\/(?:bin|Scripts)|vendor\/bin|\.bundle\/bin|\.direnv\/bin)\/[^/]+$/;
const loadedFirst = /(?:^|\/)site-packages\/(?:[^/]+\.pth|(?:site|user)customize\.py)$/;

const isProgram = (path: string, { programFolders }: Reached): boolean =>
  programFolder.test(path) ||
  loadedFirst.test(path) ||
  isInstalledRunner(path) ||
  [...programFolders].some((folder) => path.startsWith(`${folder}/`));

const program = ({ path }: ReplacingChange, { reached }: AboutReplaced): Replaced | undefined =>
  isProgram(path, reached)
    ? { code: 'runner-shadowed', why: "a check's programs would run this file in place of another one" }
    : undefined;

/** The name of an installed package; none for caches and records of package managers. */
const packageIn = (path: string): string | undefined =>
  /(?:^|\/)(?:node_modules|site-packages)\/((?:@[^/]+\/)?[^./@][^/]*)(?![\s\S]*\/node_modules\/)/.exec(
    path,
  )?.[1];

const packages = new WeakMap<ReadonlySet<string>, ReadonlySet<string>>();

/** Whether a package of the same name was installed when the run began. */
function isOfPackage(path: string, start: ReadonlySet<string>): boolean {
  const name = packageIn(path);
  if (name === undefined || /(?:^|\/)__pycache__\//.test(path)) return false;
  const known = packages.get(start) ?? new Set([...start].flatMap((one) => packageIn(one) ?? []));
  packages.set(start, known);
  return known.has(name);
}

const installed = ({ path }: ReplacingChange, { start }: AboutReplaced): Replaced | undefined =>
  isOfPackage(path, start)
    ? { code: 'runner-shadowed', why: 'checks would load this file of a package that was installed before' }
    : undefined;

/** Python compares bytecode with its source unless the bytecode says not to. */
function bytecode({ path, head }: ReplacingChange): Replaced | undefined {
  if (!/\.py[co]$/.test(path) || head === undefined || head.length < 8) return undefined;
  const flags = head.readUInt32LE(4);
  const why = 'Python would run this bytecode without a look at its source';
  const isAlone = !/(?:^|\/)__pycache__\//.test(path);
  return isAlone || (flags & 3) === 1 ? { code: 'runner-shadowed', why } : undefined;
}

function stampOf(path: string, { stamps }: Reached): string | undefined {
  for (const [target, { skipsCheck }] of stamps)
    if (skipsCheck && (path === target || path.startsWith(`${target}/`))) return target;
  return undefined;
}

/** What makes make believe that there is nothing to do. */
function upToDate(
  { path, before, by, mtimeMs = 0, at }: ReplacingChange,
  { reached, start, began, timeOf }: AboutReplaced,
): Replaced | undefined {
  const target = stampOf(path, reached);
  const isMade = target !== undefined && reached.stamps.get(target)?.isMade === true;
  if (
    target !== undefined &&
    before === undefined &&
    !start.has(target) &&
    !(isMade && by === 'tool') &&
    // A check that ran later has made it anew.
    !(isOutput(path) && (by === 'tool' || at === undefined || timeOf(path) > Date.parse(at)))
  )
    return {
      code: 'check-skipped',
      why: `make takes its target "${target}" for up to date, since this exists`,
    };
  if (!reached.settings.has('directives') || isInstalled(path)) return undefined;
  if (at !== undefined && isFuture(mtimeMs, at))
    return {
      code: 'check-skipped',
      why: 'its date is in the future, so that make takes it for newer than anything',
    };
  const isOld = mtimeMs > 0 && mtimeMs < Date.parse(began) - slackMs;
  const hasStamp = [...reached.stamps].some(([name, one]) => one.skipsCheck && start.has(name));
  return isOld && hasStamp
    ? { code: 'check-skipped', why: 'its date is before the run, so that make takes its target for newer' }
    : undefined;
}

export const inFuture = 'its date is in the future, so that make takes it for newer than anything else';

/** Differences of clocks. */
const slackMs = 60_000;
const isFuture = (mtimeMs: number, at: string): boolean => mtimeMs > Date.parse(at) + slackMs;

export function timeIn(workspace: string, path: string): number {
  try {
    return lstatSync(join(workspace, path)).mtimeMs;
  } catch {
    return 0;
  }
}

/** Targets of make with a date in the future: no snapshot differs by a date alone. */
export const futureStamps = (workspace: string, reached: Reached, at: string): readonly string[] =>
  [...reached.stamps]
    .filter(([path, { skipsCheck }]) => skipsCheck && isFuture(timeIn(workspace, path), at))
    .map(([path]) => path);

function overrides(
  change: ReplacingChange,
  { start }: AboutReplaced,
  folders: ReadonlySet<string>,
): Replaced | undefined {
  const why = overrideIn(change, start, folders);
  return why === undefined ? undefined : { code: 'tests-overridden', why };
}
