/** The present state of a pull request: its branch, and all that people wrote on it. */
import * as z from 'zod';
import { once } from '../core/once.ts';
import { type GitHub, notTheApi } from './client.ts';
import { type RepositoryName, repositoryPath } from './repository-name.ts';
import { listPage, pageQuery, type WrittenText, writtenFields, writtenQuery } from './written-text.ts';

const briefSchema = once(() =>
  z.object({
    number: z.int(),
    state: z.enum(['open', 'closed']),
    merged: z.boolean().optional(),
    /** Null while GitHub computes it. */
    mergeable: z.boolean().nullish(),
    updated_at: z.string(),
    head: z.object({ ref: z.string(), sha: z.string() }),
    base: z.object({ ref: z.string() }),
  }),
);
export type PullState = z.infer<ReturnType<typeof briefSchema>>;

/** An answer that has not changed costs nothing of the limit. */
export async function pullState(client: GitHub, name: RepositoryName, number: number): Promise<PullState> {
  const path = `${repositoryPath(name)}/pulls/${number}`;
  const read = briefSchema().safeParse(await client.get(path));
  if (!read.success) throw notTheApi(`GET ${path}`);
  return read.data;
}

/** `comment`: below the description; `review`: the text of a review; `thread`: on a line of a file. */
export type PullText = WrittenText & {
  readonly kind: 'comment' | 'review' | 'thread';
  readonly id: number;
  /** Of a review: `APPROVED`, `CHANGES_REQUESTED`, …; in a thread `SUBMITTED`; of both `PENDING` for a draft of the account that asks;
   *  else empty. */
  readonly state: string;
  /** Of a thread: its file, and the id of its first comment. */
  readonly path: string;
  readonly thread: number;
  readonly isResolved: boolean;
};

/** `databaseId` has 32 bits, which comments have outgrown. */
const fields = `fullDatabaseId ${writtenQuery}`;
const pullQuery = `query FactoryPull($owner: String!, $name: String!, $number: Int!, $comments: String, $reviews: String, $threads: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      comments(first: 100, after: $comments) { ${pageQuery} nodes { ${fields} } }
      reviews(first: 100, after: $reviews) { ${pageQuery} nodes { state ${fields} } }
      reviewThreads(first: 50, after: $threads) {
        ${pageQuery}
        nodes { isResolved path comments(first: 100) { nodes { state ${fields} } } }
      }
    }
  }
}`;

const answerSchema = once(() => {
  // A BigInt comes as text.
  const bigId = z.string().regex(/^\d+$/).transform(Number).pipe(z.int());
  const text = { ...writtenFields(), fullDatabaseId: bigId };
  const thread = z.object({
    ...{ isResolved: z.boolean(), path: z.string() },
    comments: z.object({ nodes: z.array(z.object({ ...text, state: z.string() })) }),
  });
  const pullRequest = z.object({
    comments: listPage(z.object(text)),
    reviews: listPage(z.object({ ...text, state: z.string() })),
    reviewThreads: listPage(thread),
  });
  return z.object({ repository: z.object({ pullRequest }) });
});

const none = { state: '', path: '', thread: 0, isResolved: false };

/** All texts of all pages, in the order of time. */
export async function pullTexts(
  client: GitHub,
  { owner, repo }: RepositoryName,
  number: number,
): Promise<readonly PullText[]> {
  const all = new Map<string, PullText>();
  const add = (text: PullText) => void all.set(`${text.kind} ${text.id}`, text);
  let after: Readonly<Record<'comments' | 'reviews' | 'threads', string | null>> = {
    ...{ comments: null, reviews: null, threads: null },
  };
  for (let more = true; more; ) {
    const read = answerSchema().safeParse(
      await client.query(pullQuery, { owner, name: repo, number, ...after }),
    );
    if (!read.success) throw notTheApi('POST /graphql');
    const { comments, reviews, reviewThreads } = read.data.repository.pullRequest;
    for (const { fullDatabaseId: id, ...text } of comments.nodes)
      add({ ...none, ...text, id, kind: 'comment' });
    for (const { fullDatabaseId: id, ...text } of reviews.nodes)
      add({ ...none, ...text, id, kind: 'review' });
    for (const { isResolved, path, comments: of } of reviewThreads.nodes) {
      const thread = of.nodes[0]?.fullDatabaseId ?? 0;
      for (const { fullDatabaseId: id, ...text } of of.nodes)
        add({ ...text, id, kind: 'thread', isResolved, path, thread });
    }
    const pages = { comments, reviews, threads: reviewThreads };
    more = Object.values(pages).some(({ pageInfo: page }) => page.hasNextPage);
    // A list that has ended is asked for behind its end, where it is empty.
    after = {
      comments: comments.pageInfo.endCursor ?? after.comments,
      reviews: reviews.pageInfo.endCursor ?? after.reviews,
      threads: reviewThreads.pageInfo.endCursor ?? after.threads,
    };
  }
  return [...all.values()].sort((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt));
}

/** Answers in a thread. */
export async function writeReply(
  client: GitHub,
  name: RepositoryName,
  { number, thread }: { readonly number: number; readonly thread: number },
  body: string,
): Promise<void> {
  await client.change('POST', `${repositoryPath(name)}/pulls/${number}/comments/${thread}/replies`, { body });
}
