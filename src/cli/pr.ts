/** `factory pr RUN`: the pull request of a run's branch. */
import { openPullRequest, type PullFlags, type PullReport } from '../app/pull-request/open-pull.ts';
import { realSend } from '../platform/http.ts';
import { heldRun } from './attest.ts';
import type { CliIo } from './io.ts';
import type { VerbResult } from './verb.ts';

export type PullOptions = PullFlags & {
  readonly runsdir?: string;
  readonly json?: boolean;
  readonly color?: boolean;
};

export async function pullCommand(run: string, options: PullOptions, io: CliIo): Promise<VerbResult> {
  const { runsdir: _, json, color: __, ...flags } = options;
  const held = await heldRun(run, options, { code: 'pr', undone: 'nothing was pushed' }, io);
  if ('problems' in held) return held;
  const { named, stored, verified } = held;
  const done = await openPullRequest({ dir: named.dir, stored, verified }, flags, { ...io, send: realSend });
  if ('problems' in done) return done;
  io.out(json === true ? `${JSON.stringify(done, null, 2)}\n` : pullLine(done));
  return 0;
}

const pullLine = ({ created, draft, number, repo, branch, base, url }: PullReport): string =>
  `${created ? 'opened' : 'updated'}: ${draft ? 'draft ' : ''}pull request ${repo}#${number}, ${branch} into ${base}\n${url}\n`;
