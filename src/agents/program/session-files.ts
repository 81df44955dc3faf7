/** Sessions of agent programs on disk: one file each, to which turns are only appended, named after an id that is in its text too. */
import { randomUUID } from 'node:crypto';
import { type Dirent, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { jsonIn } from '../../core/json.ts';
import { beforeWrite } from '../../platform/files/fence.ts';
import { filesInside } from '../../platform/files/inside.ts';
import { readPlain } from '../../platform/files/read.ts';
import { removeTree } from '../../platform/files/remove.ts';
import { makeFolder, removeFile, removeIfEmpty, writeFileAtomic } from '../../platform/files/write.ts';

export type SessionProgram = 'codex' | 'claude';

type SessionLayout = {
  /** The folder of its home with the sessions' files. */
  readonly folder: string;
  /** How many folders deep a file lies in it. */
  readonly depth: number;
  /** Folders of its home with more of a session, in files and folders that are named after it. */
  readonly others: readonly string[];
  /** In the first lines of a session. */
  readonly id: RegExp;
};

const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';

export const sessionLayouts: Readonly<Record<SessionProgram, SessionLayout>> = {
  codex: {
    folder: 'sessions',
    depth: 3,
    others: ['shell_snapshots', 'thread-writer-locks'],
    id: new RegExp(`^\\{[^\\n]*"type":"session_meta"[^\\n]*?"id":"(${uuid})"`),
  },
  claude: {
    folder: 'projects',
    depth: 1,
    others: ['session-env', 'file-history', 'todos', 'tasks', 'debug'],
    id: new RegExp(`^\\{[^\\n]*"sessionId":"(${uuid})"`, 'm'),
  },
};

export const isSessionId = (text: string): boolean => new RegExp(`^${uuid}$`).test(text);

/** The id of a session, by its text; undefined for a text of another kind. */
export const sessionIdIn = (program: SessionProgram, text: string): string | undefined =>
  sessionLayouts[program].id.exec(text)?.[1];

/** The session under an id that no other has; undefined for a text of another kind. Paths in it stay: what was said was said there. */
export function sessionCopy(
  program: SessionProgram,
  text: string,
): { readonly id: string; readonly text: string } | undefined {
  const id = sessionIdIn(program, text);
  if (id === undefined) return undefined;
  const copy = randomUUID();
  return { id: copy, text: text.replaceAll(id, copy) };
}

/** Where `codex` looks for a session, in its folder of them. */
export function codexSessionName(id: string, now: Date): string {
  const at = now.toISOString().slice(0, 19);
  return join(...at.slice(0, 10).split('-'), `rollout-${at.replaceAll(':', '-')}-${id}.jsonl`);
}

/** Characters of a folder's name that `claude` keeps. */
const longestFolder = 200;

/** Where `claude` looks for a session: in a folder that is named after its working directory, with links resolved. */
export function claudeSessionName(id: string, cwd: string): string {
  const name = cwd.replace(/[^a-zA-Z0-9]/g, '-');
  let hash = 0;
  for (let n = 0; n < cwd.length; n++) hash = (hash * 31 + cwd.charCodeAt(n)) | 0;
  const folder =
    name.length <= longestFolder ? name : `${name.slice(0, longestFolder)}-${Math.abs(hash).toString(36)}`;
  return join(folder, `${id}.jsonl`);
}

/** Writes a session, for this user's eyes only. */
export async function writeSession(folder: string, name: string, text: string): Promise<void> {
  const path = join(folder, name);
  makeFolder(dirname(path));
  await writeFileAtomic(path, text, { mode: 0o600 });
}

/** The text of a session's file, wherever it lies in the folder; undefined where there is none. No link is followed: the program may
 *  have put one anywhere. */
export function readSession(program: SessionProgram, folder: string, id: string): string | undefined {
  const { depth } = sessionLayouts[program];
  for (const path of pathsNamed(folder, `${id}.jsonl`, depth)) {
    const read = filesInside(folder).read(path);
    if (read.kind === 'text' && sessionIdIn(program, read.text) === id) return read.text;
  }
  return undefined;
}

/** Removes all that the program keeps of a session in its home, and folders that are empty then. */
export async function removeSession(program: SessionProgram, home: string, id: string): Promise<void> {
  const { folder, depth, others } = sessionLayouts[program];
  const places = [{ folder, depth }, ...others.map((other) => ({ folder: other, depth: 0 }))];
  for (const place of places) {
    const root = join(home, place.folder);
    for (const path of pathsNamed(root, id, place.depth)) {
      await removeTree(join(root, path));
      // The program makes it for a project's notes.
      removeIfEmpty(join(root, dirname(path), 'memory'));
      for (let at = dirname(path); at !== '.'; at = dirname(at)) removeIfEmpty(join(root, at));
    }
  }
}

/** Paths below the folder whose last name has `word` in it. Links to folders are not followed. */
function pathsNamed(folder: string, word: string, depth: number, within = ''): readonly string[] {
  return entriesIn(join(folder, within)).flatMap((entry) => {
    const path = join(within, entry.name);
    if (entry.name.includes(word)) return [path];
    return entry.isDirectory() && depth > 0 ? pathsNamed(folder, word, depth - 1, path) : [];
  });
}

function entriesIn(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

/* A session of ours in the user's home, where no sandbox hides that one, is noted in the run: a killed engine cannot remove it. */

const noteSchema = () =>
  z.object({
    program: z.enum(['codex', 'claude']),
    home: z.string(),
    ids: z.array(z.string().refine(isSessionId)),
  });

export type SessionNote = z.infer<ReturnType<typeof noteSchema>>;

const noteIn = (scratch: string): string => join(scratch, 'session.json');

export async function noteSession(scratch: string, note: SessionNote): Promise<void> {
  makeFolder(scratch);
  await writeFileAtomic(noteIn(scratch), JSON.stringify(note));
}

/** Removes the sessions, and their note. */
export async function removeSessions(scratch: string, { program, home, ids }: SessionNote): Promise<void> {
  for (const id of ids) await removeSession(program, home, id);
  beforeWrite(scratch);
  removeFile(noteIn(scratch));
}

/** Removes the sessions that were noted. */
export async function removeNotedSessions(scratch: string): Promise<void> {
  const read = readPlain(noteIn(scratch));
  const note = read.kind === 'text' ? noteSchema().safeParse(jsonIn(read.text)).data : undefined;
  if (note !== undefined) await removeSessions(scratch, note);
}
