/** Which texts of a pull request are requests, and which are answered. */
import type { WriteAccess } from '../github/access.ts';
import { isByWriters } from '../github/label-trust.ts';
import { hasMark, markedText, markOf } from '../github/marks.ts';
import type { PullText } from '../github/pull-state.ts';
import { visibleText } from '../github/visible-text.ts';
import type { FollowRequest } from './follow-record.ts';

type Named = Pick<PullText, 'kind' | 'id'>;

export const answerMark = ({ kind, id }: Named): string => markOf('answer', `${kind}-${id}`);

/** Whether it has its answer, on whichever page. */
export const isAnsweredIn = async (
  texts: readonly PullText[],
  request: Named,
  access: WriteAccess,
): Promise<boolean> => (await markedText(texts, answerMark(request), access)) !== undefined;

/** Of reviews and their comments: a pending one is a draft. */
const noRequests: readonly string[] = ['APPROVED', 'DISMISSED', 'PENDING'];

/** What people with write access ask for, and the bots in `trust`, without an answer. Approvals and resolved threads ask for
 *  nothing. */
export async function newRequests(
  texts: readonly PullText[],
  known: readonly Named[],
  access: WriteAccess,
  trust: readonly string[],
): Promise<readonly FollowRequest[]> {
  const requests: FollowRequest[] = [];
  for (const one of texts) {
    const { kind, id, url, author, createdAt: at, path, thread } = one;
    if (one.isMinimized || one.isResolved || noRequests.includes(one.state)) continue;
    if (hasMark(one.body) || known.some((other) => other.kind === kind && other.id === id)) continue;
    if (!(isByTrustedBot(one, trust) || (await isByWriters(one, access)))) continue;
    // A comment without an end may hide what follows.
    const text = visibleText(one.body, one.bodyText) ?? '';
    if (text === '' || (await isAnsweredIn(texts, one, access))) continue;
    requests.push({ kind, id, url, author: author?.login ?? '', at, text, path, thread });
  }
  return requests;
}

/** `NAME` and `NAME[bot]` name the same bot, and never a person. */
function isByTrustedBot({ author, lastEditedAt, editor }: PullText, trust: readonly string[]): boolean {
  const isTrusted = (actor: PullText['author']) =>
    actor?.__typename === 'Bot' &&
    trust.some((name) => name.toLowerCase().replace(/\[bot\]$/, '') === actor.login.toLowerCase());
  return isTrusted(author) && (lastEditedAt === null || isTrusted(editor));
}
