/** Branches of a repository. */
import * as z from 'zod';
import { once } from '../core/once.ts';
import { type GitHub, notTheApi } from './client.ts';
import { orNone } from './error.ts';
import { type RepositoryName, repositoryPath } from './repository-name.ts';

const refSchema = once(() => z.object({ object: z.object({ sha: z.string().regex(/^[0-9a-f]{40,64}$/) }) }));

/** The last commit of a branch; undefined where there is no such branch, or the token may not read it. */
export async function branchHead(
  client: GitHub,
  name: RepositoryName,
  branch: string,
): Promise<string | undefined> {
  const path = `${repositoryPath(name)}/git/ref/heads/${branch.split('/').map(encodeURIComponent).join('/')}`;
  return orNone(async () => {
    const read = refSchema().safeParse(await client.get(path));
    if (!read.success) throw notTheApi(`GET ${path}`);
    return read.data.object.sha;
  });
}
