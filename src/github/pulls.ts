/** Pull requests of a branch. */
import * as z from 'zod';
import { once } from '../core/once.ts';
import { type GitHub, notTheApi } from './client.ts';
import { type RepositoryName, repositoryPath } from './repository-name.ts';

const pullSchema = once(() =>
  z.object({
    number: z.int(),
    html_url: z.string(),
    title: z.string(),
    body: z.string().nullable(),
    draft: z.boolean().optional(),
    head: z.object({ ref: z.string(), sha: z.string() }),
    base: z.object({ ref: z.string() }),
  }),
);
export type PullRequest = z.infer<ReturnType<typeof pullSchema>>;

/** The open pull request of a branch, into `base` if that is given; `head` is `OWNER:BRANCH`. */
export async function openPullOf(
  client: GitHub,
  name: RepositoryName,
  head: string,
  base?: string,
): Promise<PullRequest | undefined> {
  const into = base === undefined ? {} : { base };
  const query = new URLSearchParams({ state: 'open', head, ...into, per_page: '100' });
  const path = `${repositoryPath(name)}/pulls?${query}`;
  const read = z.array(pullSchema()).safeParse(await client.pages(path));
  if (!read.success) throw notTheApi(`GET ${path}`);
  return read.data[0];
}

const endedSchema = once(() =>
  z.object({ number: z.int(), merged_at: z.string().nullable(), head: z.object({ sha: z.string() }) }),
);

/** Those of a branch that were merged into `base`, with the commits that the branch had then. */
export async function mergedPullsOf(
  client: GitHub,
  name: RepositoryName,
  { head, base }: Pick<NewPull, 'head' | 'base'>,
): Promise<readonly { readonly number: number; readonly commit: string }[]> {
  const query = new URLSearchParams({ state: 'closed', head, base, per_page: '100' });
  const path = `${repositoryPath(name)}/pulls?${query}`;
  const read = z.array(endedSchema()).safeParse(await client.pages(path));
  if (!read.success) throw notTheApi(`GET ${path}`);
  return read.data.flatMap(({ number, merged_at, head: { sha } }) =>
    merged_at === null ? [] : [{ number, commit: sha }],
  );
}

export type NewPull = {
  readonly title: string;
  readonly body: string;
  readonly head: string;
  readonly base: string;
  readonly draft: boolean;
};

export const createPull = (client: GitHub, name: RepositoryName, pull: NewPull): Promise<PullRequest> =>
  changedPull(client, 'POST', `${repositoryPath(name)}/pulls`, pull);

export const updatePull = (
  client: GitHub,
  name: RepositoryName,
  number: number,
  change: { readonly body: string },
): Promise<PullRequest> => changedPull(client, 'PATCH', `${repositoryPath(name)}/pulls/${number}`, change);

async function changedPull(
  client: GitHub,
  method: 'POST' | 'PATCH',
  path: string,
  body: object,
): Promise<PullRequest> {
  const read = pullSchema().safeParse(await client.change(method, path, body));
  if (!read.success) throw notTheApi(`${method} ${path}`);
  return read.data;
}
