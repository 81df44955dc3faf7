/** Issues of GitHub with a label become runs in the queue: one run for each, and one comment that says it. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { JobQueue } from '../core/contracts/job-queue.ts';
import { type Diagnostic, type Refusal, refused } from '../core/diagnostic.ts';
import { type WriteAccess, writeAccessTo } from '../github/access.ts';
import type { GitHub } from '../github/client.ts';
import { GitHubError, gitHubRefusal, orNone } from '../github/error.ts';
import { type Issue, issuesWithLabel, readIssue, writeComment } from '../github/issues.ts';
import { labelTrust } from '../github/label-trust.ts';
import { gitHubLayout, issueOfRun, recordIssue } from '../github/layout.ts';
import { markedText, markOf } from '../github/marks.ts';
import { repositoryFacts } from '../github/repository-facts.ts';
import { type RepositoryName, repositoryNamed, repositoryText } from '../github/repository-name.ts';
import { withGitHub } from '../github/with-github.ts';
import { makeFolder, writeFileAtomic } from '../platform/files/write.ts';
import type { HttpSend } from '../platform/http.ts';
import { acquireLock } from '../run/lock.ts';
import { makeRunsDir, newRunIdProblem } from '../run/runs.ts';
import { specOfIssue } from './intake-spec.ts';
import { type SubmitHost, type SubmitRequest, submitRuns } from './submit.ts';

export type IntakeRequest = {
  /** As typed. */
  readonly repo: string;
  readonly label: string;
  /** What runs it: the bundled pipeline for specs by default. */
  readonly pipeline?: string | undefined;
  readonly submit: Omit<SubmitRequest, 'names' | 'key' | 'inOrder'>;
};

export type IntakeHost = SubmitHost & { readonly send: HttpSend; readonly signal: AbortSignal };

/** What became of an issue. `submitted`: now; `known`: before; `waits`: for a person. */
export type IntakeRow = {
  readonly number: number;
  readonly what: 'submitted' | 'known' | 'waits' | 'refused';
  readonly run_id: string;
  /** Why it was not taken; continues a sentence that starts with the issue. */
  readonly why: string;
};

export type IntakeReport = {
  readonly schema_version: 1;
  readonly repo: string;
  readonly label: string;
  readonly runs_dir: string;
  readonly issues: readonly IntakeRow[];
  /** Another process takes them now, so that this one has done nothing. */
  readonly busy: string | null;
  readonly warnings: readonly string[];
};

/** A report of what was done, and what has ended it before all issues were looked at. */
export type IntakeEnd = { readonly report: IntakeReport; readonly stopped?: Refusal };

type Taking = {
  readonly client: GitHub;
  readonly access: WriteAccess;
  readonly name: RepositoryName;
  readonly queue: JobQueue;
  readonly request: IntakeRequest;
  readonly host: IntakeHost;
};

export async function intakeIssues(
  queue: JobQueue,
  request: IntakeRequest,
  host: IntakeHost,
): Promise<IntakeEnd | Refusal> {
  const asked = repositoryNamed(request.repo);
  if (asked === undefined)
    return refused('usage', `"${request.repo}" is no repository of GitHub`, 'write OWNER/REPO');
  return withGitHub(host, (client) => intakeFrom(client, asked, { queue, request, host }));
}

/** One process at a time takes the issues of a repository. */
async function intakeFrom(
  client: GitHub,
  asked: RepositoryName,
  by: Pick<Taking, 'queue' | 'request' | 'host'>,
): Promise<IntakeEnd> {
  const { runsDir, clock } = by.host;
  await makeRunsDir(runsDir);
  const { name } = await repositoryFacts(client, asked);
  const repo = repositoryText(name);
  const report = { schema_version: 1 as const, label: by.request.label, runs_dir: runsDir, repo };
  const folder = gitHubLayout(runsDir).lock(name);
  makeFolder(folder);
  const ownedBy = 'its issues are being taken by';
  const answer = await acquireLock(folder, { clock, ownedBy, forgets: true });
  if (answer.kind === 'refused') return { report: { ...report, warnings: [], issues: [], busy: answer.why } };
  try {
    return await takeAll({ client, access: writeAccessTo(client, name), name, ...by }, report);
  } finally {
    await answer.lock.release();
  }
}

/** All issues with the label. What is wrong with one does not keep back the others. */
async function takeAll(
  taking: Taking,
  report: Omit<IntakeReport, 'issues' | 'busy' | 'warnings'>,
): Promise<IntakeEnd> {
  const { client, name, request, host } = taking;
  const issues: IntakeRow[] = [];
  const warnings = new Set<string>();
  const problems = new Map<string, Diagnostic>();
  const end = (stopped?: Refusal): IntakeEnd => ({
    report: { ...report, issues, busy: null, warnings: [...warnings] },
    ...(stopped === undefined ? {} : { stopped }),
  });
  try {
    const numbers = await issuesWithLabel(client, name, request.label);
    for (const { number, lacksComment } of inTurn(taking, numbers)) {
      const work = takeIssue(taking, number);
      const one = await (lacksComment
        ? work.catch((error: unknown) => uncommented(taking, number, error))
        : work);
      if (one === undefined) continue;
      issues.push(one.row);
      for (const warning of one.warnings ?? []) warnings.add(warning);
      for (const problem of one.problems ?? []) problems.set(`${problem.code} ${problem.message}`, problem);
    }
  } catch (error) {
    if (error instanceof GitHubError) return end(gitHubRefusal(error, host.clock.now()));
    throw error;
  }
  return problems.size === 0 ? end() : end({ problems: [...problems.values()] });
}

/** Those whose run is queued and whose comment is missing come last: the author of an issue may have blocked our account, which then cannot
 *  comment there, and that keeps back no other issue. */
function inTurn({ name, host }: Taking, numbers: readonly number[]) {
  const all = numbers.map((number) => ({
    ...{ number, lacksComment: issueOfRun(host.runsDir, runIdOf(name, number))?.comment === null },
  }));
  return [...all.filter((one) => !one.lacksComment), ...all.filter((one) => one.lacksComment)];
}

/** A comment that GitHub refuses: its run is queued. */
function uncommented({ name, host }: Taking, number: number, error: unknown): Taken {
  const isRefused =
    error instanceof GitHubError && (error.trouble.kind === 'access' || error.trouble.kind === 'rejected');
  if (!isRefused) throw error;
  const { problems } = gitHubRefusal(error, host.clock.now());
  const row = { number, what: 'known' as const, run_id: runIdOf(name, number), why: '' };
  return { row, problems };
}

type Taken = {
  readonly row: IntakeRow;
  readonly warnings?: readonly string[];
  readonly problems?: readonly Diagnostic[];
};

/** One issue. The run is queued first: a kill before the comment leaves a job whose id the next intake knows. The other order could lose the
 *  issue. */
async function takeIssue(taking: Taking, number: number): Promise<Taken | undefined> {
  const { client, access, name, queue, request, host } = taking;
  const { runsDir } = host;
  const run_id = runIdOf(name, number);
  const row = (what: IntakeRow['what'], why = ''): Taken => ({ row: { number, what, run_id, why } });
  const repo = repositoryText(name);
  const record = issueOfRun(runsDir, run_id);
  if (record !== undefined && (record.repo !== repo || record.number !== number))
    return row('refused', `would be run ${run_id}, which is the id of ${record.repo}#${record.number}`);
  if (record?.comment != null) return row('known');
  // One that was deleted or transferred since it was listed.
  const issue = await orNone(() => readIssue(client, name, number), 410);
  if (issue === undefined || !issue.isOpen) return undefined;
  const written = { schema_version: 1 as const, run_id, repo, number };
  const marked = await commentWithMark(issue, access);
  if (marked !== undefined) {
    await recordIssue(runsDir, { ...written, comment: marked });
    return row('known');
  }
  const isQueued = (await queue.get(run_id)) !== undefined || existsSync(join(runsDir, run_id));
  let warnings: readonly string[] = [];
  if (!isQueued) {
    const trust = await labelTrust(issue, request.label, access);
    if ('why' in trust) return row('waits', trust.why);
    const made = await specOfIssue(issue, access);
    if ('why' in made) return row('waits', made.why);
    await recordIssue(runsDir, { ...written, comment: null });
    const submitted = await submitSpec(taking, run_id, made.spec);
    if ('problems' in submitted) return { ...row('refused', 'was not queued'), ...submitted };
    warnings = submitted.warnings;
  }
  const comment = await tellOnce(taking, number, commentText(run_id, number));
  await recordIssue(runsDir, { ...written, comment });
  return { ...row('submitted'), warnings };
}

/** Ids have 100 characters; longer names are cut, and the number, with which the id ends, stays. */
function runIdOf({ owner, repo }: RepositoryName, number: number): string {
  const id = `${`gh-${owner}-${repo}`.slice(0, 88)}-${number}`;
  const bad = newRunIdProblem(id);
  if (bad !== undefined) throw new Error(`Internal: ${bad}`);
  return id;
}

async function submitSpec({ queue, request, host }: Taking, key: string, spec: string) {
  const path = gitHubLayout(host.runsDir).spec(key);
  makeFolder(dirname(path));
  await writeFileAtomic(path, spec, { mode: 0o600, sync: true, syncFolder: true });
  const { pipeline, submit } = request;
  const named =
    pipeline === undefined ? { names: [path] } : { names: [pipeline], vars: { ...submit.vars, spec: path } };
  return submitRuns(queue, { ...submit, ...named, key, inOrder: false }, host, () => {});
}

/* The comment. */

const markFor = (number: number): string => markOf('intake', `#${number}`);

const commentText = (runId: string, number: number): string =>
  [
    markFor(number),
    `Queued as run \`${runId}\`. It builds the title, the text and the comments of people with write access as they are now;`,
    'later changes do not reach it.',
  ].join('\n');

/** Address of the comment that says that the issue has its run. */
const commentWithMark = async (
  { number, comments }: Issue,
  access: WriteAccess,
): Promise<string | undefined> => (await markedText(comments, markFor(number), access))?.url;

/** Writes the comment. Where it may have been written it is looked for before it is written again. */
const tellOnce = ({ client, access, name }: Taking, number: number, body: string): Promise<string> =>
  client.changeOnce(
    async (attempt) =>
      attempt === 0 ? undefined : commentWithMark(await readIssue(client, name, number), access),
    async (marked) => marked ?? writeComment(client, name, number, body),
  );
