/** Which pull request is followed: that of a run's branch. */
import { join } from 'node:path';
import { readActs } from '../app/acts.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { firstRemote } from '../git/push.ts';
import type { GitHub } from '../github/client.ts';
import { pullState } from '../github/pull-state.ts';
import { openPullOf } from '../github/pulls.ts';
import { repositoryFacts } from '../github/repository-facts.ts';
import {
  type RepositoryName,
  remotePlace,
  repositoryNamed,
  repositoryText,
} from '../github/repository-name.ts';
import { sourceGit } from '../platform/git.ts';
import { openRun } from '../run/open-run.ts';
import { findRun } from '../run/runs.ts';
import type { FollowHost, FollowRequestFlags } from './follow.ts';
import { type FollowRecord, followPlace, readFollow, writeFollow } from './follow-record.ts';

const no = (message: string, fix: string): Refusal => refused('follow', message, fix);

/** What is recorded of it; a new record for a run that is not followed yet. */
export async function openFollow(
  client: GitHub,
  { target, repo }: FollowRequestFlags,
  host: FollowHost,
): Promise<FollowRecord | Refusal> {
  const { runsDir } = host;
  const named = await runOfTarget(client, target, runsDir);
  if ('problems' in named) return named;
  const known = readFollow(runsDir, named.id);
  if (known === 'unreadable')
    return no(`${followPlace(runsDir, named.id).record} cannot be read`, 'restore that file');
  if (known !== undefined) return known;
  const delivery = await deliveryOf(join(runsDir, named.id));
  if (delivery === undefined)
    return no(
      `run ${named.id} has no branch that was delivered`,
      `factory pr ${named.id} opens its pull request`,
    );
  const place = repo === undefined ? await placeOf(delivery.to, host) : repositoryNamed(repo);
  const asked = named.name ?? place;
  if (asked === undefined)
    return no('its remote names no repository of GitHub', 'name it: --repo OWNER/REPO');
  const { name } = await repositoryFacts(client, asked);
  const head = repo === undefined && place !== undefined ? place : name;
  const number = named.number ?? (await openPullOf(client, name, `${head.owner}:${delivery.branch}`))?.number;
  if (number === undefined)
    return no(
      `${repositoryText(name)} has no open pull request of the branch ${delivery.branch}`,
      `factory pr ${named.id} opens it`,
    );
  const record: FollowRecord = {
    ...{ schema_version: 1, run_id: named.id, repo: repositoryText(name), number },
    ...{ source: delivery.to, branch: delivery.branch, head: delivery.head, rounds: [] },
  };
  await writeFollow(runsDir, record);
  return record;
}

type NamedTarget = { readonly id: string; readonly name?: RepositoryName; readonly number?: number };

/** The branch of a pull request names its run: `factory/RUN`. */
async function runOfTarget(client: GitHub, target: string, runsDir: string): Promise<NamedTarget | Refusal> {
  const form = /^(?:https?:\/\/[^/]+\/)?([^/\s]+\/[^/\s#]+)(?:#|\/pull\/)(\d+)\/?$/.exec(target);
  const name = repositoryNamed(form?.[1] ?? '');
  if (form === null || name === undefined) {
    const found = await findRun(runsDir, target);
    return found.ok ? { id: found.id } : refused('no-run', found.why);
  }
  const number = Number(form[2]);
  const { head } = await pullState(client, name, number);
  const id = /^factory\/(.+)$/.exec(head.ref)?.[1];
  const found = id === undefined ? undefined : await findRun(runsDir, id);
  if (found?.ok === true && found.id === id) return { id, name, number };
  return no(
    `the branch ${head.ref} of ${target} names no run of ${runsDir}`,
    'name the run: factory follow RUN',
  );
}

/** The latest delivery into the repository that the run began with. */
async function deliveryOf(runDir: string) {
  const read = await openRun(runDir).manifest();
  if (!read.ok) return undefined;
  const { original_workdir: source } = read.manifest;
  const text = (value: unknown) => (typeof value === 'string' ? value : '');
  const act = readActs(runDir).findLast(({ what, to }) => what === 'deliver' && text(to) === source);
  return act && { to: text(act['to']), branch: text(act['branch']), head: text(act['head']) };
}

async function placeOf(source: string, { env }: FollowHost): Promise<RepositoryName | undefined> {
  const remote = await firstRemote(sourceGit(source, env));
  return remote && remotePlace(remote.address);
}
