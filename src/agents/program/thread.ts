/** A conversation that an agent program continues: a copy of its session while it works, and for the run what has become of it. */
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { AgentPlace, AgentTask, AgentThread, FailedReport } from '../../core/contracts/agent.ts';
import { lostThread } from '../../core/fidelity.ts';
import { beforeWrite } from '../../platform/files/fence.ts';
import { removeTree } from '../../platform/files/remove.ts';
import { isCode, makeFolder } from '../../platform/files/write.ts';
import {
  isSessionId,
  noteSession,
  readSession,
  removeSessions,
  type SessionProgram,
  sessionCopy,
  sessionLayouts,
  writeSession,
} from './session-files.ts';

/** The session of one call of a program. */
export type ThreadSession = {
  /** The id of the copy that it continues; undefined where the conversation begins. */
  readonly resumes: string | undefined;
  /** What it is shown of its home besides login and settings. */
  readonly places: readonly AgentPlace[];
  /** Where its home is the user's: a private folder for what else it writes about the session. */
  readonly aside: string | undefined;
  /** Called with the id that it reports. */
  started(id: string): void;
  /** Takes the session's text, and the session away, when the program has ended. */
  close(): Promise<void>;
  /** Gives the text to the run. */
  keep(): void;
};

type SessionSetting = {
  readonly program: SessionProgram;
  /** Absolute; undefined where the program has none. */
  readonly home: string | undefined;
  /** Its working directory. */
  readonly cwd: string;
  /** Where it looks for a session, in its folder of them; `cwd` as it sees it. */
  nameOf(id: string, cwd: string): string;
};

/** Prepares the session of a task with a thread, or says why the conversation cannot be continued. */
export async function openThreadSession(
  task: AgentTask,
  setting: SessionSetting,
): Promise<ThreadSession | FailedReport | undefined> {
  const { thread } = task;
  if (thread === undefined) return undefined;
  const { program, home } = setting;
  if (home === undefined)
    return thread.before === undefined ? undefined : lostThread(`${program} has no home for its sessions`);
  const { rung, scratch, workspace } = (await task.sandbox?.()) ?? {
    ...{ rung: 'group', scratch: task.nodeDir, workspace: undefined },
  };
  const shown = join(home, sessionLayouts[program].folder);
  const place: SessionPlace =
    rung === 'bwrap'
      ? { program, folder: join(scratch, 'sessions'), places: [], aside: undefined }
      : { program, folder: shown, places: [], aside: join(scratch, 'aside'), noted: { scratch, home } };
  await makeEmpty(place.aside ?? place.folder);
  const places = rung === 'bwrap' ? [{ path: shown, write: true, from: place.folder }] : [];
  const cwd = workspace === undefined ? setting.cwd : inWorkspaceAt(workspace, setting.cwd, task.workspace);
  return openIn({ ...place, places }, thread, task, { ...setting, cwd });
}

/** A path at or below a workspace, where the program sees that. */
const inWorkspaceAt = (seen: string, path: string, workspace: string): string =>
  path === workspace || path.startsWith(`${workspace}/`) ? `${seen}${path.slice(workspace.length)}` : path;

type SessionPlace = {
  readonly program: SessionProgram;
  readonly folder: string;
  readonly places: readonly AgentPlace[];
  readonly aside: string | undefined;
  /** Where a session in the user's home is noted, and whose home that is. */
  readonly noted?: { readonly scratch: string; readonly home: string };
};

async function openIn(
  place: SessionPlace,
  thread: AgentThread,
  task: AgentTask,
  setting: SessionSetting,
): Promise<ThreadSession | FailedReport> {
  const { program, folder, places, aside, noted } = place;
  // The copy's, and the first one that the program reports: some versions continue a session under another id.
  const ids: string[] = [];
  let text: string | undefined;
  let noting: Promise<void> | undefined;
  const note = (id: string) => {
    ids.push(id);
    if (noted === undefined) return;
    noting = noteSession(noted.scratch, { program, home: noted.home, ids });
    // Reported when the program has ended.
    noting.catch(() => {});
  };
  const copy = thread.before === undefined ? undefined : sessionCopy(program, thread.before);
  if (thread.before !== undefined && copy === undefined)
    return lostThread(`what was kept of the conversation is no session of ${program}`);
  if (copy !== undefined) {
    note(copy.id);
    await noting;
    const problem = await writeCopy(place, copy, setting);
    if (problem !== undefined) return lostThread(problem);
  }
  return {
    ...{ resumes: copy?.id, places, aside },
    started(id) {
      const known = copy === undefined ? 0 : 1;
      if (ids.length === known && !ids.includes(id) && isSessionId(id)) note(id);
    },
    async close() {
      try {
        await noting;
        for (const id of ids.toReversed()) text ??= readSession(program, folder, id);
      } finally {
        if (noted !== undefined) await removeSessions(noted.scratch, { program, home: noted.home, ids });
        if (aside !== undefined) await removeTree(aside);
      }
    },
    keep() {
      if (text !== undefined) thread.keep(text);
      else
        task.log('warn', `${program} wrote no session: the conversation "${thread.key}" is not kept`, {
          ids,
        });
    },
  };
}

/** Writes the copy, or says why the user's home does not take it. */
async function writeCopy(
  { folder, noted }: SessionPlace,
  { id, text }: { readonly id: string; readonly text: string },
  { program, cwd, nameOf }: SessionSetting,
): Promise<string | undefined> {
  // In a sandbox no link is on the way to it.
  const name = nameOf(id, noted === undefined ? cwd : await realpath(cwd));
  try {
    await writeSession(folder, name, text);
    return undefined;
  } catch (error) {
    if (noted === undefined || !isCode(error, 'EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST')) throw error;
    return `${program} cannot continue the conversation: ${error instanceof Error ? error.message : String(error)}`;
  }
}

async function makeEmpty(folder: string): Promise<void> {
  beforeWrite(folder);
  await removeTree(folder);
  makeFolder(folder);
}
