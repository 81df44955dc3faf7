/** `factory pr`: delivers a run, pushes its branch, and opens or updates the pull request of that branch. */
import { dirname } from 'node:path';
import { type Refusal, refused } from '../../core/diagnostic.ts';
import { firstRemote } from '../../git/push.ts';
import { hasCommit } from '../../git/repository.ts';
import type { GitHub } from '../../github/client.ts';
import { GitHubError } from '../../github/error.ts';
import { issueOfRun } from '../../github/layout.ts';
import { createPull, mergedPullsOf, openPullOf, type PullRequest, updatePull } from '../../github/pulls.ts';
import { repositoryFacts } from '../../github/repository-facts.ts';
import {
  type RemotePlace,
  type RepositoryName,
  remotePlace,
  repositoryNamed,
  repositoryText,
} from '../../github/repository-name.ts';
import type { GitHubServer } from '../../github/server.ts';
import { withGitHub } from '../../github/with-github.ts';
import { sourceGit } from '../../platform/git.ts';
import type { HttpSend } from '../../platform/http.ts';
import type { StoredRun } from '../../run/open-run.ts';
import type { Report } from '../../verify/report.ts';
import type { DeliveryReport } from '../answers.ts';
import { attestedFacts } from '../attest/attest-run.ts';
import { type DeliveryHost, deliverRun, trustedSource } from '../deliver.ts';
import { titleOf } from '../inspect/title.ts';
import type { DeliveryFlags } from '../typed-command.ts';
import { type EvidenceFacts, withEvidence } from './evidence-text.ts';
import { pullTitle } from './pull-title.ts';

export type PullFlags = Pick<DeliveryFlags, 'branch' | 'reuse' | 'overridden' | 'accept_weak'> & {
  /** `OWNER/REPO`; by default that of the remote. */
  readonly repo?: string;
  /** By default the default branch of the repository. */
  readonly base?: string;
  readonly draft?: boolean;
};

export type PullHost = DeliveryHost & { readonly send: HttpSend };

/** What `factory pr --json` prints. */
export type PullReport = {
  readonly schema_version: 1;
  readonly run_id: string;
  readonly repo: string;
  readonly number: number;
  readonly url: string;
  /** Else it was there, and its text was updated. */
  readonly created: boolean;
  readonly draft: boolean;
  readonly branch: string;
  readonly base: string;
  readonly head: string;
};

/** A run whose records hold. */
export type VerifiedRun = {
  readonly dir: string;
  readonly stored: StoredRun;
  readonly verified: Pick<Report, 'unchecked'>;
};

const no = (message: string, fix: string, exit = 2): Refusal => refused('pr', message, fix, exit);

export async function openPullRequest(
  run: VerifiedRun,
  flags: PullFlags,
  host: PullHost,
): Promise<PullReport | Refusal> {
  let tail = '';
  return withGitHub(
    { ...host, signal: host.signal() },
    async (client) => {
      const target = await targetOf(run, flags, client.server, host);
      if ('problems' in target) return target;
      // Asked first: without access nothing is pushed.
      const { name, defaultBranch } = await repositoryFacts(client, target.name);
      const facts = await evidenceOf(run, name, host);
      if ('problems' in facts) return facts;
      const { repo: _, base = defaultBranch, draft = false, ...delivery } = flags;
      const owner = target.headOwner ?? name.owner;
      const ended = await mergedProblem(client, name, { owner, base, typed: flags.branch }, facts);
      if (ended !== undefined) return ended;
      const typedBase = flags.base;
      const place = { head: `${owner}:${flags.branch ?? `factory/${facts.run.id}`}`, typedBase };
      const further = await furtherPull(client, name, place, { ...facts, source: target.source }, host);
      if (further !== undefined) return reportOf(await withText(client, name, further, facts), name, facts);
      const title = pullTitle(await titleOf(run.dir, run.stored.manifest));
      const delivered = await deliverRun(run.dir, { ...delivery, push: true }, host);
      if ('problems' in delivered) return delivered;
      const undone = notPushed(delivered);
      if (undone !== undefined) return undone;
      const { branch } = delivered;
      tail = `; the branch ${branch} is pushed`;
      const pull = { title, base, draft, head: `${owner}:${branch}`, typedBase };
      const opened = await openOrUpdate(client, name, pull, facts);
      return reportOf(opened, name, facts, delivered.head);
    },
    () => tail,
  );
}

const reportOf = (
  { is, created }: OpenedPull,
  name: RepositoryName,
  { run }: EvidenceFacts,
  head: string | null = is.head.sha,
): PullReport => ({
  ...{ schema_version: 1, run_id: run.id, repo: repositoryText(name) },
  ...{ number: is.number, url: is.html_url, created, draft: is.draft === true },
  ...{ branch: is.head.ref, base: is.base.ref, head: head ?? '' },
});

/** The open pull request whose branch has the commits of the run and others after them, such as those of rounds that followed: nothing is
 *  to be delivered. */
async function furtherPull(
  client: GitHub,
  name: RepositoryName,
  { head, typedBase }: Pick<RequestedPull, 'head' | 'typedBase'>,
  { orders, source }: Pick<EvidenceFacts, 'orders'> & Pick<Target, 'source'>,
  { env }: PullHost,
): Promise<PullRequest | undefined> {
  const commit = orders.findLast((one) => one.commit !== null)?.commit;
  const open = commit == null ? undefined : await openPullOf(client, name, head, typedBase);
  if (commit == null || open === undefined || open.head.sha === commit) return undefined;
  return (await hasCommit(sourceGit(source, env), open.head.sha, commit)) ? open : undefined;
}

/** A second pull request with the same commits would merge them again. The branch with the name of the run has no others. */
async function mergedProblem(
  client: GitHub,
  name: RepositoryName,
  {
    owner,
    base,
    typed,
  }: { readonly owner: string; readonly base: string; readonly typed: string | undefined },
  { run, orders }: EvidenceFacts,
): Promise<Refusal | undefined> {
  const branch = typed ?? `factory/${run.id}`;
  const merged = await mergedPullsOf(client, name, { head: `${owner}:${branch}`, base });
  const same = merged.find(
    ({ commit }) => typed === undefined || orders.some((one) => one.commit === commit),
  );
  if (same === undefined) return undefined;
  return no(
    `pull request ${repositoryText(name)}#${same.number} of the branch ${branch} was merged`,
    'nothing is left to do; --branch NAME opens another one',
    1,
  );
}

/** Why there is no branch to ask for; undefined where it is pushed. */
function notPushed({ head, branch, pushed, notes, source }: DeliveryReport): Refusal | undefined {
  if (head === null || pushed === null)
    return no(notes[0] ?? 'nothing to deliver', `see what the run did in ${source ?? 'its workspace'}`, 1);
  if (pushed.ok) return undefined;
  if (/\((?:fetch first|non-fast-forward)\)/.test(pushed.why))
    return no(
      `delivered, but not pushed: the branch ${branch} of the remote has commits of others`,
      'look at them; --branch NAME pushes to another branch',
      1,
    );
  return no(
    `delivered, but not pushed: ${pushed.why}`,
    `by hand: ${pushed.by_hand}; then factory pr again`,
    1,
  );
}

/* Where it is asked for. */

type Target = {
  readonly name: RepositoryName;
  /** Owner of the repository that has the branch, where the remote says it. */
  readonly headOwner: string | undefined;
  /** The repository that is pushed from. */
  readonly source: string;
};

async function targetOf(
  { dir, stored }: VerifiedRun,
  { repo }: PullFlags,
  server: GitHubServer,
  { env }: PullHost,
): Promise<Target | Refusal> {
  const source = await trustedSource(stored.manifest.original_workdir, dir);
  if (source === undefined)
    return no(
      'the source that the run names cannot be used',
      'factory deliver RUN --to DIR makes a repository',
    );
  const remote = await firstRemote(sourceGit(source, env));
  if (remote === undefined)
    return no(
      `the repository ${source} has no remote to push to`,
      `git -C ${source} remote add origin ADDRESS`,
    );
  const place = ofServer(remotePlace(remote.address), server);
  const named = repo === undefined ? place : repositoryNamed(repo);
  if (repo !== undefined && named === undefined)
    return no(`--repo ${repo} is no repository`, 'write OWNER/REPO');
  if (named === undefined)
    return no(
      `the remote ${remote.name} names no repository of ${server.host ?? server.api}`,
      'name it: --repo OWNER/REPO; GITHUB_API_URL names the server',
    );
  return { name: named, headOwner: place?.owner, source };
}

const ofServer = (place: RemotePlace | undefined, { host }: GitHubServer): RemotePlace | undefined =>
  place === undefined || host === undefined || place.host === host ? place : undefined;

async function evidenceOf(
  { dir, stored, verified }: VerifiedRun,
  name: RepositoryName,
  { env }: PullHost,
): Promise<EvidenceFacts | Refusal> {
  const attested = await attestedFacts(dir, stored, verified, env);
  if ('problems' in attested) return attested;
  const { facts, commits } = attested;
  const issue = issueOfRun(dirname(dir), facts.run.id);
  const isHere = issue?.repo.toLowerCase() === repositoryText(name).toLowerCase();
  return { ...facts, orders: commits, closes: isHere ? issue?.number : undefined };
}

/* The pull request. */

type RequestedPull = {
  readonly title: string;
  readonly base: string;
  readonly draft: boolean;
  readonly head: string;
  /** Where one into another branch is not meant. */
  readonly typedBase: string | undefined;
};

type OpenedPull = { readonly is: PullRequest; readonly created: boolean };

async function withText(
  client: GitHub,
  name: RepositoryName,
  open: PullRequest,
  facts: EvidenceFacts,
): Promise<OpenedPull> {
  const body = withEvidence(open.body ?? '', facts);
  const is = body === open.body ? open : await updatePull(client, name, open.number, { body });
  return { is, created: false };
}

/** One for the branch: it is looked for first, and again where it is not sure whether it was created. */
const openOrUpdate = (
  client: GitHub,
  name: RepositoryName,
  { typedBase, ...requested }: RequestedPull,
  facts: EvidenceFacts,
): Promise<OpenedPull> => {
  const look = () => openPullOf(client, name, requested.head, typedBase);
  const updated = (open: PullRequest) => withText(client, name, open, facts);
  return client.changeOnce(look, async (open) => {
    if (open !== undefined) return updated(open);
    try {
      const body = withEvidence('', facts);
      return { is: await createPull(client, name, { ...requested, body }), created: true };
    } catch (error) {
      const isRejected =
        error instanceof GitHubError && error.trouble.kind === 'rejected' && error.trouble.status === 422;
      // Another process may have created it meanwhile.
      const there = isRejected ? await look() : undefined;
      if (there === undefined) throw error;
      return updated(there);
    }
  });
};
