/** A server that speaks the part of GitHub's API that is used here, on the loopback interface: REST with pages, ETags and permissions, and
 *  the GraphQL queries by their names. Its state is what a test sees on GitHub. */
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type FakeRequest = {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly body: Record<string, unknown>;
  readonly headers: IncomingMessage['headers'];
  /** Of the answer. */
  status: number;
};

export type FakeText = {
  author: string;
  body: string;
  lastEditedAt?: string | undefined;
  editor?: string | undefined;
  /** Default: the body without its HTML comments. */
  bodyText?: string;
};
export type FakeComment = FakeText & { id: number; createdAt: string; isMinimized?: boolean };
export type FakeEvent = {
  kind: 'labeled' | 'unlabeled' | 'renamed';
  at: string;
  actor: string | null;
  label?: string;
};
export type FakeIssue = FakeText & {
  number: number;
  title: string;
  state: 'open' | 'closed';
  labels: string[];
  comments: FakeComment[];
  events: FakeEvent[];
  /** All changes of the text; by default the last one alone. */
  edits?: { at: string; by: string }[];
  /** How many there are, if not all are listed. */
  editCount?: number;
  /** Deleted or transferred, though a list still has it. */
  isGone?: boolean;
  /** It is one of a pull request, which lists show too. */
  isPull?: boolean;
};
export type FakePull = {
  number: number;
  title: string;
  body: string;
  draft: boolean;
  state: 'open' | 'closed';
  merged: boolean;
  /** `OWNER:BRANCH`. */
  head: string;
  base: string;
  /** Commit of the branch, at each request. */
  sha?: () => string;
  mergeable?: boolean | null;
  comments?: FakeComment[];
  reviews?: (FakeComment & { state: string })[];
  threads?: { isResolved: boolean; path: string; comments: (FakeComment & { state?: string })[] }[];
  /** Of its head. */
  checks?: FakeCheck[];
};
export type FakeCheck = {
  id: number;
  name: string;
  status: string;
  conclusion: string | null;
  output: { title?: string | null; summary?: string | null; text?: string | null };
  /** Of a job of Actions. */
  app?: { slug: string };
  details_url?: string;
  annotations?: { path: string; start_line: number; annotation_level: string; message: string }[];
};

export type FakeRepository = {
  /** `OWNER/REPO`. */
  readonly name: string;
  defaultBranch: string;
  /** By login; who is not in it has `read`. */
  permissions: Record<string, 'admin' | 'write' | 'read' | 'none'>;
  readonly issues: FakeIssue[];
  readonly pulls: FakePull[];
  /** Commits of branches, at each request. */
  branches: Record<string, () => string>;
  /** By the ids of jobs: where the log is. */
  logs: Record<string, string>;
  /** Adds an issue; its label was set by `labeledBy` at `labeledAt`. */
  issue(more?: Partial<FakeIssue> & { labeledBy?: string; labeledAt?: string; label?: string }): FakeIssue;
};

/** What a request gets instead. */
export type FakeReaction = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The request is carried out all the same. */
  readonly carriedOut?: boolean;
};

export interface FakeGitHub extends AsyncDisposable {
  /** For `GITHUB_API_URL`. */
  readonly url: string;
  readonly requests: FakeRequest[];
  /** Logins by token; accounts whose name ends with `[bot]` are bots. */
  readonly tokens: Map<string, string>;
  repository(name: string): FakeRepository;
  /** The next request that fits is answered so. */
  react(fits: (request: FakeRequest) => boolean, reaction: FakeReaction): void;
  /** Called when a request has arrived, before anything is done. */
  onRequest: ((request: FakeRequest) => void) | undefined;
  /** Called when a request was carried out, before it is answered. */
  onAnswer: ((request: FakeRequest) => void) | undefined;
  pageSize: number;
}

export const earlier = '2026-01-01T10:00:00Z';
export const labelTime = '2026-01-02T10:00:00Z';
export const later = '2026-01-03T10:00:00Z';
const token = 'fake-token-1234567890';
/** The token of the account `factory-user`. */
export const fakeToken = token;

type Answered = {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
};
const notFound: Answered = { status: 404, body: { message: 'Not Found' } };

export async function startGitHub(): Promise<FakeGitHub> {
  const repositories = new Map<string, FakeRepository>();
  const reactions: { fits: (request: FakeRequest) => boolean; reaction: FakeReaction }[] = [];
  const server = createServer(async (incoming, out) => {
    let text = '';
    for await (const piece of incoming.setEncoding('utf8')) text += piece;
    const { method = '', url = '', headers } = incoming;
    const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
    const request: FakeRequest = { method, path: url, body, headers, status: 0 };
    it.requests.push(request);
    it.onRequest?.(request);
    const at = reactions.findIndex(({ fits }) => fits(request));
    const [set] = at < 0 ? [] : reactions.splice(at, 1);
    const answered = set === undefined || set.reaction.carriedOut === true ? answer(request) : undefined;
    const sent: Answered =
      set === undefined
        ? (answered ?? notFound)
        : { status: set.reaction.status, body: set.reaction.body, headers: { ...set.reaction.headers } };
    it.onAnswer?.(request);
    request.status = send(out, sent, headers['if-none-match']);
  });

  function answer(request: FakeRequest): Answered {
    const login = it.tokens.get((request.headers.authorization ?? '').replace('Bearer ', ''));
    if (login === undefined) return { status: 401, body: { message: 'Bad credentials' } };
    if (request.path === '/graphql') return graphql(request, login, repositories);
    const url = new URL(request.path, it.url);
    const [, owner = '', name = '', rest = ''] =
      /^\/repos\/([^/]+)\/([^/]+)(\/.*)?$/.exec(url.pathname) ?? [];
    const repository = repositories.get(`${owner}/${name}`.toLowerCase());
    if (repository === undefined) return notFound;
    const answered =
      rest === '' ? wholeRepository(repository) : rested(repository, rest, url, request, login);
    return Array.isArray(answered.body) ? paged(answered, url, it.pageSize) : answered;
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // listening on a port, so it is no pipe's name
  const it: FakeGitHub = {
    url: `http://127.0.0.1:${port}`,
    requests: [],
    tokens: new Map([[token, 'factory-user']]),
    onRequest: undefined,
    onAnswer: undefined,
    pageSize: 100,
    repository(name) {
      const known = repositories.get(name.toLowerCase()) ?? newRepository(name);
      repositories.set(name.toLowerCase(), known);
      return known;
    },
    react: (fits, reaction) => void reactions.push({ fits, reaction }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return it;
}

/** Answers, or with 304 where the client has that answer; the status that was sent. */
function send(out: ServerResponse, { status, body, headers = {} }: Answered, known?: string): number {
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
  const etag = `"${createHash('sha256').update(text).digest('hex').slice(0, 16)}"`;
  const isKnown = status === 200 && known === etag;
  out.writeHead(isKnown ? 304 : status, {
    'content-type': 'application/json; charset=utf-8',
    ...(status === 200 ? { etag } : {}),
    ...headers,
  });
  out.end(isKnown ? undefined : text);
  return isKnown ? 304 : status;
}

function newRepository(name: string): FakeRepository {
  const repository: FakeRepository = {
    ...{ name, defaultBranch: 'main', permissions: { ada: 'write' as const }, issues: [], pulls: [] },
    branches: {},
    logs: {},
    issue({ labeledBy = 'ada', labeledAt = labelTime, label = 'factory', ...more } = {}) {
      const number = more.number ?? repository.issues.length + 1;
      const issue: FakeIssue = {
        ...{ number, title: `Issue ${number}`, body: `Text ${number}.`, author: 'mallory', state: 'open' },
        ...{ labels: [label], comments: [] },
        events: [{ kind: 'labeled', at: labeledAt, actor: labeledBy, label }],
        ...more,
      };
      repository.issues.push(issue);
      return issue;
    },
  };
  return repository;
}

const wholeRepository = ({ name, defaultBranch }: FakeRepository): Answered => ({
  status: 200,
  body: { full_name: name, default_branch: defaultBranch },
});

const typeOf = (login: string) => (login.endsWith('[bot]') ? 'Bot' : 'User');
const actorOf = (login: string | null | undefined) =>
  login == null ? null : { login: login.replace(/\[bot\]$/, ''), __typename: typeOf(login) };

/** The resources of a repository. */
function rested(
  repository: FakeRepository,
  rest: string,
  url: URL,
  { method, body }: FakeRequest,
  login: string,
): Answered {
  const [, kind = '', id = '', more = ''] = rest.split('/');
  if (kind === 'collaborators' && more === 'permission') {
    const permission = repository.permissions[decodeURIComponent(id)] ?? 'read';
    return { status: 200, body: { permission, user: { login: decodeURIComponent(id) } } };
  }
  if (kind === 'issues' && id === '' && method === 'GET') {
    const label = (url.searchParams.get('labels') ?? '').toLowerCase();
    const issues = repository.issues.filter(
      ({ state, labels }) => state === 'open' && labels.some((one) => one.toLowerCase() === label),
    );
    return {
      status: 200,
      body: issues.map(({ number, isPull }) => ({ number, ...(isPull ? { pull_request: {} } : {}) })),
    };
  }
  const issue = repository.issues.find(({ number }) => number === Number(id));
  if (kind === 'issues' && more === 'comments' && method === 'POST' && issue !== undefined) {
    const comment = {
      id: issue.comments.length + 1,
      createdAt: later,
      author: login,
      body: String(body['body']),
    };
    issue.comments.push(comment);
    return { status: 201, body: { html_url: commentUrl(repository, issue, comment) } };
  }
  const pull = repository.pulls.find(({ number }) => number === Number(id));
  if (pull !== undefined && method === 'POST' && more === 'comments') {
    const text = String(body['body']);
    const to = /\/comments\/(\d+)\/replies$/.exec(rest)?.[1];
    const thread = pull.threads?.find(({ comments }) => comments[0]?.id === Number(to));
    pull.comments ??= [];
    const list = to === undefined ? pull.comments : thread?.comments;
    if (list === undefined) return notFound;
    const id = 9000 + repository.pulls.flatMap((one) => textsOf(one)).length;
    list.push({ id, createdAt: later, author: login, body: text });
    return {
      status: 201,
      body: { html_url: `https://github.com/${repository.name}/pull/${pull.number}#${id}` },
    };
  }
  if (kind === 'commits' && more === 'check-runs') {
    const runs = repository.pulls.find(({ sha }) => sha?.() === id)?.checks ?? [];
    return { status: 200, body: { check_runs: runs.map(({ annotations: _, ...run }) => run) } };
  }
  if (kind === 'check-runs') {
    const runs = repository.pulls.flatMap(({ checks = [] }) => checks);
    return { status: 200, body: runs.find((run) => run.id === Number(id))?.annotations ?? [] };
  }
  const log = /^\/actions\/jobs\/(\d+)\/logs$/.exec(rest)?.[1];
  if (log !== undefined) {
    const location = repository.logs[log];
    return location === undefined ? { status: 410, body: {} } : { status: 302, headers: { location } };
  }
  const branch = /^\/git\/ref\/heads\/(.+)$/.exec(rest)?.[1];
  const sha = branch === undefined ? undefined : repository.branches[decodeURIComponent(branch)]?.();
  if (sha !== undefined) return { status: 200, body: { ref: `refs/heads/${branch}`, object: { sha } } };
  if (kind === 'pulls') return pulls(repository, id, url, method, body);
  return notFound;
}

function pulls(
  repository: FakeRepository,
  id: string,
  url: URL,
  method: string,
  body: Record<string, unknown>,
): Answered {
  const shown = (pull: FakePull) => ({
    ...{ number: pull.number, title: pull.title, body: pull.body, draft: pull.draft, state: pull.state },
    ...{
      merged: pull.merged,
      merged_at: pull.merged ? later : null,
      mergeable: pull.mergeable ?? null,
      updated_at: later,
      base: { ref: pull.base },
    },
    head: { ref: pull.head.split(':')[1], sha: pull.sha?.() ?? '' },
    html_url: `https://github.com/${repository.name}/pull/${pull.number}`,
  });
  if (method === 'GET' && id === '') {
    const head = url.searchParams.get('head');
    const state = url.searchParams.get('state') ?? 'open';
    const base = url.searchParams.get('base');
    const found = repository.pulls.filter(
      (pull) => pull.head === head && pull.state === state && (base === null || pull.base === base),
    );
    return { status: 200, body: found.map(shown) };
  }
  if (method === 'POST') {
    const owner = repository.name.split('/')[0];
    const head = String(body['head']).includes(':') ? String(body['head']) : `${owner}:${body['head']}`;
    const base = String(body['base']);
    if (repository.pulls.some((pull) => pull.head === head && pull.state === 'open' && pull.base === base))
      return {
        status: 422,
        body: {
          message: 'Validation Failed',
          errors: [{ message: `A pull request already exists for ${head}.` }],
        },
      };
    const number = 1000 + repository.pulls.length;
    const texts = { title: String(body['title']), body: String(body['body']), base };
    const draft = body['draft'] === true;
    const pull: FakePull = { number, ...texts, draft, state: 'open', merged: false, head };
    repository.pulls.push(pull);
    return { status: 201, body: shown(pull) };
  }
  const pull = repository.pulls.find(({ number }) => number === Number(id));
  if (pull === undefined) return notFound;
  if (method === 'PATCH') Object.assign(pull, body);
  return { status: 200, body: shown(pull) };
}

/** A page of a list, with the `Link` to the next one. */
function paged(answered: Answered, url: URL, pageSize: number): Answered {
  const all = answered.body as readonly unknown[];
  const size = Math.min(pageSize, Number(url.searchParams.get('per_page') ?? 30));
  const page = Number(url.searchParams.get('page') ?? 1);
  const next = new URL(url);
  next.searchParams.set('page', String(page + 1));
  const first = new URL(url);
  first.searchParams.set('page', '1');
  const link = [
    ...(page > 1 ? [`<${first.href}>; rel="first"`] : []),
    ...(page * size < all.length ? [`<${next.href}>; rel="next"`] : []),
  ].join(', ');
  const body = all.slice((page - 1) * size, page * size);
  return { ...answered, body, headers: link === '' ? {} : { link } };
}

const commentUrl = ({ name }: FakeRepository, { number }: FakeIssue, { id }: FakeComment): string =>
  `https://github.com/${name}/issues/${number}#issuecomment-${id}`;

export const textsOf = ({ comments = [], reviews = [], threads = [] }: FakePull): readonly FakeComment[] => [
  ...comments,
  ...reviews,
  ...threads.flatMap((one) => one.comments),
];

/* GraphQL, by the names of the queries. */

function graphql(
  { body }: FakeRequest,
  login: string,
  repositories: ReadonlyMap<string, FakeRepository>,
): Answered {
  const variables = body['variables'] as Record<string, string | number | null>;
  const repository = repositories.get(`${variables['owner']}/${variables['name']}`.toLowerCase());
  const [, query] = /^query (\w+)/.exec(String(body['query'])) ?? [];
  const issue = repository?.issues.find(({ number }) => number === variables['number']);
  if (query === 'FactoryIssue' && repository !== undefined && issue !== undefined && !issue.isGone) {
    const data = { repository: { issue: issueNode(repository, issue, variables['after'] ?? null, login) } };
    return { status: 200, body: { data } };
  }
  const pull = repository?.pulls.find(({ number }) => number === variables['number']);
  if (query === 'FactoryPull' && repository !== undefined && pull !== undefined) {
    const data = { repository: { pullRequest: pullNode(repository, pull, variables, login) } };
    return { status: 200, body: { data } };
  }
  const message = 'Could not resolve to a node.';
  const data = repository === undefined ? null : { repository: { issue: null } };
  return { status: 200, body: { data, errors: [{ type: 'NOT_FOUND', message }] } };
}

const typeNames = { labeled: 'LabeledEvent', unlabeled: 'UnlabeledEvent', renamed: 'RenamedTitleEvent' };

const edited = ({ body, bodyText, author, lastEditedAt, editor }: FakeText) => ({
  body,
  bodyText: bodyText ?? body.replace(/<!--[\s\S]*?-->/g, ''),
  author: actorOf(author),
  lastEditedAt: lastEditedAt ?? null,
  editor: actorOf(editor),
});

function editNodes({ edits, editCount, lastEditedAt, editor }: FakeIssue) {
  const all = edits ?? (lastEditedAt === undefined ? [] : [{ at: lastEditedAt, by: editor }]);
  const nodes = all.map(({ at, by }) => ({ editedAt: at, editor: actorOf(by) }));
  return { totalCount: editCount ?? nodes.length, nodes };
}

function issueNode(
  repository: FakeRepository,
  issue: FakeIssue,
  after: string | number | null,
  login: string,
) {
  const from = Number(after ?? 0);
  const nodes = issue.comments.slice(from, from + 100).map((comment) => ({
    ...edited(comment),
    ...{ url: commentUrl(repository, issue, comment), createdAt: comment.createdAt },
    ...{ viewerDidAuthor: comment.author === login, isMinimized: comment.isMinimized === true },
  }));
  return {
    ...{ url: `https://github.com/${repository.name}/issues/${issue.number}`, title: issue.title },
    ...{ state: issue.state.toUpperCase(), ...edited(issue) },
    userContentEdits: editNodes(issue),
    timelineItems: {
      nodes: issue.events.slice(-100).map(({ kind, at, actor, label }) => ({
        ...{ __typename: typeNames[kind], createdAt: at, actor: actorOf(actor) },
        ...(label === undefined ? {} : { label: { name: label } }),
      })),
    },
    comments: {
      pageInfo: {
        hasNextPage: from + 100 < issue.comments.length,
        endCursor: String(from + 100),
      },
      nodes,
    },
  };
}

function pullNode(
  { name }: FakeRepository,
  { number, comments = [], reviews = [], threads = [] }: FakePull,
  after: Readonly<Record<string, string | number | null>>,
  login: string,
) {
  const text = (comment: FakeComment) => ({
    ...edited(comment),
    ...{ url: `https://github.com/${name}/pull/${number}#${comment.id}`, createdAt: comment.createdAt },
    ...{ viewerDidAuthor: comment.author === login, isMinimized: comment.isMinimized === true },
    fullDatabaseId: String(comment.id),
  });
  const page = <T>(all: readonly T[], from: string | number | null | undefined, most: number) => {
    const at = Number(from ?? 0);
    const nodes = all.slice(at, at + most);
    const end = nodes.length === 0 ? null : String(at + nodes.length);
    return { pageInfo: { hasNextPage: at + nodes.length < all.length, endCursor: end }, nodes };
  };
  return {
    comments: page(comments.map(text), after['comments'], 100),
    reviews: page(
      reviews.map((one) => ({ ...text(one), state: one.state })),
      after['reviews'],
      100,
    ),
    reviewThreads: page(
      threads.map(({ isResolved, path, comments: of }) => ({
        ...{
          isResolved,
          path,
          comments: {
            nodes: of.slice(0, 100).map((one) => ({ state: one.state ?? 'SUBMITTED', ...text(one) })),
          },
        },
      })),
      after['threads'],
      50,
    ),
  };
}
