/** A client of the GitHub that the environment names, for one command. */
import type { Environment } from '../core/contracts/process.ts';
import type { Refusal } from '../core/diagnostic.ts';
import { answersIn } from './answer-store.ts';
import { type GitHub, type GitHubHost, gitHub } from './client.ts';
import { GitHubError, gitHubRefusal } from './error.ts';
import { gitHubLayout } from './layout.ts';
import { gitHubServer } from './server.ts';

export type GitHubCommand = Pick<GitHubHost, 'clock' | 'send' | 'signal'> & {
  readonly env: Environment;
  readonly cwd: string;
  /** Keeps answers for later commands. */
  readonly runsDir?: string;
};

/** What `use` answers; what goes wrong with GitHub is a refusal, which ends with what `tail` says was done before. */
export async function withGitHub<T>(
  { env, cwd, runsDir, ...host }: GitHubCommand,
  use: (client: GitHub) => Promise<T>,
  tail: () => string = () => '',
): Promise<T | Refusal> {
  const server = gitHubServer(env, cwd);
  if ('problems' in server) return server;
  const kept = runsDir === undefined ? {} : { kept: answersIn(gitHubLayout(runsDir).answers) };
  try {
    return await use(gitHub(server, { ...host, ...kept }));
  } catch (error) {
    if (error instanceof GitHubError) return gitHubRefusal(error, host.clock.now(), tail());
    throw error;
  }
}
