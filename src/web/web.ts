/** What every endpoint is given, and what it answers with. */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type * as z from 'zod';
import type { DetachedStart } from '../app/detach.ts';
import type { InspectHost } from '../app/inspect/rows.ts';
import type { Every } from '../core/contracts/clock.ts';
import type { Environment, Spawn } from '../core/contracts/process.ts';
import type { Refusal } from '../core/diagnostic.ts';
import { validRunId } from '../run/runs.ts';
import type { ApiError } from './contract.ts';
import type { KeptAnswers } from './kept-answers.ts';
import type { ApiRouteName, routes } from './routes.ts';
import type { RunFollowers } from './run-followers.ts';
import type { ServedQueue } from './served-queue.ts';
import type { ServedRuns } from './served-runs.ts';
import type { OpenStreams } from './sse.ts';

/** The server's surroundings. `cwd` is the folder that pipelines and files are offered from. */
export type Web = InspectHost & {
  /** Absolute. */
  readonly runsDir: string;
  readonly runs: ServedRuns;
  readonly followers: RunFollowers;
  readonly kept: KeptAnswers;
  readonly streams: OpenStreams;
  readonly queue: ServedQueue;
  /** The URL of the database that has the jobs. */
  readonly db: string | undefined;
  readonly readOnly: boolean;
  /** Who acts, in records. */
  readonly who: 'page' | 'mcp';
  readonly env: Environment;
  /** Whom the runs that this server begins notify. */
  readonly notify: string | undefined;
  readonly every: Every;
  /** Real and absolute: below them are the folders that requests may name. */
  readonly roots: readonly string[];
  /** Runs `factory …argv` in the background; by default in `cwd`, with the notices of the server. */
  readonly start: (
    argv: readonly string[],
    how?: { readonly cwd: string; readonly notify: string | undefined },
  ) => Promise<DetachedStart>;
  readonly spawn: Spawn;
  /** Ids of runs that a request answers now: it resumes them itself. */
  readonly answering: Set<string>;
  /** Fires when the server stops: streams end. */
  readonly closing: AbortSignal;
};

/** A run that exists; `dir` is absolute. */
export type AskedRun = { readonly id: string; readonly dir: string };

/** The run with that id, if it is served: only folders directly in the runs directory are, as a symbolic link may lead
 *  anywhere. */
export function servedRun({ runsDir }: Pick<Web, 'runsDir'>, id: string): AskedRun | undefined {
  if (validRunId(id) !== undefined) return undefined;
  const dir = join(runsDir, id);
  return lstatSync(dir, { throwIfNoEntry: false })?.isDirectory() === true ? { id, dir } : undefined;
}

type Parsed<R, K extends string> = R extends { readonly [key in K]: () => infer S extends z.ZodType }
  ? z.output<S>
  : Record<string, never>;
type AnswerOf<R> = R extends { readonly answers: () => infer S extends z.ZodType } ? z.input<S> : never;

/** A checked request. `run` is there for paths with a run id. */
export type Asked<R> = {
  readonly web: Web;
  readonly request: Request;
  readonly params: Parsed<R, 'params'>;
  readonly query: Parsed<R, 'query'>;
  readonly body: Parsed<R, 'body'>;
  readonly run: R extends { readonly params: unknown } ? AskedRun : undefined;
};

/** The function of each endpoint: it answers with the JSON body, or with a whole response. */
export type Handlers = {
  readonly [N in ApiRouteName]: (
    asked: Asked<(typeof routes)[N]>,
  ) => Promise<AnswerOf<(typeof routes)[N]> | Response>;
};

/** An answer that says what is wrong and how to fix it. */
export const problem = (
  status: number,
  code: string,
  message: string,
  fix = '',
  headers: Readonly<Record<string, string>> = {},
): Response => Response.json({ code, message, fix } satisfies ApiError, { status, headers });

export const notFound = (message: string, fix = ''): Response => problem(404, 'not-found', message, fix);

/** A refusal as an answer: by default 409, as the run is in no state for the request. */
export function refusal({ problems: [first] }: Refusal, status = 409): Response {
  if (first?.code === 'no-run') return notFound(first.message, first.fix);
  return problem(status, 'refused', first?.message ?? 'refused', first?.fix ?? '');
}
