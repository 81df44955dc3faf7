/** Texts that people write on issues and pull requests: the fields of each in queries and in answers. */
import * as z from 'zod';
import { once } from '../core/once.ts';
import { type Actor, actorSchema } from './access.ts';

/** A text that its author, or others, may have changed since. */
export type EditedText = {
  readonly body: string;
  /** The body as GitHub renders it, without its marks. */
  readonly bodyText: string;
  readonly author: Actor;
  readonly lastEditedAt: string | null;
  readonly editor: Actor;
};

export const editedQuery =
  'body bodyText lastEditedAt author { login __typename } editor { login __typename }';
export const editedFields = once(() => ({
  ...{ body: z.string(), bodyText: z.string(), author: actorSchema() },
  ...{ lastEditedAt: z.string().nullable(), editor: actorSchema() },
}));

/** A text below an issue or a pull request. */
export type WrittenText = EditedText & {
  readonly url: string;
  readonly createdAt: string;
  /** Whether the account of our token has written it. */
  readonly viewerDidAuthor: boolean;
  /** Hidden by a moderator. */
  readonly isMinimized: boolean;
};

export const writtenQuery = `url createdAt viewerDidAuthor isMinimized ${editedQuery}`;
export const writtenFields = once(() => ({
  ...editedFields(),
  ...{ url: z.string(), createdAt: z.string(), viewerDidAuthor: z.boolean(), isMinimized: z.boolean() },
}));

/** A page of a list. */
export const pageQuery = 'pageInfo { hasNextPage endCursor }';
export const listPage = <T extends z.ZodType>(node: T) =>
  z.object({
    pageInfo: z.object({ hasNextPage: z.boolean(), endCursor: z.string().nullable() }),
    nodes: z.array(node),
  });
