/** Reads and removes the files of the planner's commands. */
import { isUtf8 } from 'node:buffer';
import { readFile, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { JsonObject } from '../model/json.ts';
import { maxAnswerCharacters } from '../model/json-text.ts';
import { inWorkspace } from '../model/layout.ts';
import { holdoutVariable } from '../policy/holdout.ts';
import { isMissing } from '../system/files.ts';
import { namesIn } from '../system/read.ts';
import { listRepoFiles } from './listing.ts';

export type UserText = { readonly text: string; readonly bytes: Buffer };
export type Problem = { readonly problem: string };
/** `file`: it cannot be read. `text`: its content cannot be used. */
export type TextProblem = Problem & { readonly wrong: 'file' | 'text' };

/** A text file named on the command line. */
export async function readUserText(cwd: string, path: string, what: string): Promise<UserText | TextProblem> {
  let bytes: Buffer;
  try {
    bytes = await readFile(resolve(cwd, path));
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

/** The raw answer; undefined when there is none. An answer that is certainly too large is not read to its end. */
export async function readAnswer(cwd: string): Promise<RawAnswer | undefined> {
  const path = join(cwd, inWorkspace.planAnswer);
  const size = await stat(path).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (size === undefined || !size.isFile()) return undefined;
  // UTF-8 takes at most four bytes a character.
  if (size.size > maxAnswerCharacters * 4) return { text: 'x'.repeat(maxAnswerCharacters + 1), isUtf8: true };
  const bytes = await readFile(path);
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
): Promise<{ readonly list: string[] } | Problem> {
  try {
    const sealed = (env[holdoutVariable] ?? '').split(',').filter((path) => path !== '');
    return { list: await listRepoFiles(folder, sealed) };
  } catch (error) {
    return { problem: `the files of ${folder} cannot be listed: ${reasonFor(error)}` };
  }
}

/** Removes the files of an earlier plan, so that a new one is not emitted from old parts. */
export async function clearPlan(cwd: string): Promise<void> {
  const folder = join(cwd, inWorkspace.plan);
  await rm(join(cwd, inWorkspace.planChecked), { force: true });
  await rm(join(cwd, inWorkspace.planAnswer), { force: true });
  await rm(join(cwd, inWorkspace.planNormalized), { force: true });
  await rm(join(cwd, inWorkspace.planSpec), { force: true });
  for (const name of namesIn(folder)) {
    if (/^attempt-\d+$/.test(name)) await rm(join(folder, name), { recursive: true, force: true });
  }
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
