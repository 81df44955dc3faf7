/** Issues: which have a label, and all of one that decides about it, read at one moment. */
import * as z from 'zod';
import { once } from '../core/once.ts';
import { type Actor, actorSchema } from './access.ts';
import { type GitHub, notTheApi } from './client.ts';
import { type RepositoryName, repositoryPath } from './repository-name.ts';
import {
  type EditedText,
  editedFields,
  editedQuery,
  listPage,
  pageQuery,
  type WrittenText,
  writtenFields,
  writtenQuery,
} from './written-text.ts';

const listedSchema = once(() => z.array(z.object({ number: z.int(), pull_request: z.unknown().optional() })));

/** Numbers of the open issues with a label, the oldest first. Pull requests are none. */
export async function issuesWithLabel(
  client: GitHub,
  name: RepositoryName,
  label: string,
): Promise<readonly number[]> {
  const query = new URLSearchParams({
    ...{ state: 'open', labels: label, sort: 'created', direction: 'asc', per_page: '100' },
  });
  const path = `${repositoryPath(name)}/issues?${query}`;
  const read = listedSchema().safeParse(await client.pages(path));
  if (!read.success) throw notTheApi(`GET ${path}`);
  const numbers = read.data.flatMap((one) => (one.pull_request === undefined ? [one.number] : []));
  return [...new Set(numbers)].sort((a, b) => a - b);
}

/** A label that was set or removed, or another title. */
export type IssueEvent = {
  readonly kind: 'labeled' | 'unlabeled' | 'renamed';
  readonly at: string;
  readonly actor: Actor;
  /** Of a label: its name now. */
  readonly label: string;
};

export type IssueEdit = { readonly at: string; readonly actor: Actor };

export type Issue = EditedText & {
  readonly number: number;
  readonly url: string;
  readonly title: string;
  readonly isOpen: boolean;
  /** Each change of the text; not all where it was changed very often. */
  readonly edits: readonly IssueEdit[];
  readonly hasAllEdits: boolean;
  /** The latest, in the order of time. */
  readonly events: readonly IssueEvent[];
  readonly comments: readonly WrittenText[];
};

/** Text and history in one answer: between two requests either may change. */
const issueQuery = `query FactoryIssue($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    issue(number: $number) {
      url state title ${editedQuery}
      userContentEdits(first: 100) { totalCount nodes { editedAt editor { login __typename } } }
      timelineItems(last: 100, itemTypes: [LABELED_EVENT, UNLABELED_EVENT, RENAMED_TITLE_EVENT]) {
        nodes {
          __typename
          ... on LabeledEvent { createdAt actor { login __typename } label { name } }
          ... on UnlabeledEvent { createdAt actor { login __typename } label { name } }
          ... on RenamedTitleEvent { createdAt actor { login __typename } }
        }
      }
      comments(first: 100, after: $after) {
        ${pageQuery} nodes { ${writtenQuery} }
      }
    }
  }
}`;

const kinds = { LabeledEvent: 'labeled', UnlabeledEvent: 'unlabeled', RenamedTitleEvent: 'renamed' } as const;

const answerSchema = once(() => {
  const event = z.object({
    __typename: z.enum(['LabeledEvent', 'UnlabeledEvent', 'RenamedTitleEvent']),
    createdAt: z.string(),
    actor: actorSchema(),
    label: z.object({ name: z.string() }).optional(),
  });
  const edit = z.object({ editedAt: z.string(), editor: actorSchema() });
  const issue = z.object({
    ...editedFields(),
    userContentEdits: z.object({ totalCount: z.int(), nodes: z.array(edit.nullable()) }).nullable(),
    ...{ url: z.string(), state: z.string(), title: z.string() },
    timelineItems: z.object({ nodes: z.array(event) }),
    comments: listPage(z.object(writtenFields())),
  });
  return z.object({ repository: z.object({ issue }) });
});

/** The issue with all of its comments. */
export async function readIssue(client: GitHub, name: RepositoryName, number: number): Promise<Issue> {
  const comments: WrittenText[] = [];
  let first: Omit<Issue, 'comments'> | undefined;
  for (let after: string | null = null; ; ) {
    const variables = { owner: name.owner, name: name.repo, number, after };
    const read = answerSchema().safeParse(await client.query(issueQuery, variables));
    if (!read.success) throw notTheApi('POST /graphql');
    const { comments: page, timelineItems, userContentEdits, state, ...issue } = read.data.repository.issue;
    const events = timelineItems.nodes.map(({ __typename, createdAt, actor, label }) => ({
      ...{ kind: kinds[__typename], at: createdAt, actor, label: label?.name ?? '' },
    }));
    first ??= { ...issue, ...editsOf(userContentEdits), number, events, isOpen: state === 'OPEN' };
    comments.push(...page.nodes);
    if (!page.pageInfo.hasNextPage) return { ...first, comments };
    after = page.pageInfo.endCursor;
    if (after === null) throw notTheApi('POST /graphql');
  }
}

type EditList = {
  readonly totalCount: number;
  readonly nodes: readonly ({ readonly editedAt: string; readonly editor: Actor } | null)[];
};

function editsOf(list: EditList | null): Pick<Issue, 'edits' | 'hasAllEdits'> {
  const nodes = (list?.nodes ?? []).flatMap((one) => (one === null ? [] : [one]));
  const edits = nodes.map(({ editedAt, editor }) => ({ at: editedAt, actor: editor }));
  return { edits, hasAllEdits: edits.length === (list?.totalCount ?? 0) };
}

const writtenSchema = once(() => z.object({ html_url: z.string() }));

/** Writes a comment; answers its address. */
export async function writeComment(
  client: GitHub,
  name: RepositoryName,
  number: number,
  body: string,
): Promise<string> {
  const path = `${repositoryPath(name)}/issues/${number}/comments`;
  const read = writtenSchema().safeParse(await client.change('POST', path, { body }));
  if (!read.success) throw notTheApi(`POST ${path}`);
  return read.data.html_url;
}
