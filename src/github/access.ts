/** Whom to trust: people who may write to the repository. What GitHub calls an author's association is no such thing: it calls
 *  members of a private organisation contributors. */
import * as z from 'zod';
import { once } from '../core/once.ts';
import { type GitHub, notTheApi } from './client.ts';
import { orNone } from './error.ts';
import { type RepositoryName, repositoryPath } from './repository-name.ts';

/** Who did something, as GraphQL says it; null for an account that is gone. */
export const actorSchema = once(() => z.object({ login: z.string(), __typename: z.string() }).nullable());
export type Actor = z.infer<ReturnType<typeof actorSchema>>;

export interface WriteAccess {
  /** Whether an account may write to the repository now. Bots and accounts that are gone never may. */
  canWrite(actor: Actor): Promise<boolean>;
}

const permissionSchema = once(() =>
  z.object({ permission: z.string(), user: z.object({ login: z.string() }).nullish() }),
);

/** Each account is asked for once. */
export function writeAccessTo(client: GitHub, name: RepositoryName): WriteAccess {
  const known = new Map<string, Promise<boolean>>();
  return {
    canWrite(actor) {
      // The name of a bot may be that of a person, too.
      if (actor === null || actor.__typename !== 'User') return Promise.resolve(false);
      const login = actor.login.toLowerCase();
      const before = known.get(login) ?? permissionOf(client, name, actor.login);
      known.set(login, before);
      return before;
    },
  };
}

async function permissionOf(client: GitHub, name: RepositoryName, login: string): Promise<boolean> {
  const path = `${repositoryPath(name)}/collaborators/${encodeURIComponent(login)}/permission`;
  // GitHub knows no such account there. A token that may not ask gets a 403.
  const answer = await orNone(() => client.get(path), 404);
  if (answer === undefined) return false;
  const read = permissionSchema().safeParse(answer);
  if (!read.success) throw notTheApi(`GET ${path}`);
  const { permission, user } = read.data;
  const isSame = user == null || user.login.toLowerCase() === login.toLowerCase();
  return isSame && (permission === 'admin' || permission === 'write');
}
