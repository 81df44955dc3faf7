/** The commits of a run, from its history: messages and changes. */
import { existsSync } from 'node:fs';
import { assertPlainHistory } from '../builder/history-guard.ts';
import { baseRef, headRef, historyGit, readHistoryStart } from '../builder/in-history.ts';
import { layout } from '../model/layout.ts';
import { type Git, GitError } from '../system/git.ts';
import { fromBytes } from '../workspace/names.ts';

export type Commit = {
  readonly id: string;
  readonly message: string;
  readonly changes: readonly CommitChange[];
};

/** Contents; undefined if the file did not exist, or is not a file. */
export type CommitChange = {
  readonly path: string;
  readonly before: Buffer | undefined;
  readonly after: Buffer | undefined;
};

/** The blobs of a commit with more changed files are not read: they are data. */
const mostChanges = 5000;

/** The commits after the base of the orders, oldest first. Rejects with a GitError if git is missing or the history is
 *  damaged. */
export async function* commitsOf(
  runDir: string,
  env: Readonly<Record<string, string | undefined>>,
): AsyncGenerator<Commit> {
  const { history } = layout(runDir);
  if (!existsSync(history)) return;
  assertPlainHistory(history);
  const git = historyGit(history, env);
  const head = await git.run(['rev-parse', '--verify', '--quiet', headRef]);
  if (!head.ok) {
    if (head.missing) await git.text(['--version']);
    return;
  }
  const begin = (await firstOf(history)) ?? baseRef;
  const began = await git.run(['rev-parse', '--verify', '--quiet', '--end-of-options', `${begin}^{commit}`]);
  const range = began.ok ? [`${began.text}..${headRef}`] : [headRef];
  const ids = (await git.text(['rev-list', '--reverse', ...range])).split('\n').filter((id) => id !== '');
  for (const id of ids) {
    const message = await git.text(['log', '-1', '--format=%an <%ae>%n%B', id]);
    yield { id, message, changes: await changesOf(git, id) };
  }
}

/** The base of the orders: uncommitted files of the workdir, including sealed ones, are not work of the run. */
const firstOf = async (history: string): Promise<string | null | undefined> =>
  (await readHistoryStart(history).catch(() => undefined))?.first_commit;

async function changesOf(git: Git, id: string): Promise<CommitChange[]> {
  const told = await git.run(['diff-tree', '--root', '-r', '-z', '--no-renames', '--no-commit-id', id]);
  if (!told.ok) throw new GitError(told.why, told.missing);
  const parts = split(told.stdout);
  const changes: CommitChange[] = [];
  for (let at = 0; at + 1 < parts.length && changes.length < mostChanges; at += 2) {
    const [fromMode = '', toMode = '', from = '', to = ''] = (parts[at] ?? Buffer.alloc(0))
      .toString('latin1')
      .slice(1)
      .split(' ');
    changes.push({
      path: fromBytes(parts[at + 1] ?? Buffer.alloc(0)),
      before: await blob(git, fromMode, from),
      after: await blob(git, toMode, to),
    });
  }
  return changes;
}

/** Files and links, no submodules. */
async function blob(git: Git, mode: string, id: string): Promise<Buffer | undefined> {
  if (!/^1[02]/.test(mode)) return undefined;
  const read = await git.run(['cat-file', 'blob', id]);
  if (!read.ok) throw new GitError(read.why, read.missing);
  return read.stdout;
}

/** The parts of a text, each ended by a zero byte. */
const split = (bytes: Buffer): Buffer[] =>
  bytes
    .toString('latin1')
    .split('\0')
    .slice(0, -1)
    .map((part) => Buffer.from(part, 'latin1'));
