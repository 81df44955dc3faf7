/** What GitHub says of a repository. */
import * as z from 'zod';
import { once } from '../core/once.ts';
import { type GitHub, notTheApi } from './client.ts';
import { type RepositoryName, repositoryNamed, repositoryPath } from './repository-name.ts';

const repositorySchema = once(() => z.object({ full_name: z.string(), default_branch: z.string() }));

export type RepositoryFacts = {
  /** As GitHub spells it now: a renamed repository answers to its old name, too. */
  readonly name: RepositoryName;
  readonly defaultBranch: string;
};

export async function repositoryFacts(client: GitHub, asked: RepositoryName): Promise<RepositoryFacts> {
  const path = repositoryPath(asked);
  const read = repositorySchema().safeParse(await client.get(path));
  const name = repositoryNamed(read.data?.full_name ?? '');
  if (read.data === undefined || name === undefined) throw notTheApi(`GET ${path}`);
  return { name, defaultBranch: read.data.default_branch };
}
