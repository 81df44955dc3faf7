/** Reads and removes the files of the planner's commands. */
import { isUtf8 } from 'node:buffer';
import { type Dirent, lstatSync, readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { maxAnswerCharacters } from '../core/answer-json.ts';
import type { JsonObject } from '../core/json.ts';
import { holdoutVariable, isSealedPath } from '../core/policy/holdout-paths.ts';
import { inWorkspace } from '../core/records/layout.ts';
import type { CommandIo } from '../platform/command-io.ts';
import { assertNoLinkAbove, assertStaysInNode, filesInside } from '../platform/files/inside.ts';
import { isFolder, namesIn } from '../platform/files/read.ts';
import { isMissing } from '../platform/files/write.ts';

export type UserText = { readonly text: string; readonly bytes: Buffer };
export type CommandPlace = Pick<CommandIo, 'cwd' | 'env'>;
export type PlanFileProblem = { readonly problem: string };
/** `file`: it cannot be read. `text`: its content cannot be used. */
export type TextProblem = PlanFileProblem & { readonly wrong: 'file' | 'text' };

/** A text file named on the command line. */
export async function readUserText(
  io: CommandPlace,
  path: string,
  what: string,
): Promise<UserText | TextProblem> {
  let bytes: Buffer;
  try {
    assertStaysInNode(io, path);
    bytes = readFileSync(resolve(io.cwd, path));
  } catch (error) {
    return { wrong: 'file', problem: `the ${what} ${path} cannot be read: ${reasonFor(error)}` };
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return text.trim() === '' ? { wrong: 'text', problem: `the ${what} ${path} is empty` } : { text, bytes };
  } catch {
    return { wrong: 'text', problem: `the ${what} ${path} is not UTF-8 text: save it as UTF-8` };
  }
}

/** A model's answer on disk. */
export type RawAnswer = {
  /** Bytes that are no UTF-8 are U+FFFD here. */
  readonly text: string;
  readonly isUtf8: boolean;
};

/** The raw answer; undefined when there is none. An answer that is certainly too large is not read. */
export function readPlanAnswer(cwd: string): RawAnswer | undefined {
  assertNoLinkAbove(cwd, inWorkspace.planAnswer);
  const path = join(cwd, inWorkspace.planAnswer);
  const is = lstatSync(path, { throwIfNoEntry: false });
  if (is?.isFile() !== true) return undefined;
  // UTF-8 takes at most four bytes a character.
  if (is.size > maxAnswerCharacters * 4) return { text: 'x'.repeat(maxAnswerCharacters + 1), isUtf8: true };
  const bytes = readFileSync(path);
  // A byte order mark stays: it is the answer's own, and a finding.
  return { text: bytes.toString('utf8'), isUtf8: isUtf8(bytes) };
}

/** A file's text; undefined when it does not exist. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** The files of `folder`, or why they cannot be listed. `env` names the holdout paths of a node's workspace. */
export async function filesOf(
  folder: string,
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<{ readonly list: string[] } | PlanFileProblem> {
  try {
    const sealed = (env[holdoutVariable] ?? '').split(',').filter((path) => path !== '');
    return { list: await listRepoFiles(folder, sealed) };
  } catch (error) {
    return { problem: `the files of ${folder} cannot be listed: ${reasonFor(error)}` };
  }
}

/** Removes the files of an earlier plan, so that a new one is not emitted from old parts. */
export function clearPlan(cwd: string): void {
  const { remove } = filesInside(cwd);
  const { plan, planChecked, planAnswer, planNormalized, planSpec } = inWorkspace;
  for (const path of [planChecked, planAnswer, planNormalized, planSpec]) remove(path);
  for (const name of namesIn(join(cwd, plan))) if (/^attempt-\d+$/.test(name)) remove(`${plan}/${name}`);
}

/** The run's context, when a run started this command. */
export async function readContext(path: string | undefined): Promise<JsonObject> {
  const text = path ? await readIfThere(path) : undefined;
  if (text === undefined) return {};
  try {
    const value: unknown = JSON.parse(text);
    // A JSON file's object is a JsonObject; JSON.parse cannot say so.
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
  } catch {
    return {};
  }
}

function reasonFor(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'there is no such path';
  if (code === 'EISDIR') return 'it is a folder';
  if (code === 'EACCES' || code === 'EPERM') return 'it may not be read';
  return error instanceof Error ? error.message : String(error);
}

/* The files that exist before a plan is carried out. */

/** Folders of tools, skipped at any depth. */
export const toolFolders: ReadonlySet<string> = new Set([
  '.git',
  '__pycache__',
  '.pytest_cache',
  'node_modules',
  '.mypy_cache',
  '.tox',
  '.venv',
  'venv',
  '.eggs',
]);

/** Every file below `root`, as slash paths relative to it, sorted; without folders of tools and of the engine, `sealed`
 *  paths and folders whose names are not UTF-8, which a plan cannot name. A link to a file is listed, a link to a folder
 *  is neither followed nor listed. Rejects if `root` is not a readable folder. */
export async function listRepoFiles(root: string, sealed: readonly string[] = []): Promise<string[]> {
  const files: string[] = [];
  const pending = [''];
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(
      (error: unknown): Dirent[] => {
        if (folder !== '' && isMissing(error)) return [];
        throw error;
      },
    );
    for (const entry of entries) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (isSealedPath(path, sealed)) continue;
      if (entry.isDirectory()) {
        if (!toolFolders.has(entry.name) && path !== inWorkspace.factory) pending.push(path);
      } else if (entry.name !== '.git' && !(entry.isSymbolicLink() && isFolder(join(root, path))))
        // A file `.git` belongs to a separate working tree or a submodule.
        files.push(path);
    }
  }
  return files.sort();
}
