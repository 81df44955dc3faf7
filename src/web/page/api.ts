/** The HTTP API as this page uses it. */

import type {
  AnswerReport,
  ChangeList,
  DeliveryReport,
  DismissReport,
  EventPage,
  PipelineList,
  RemovalReport,
  RunList,
  StartReport,
  SteerReport,
  StopReport,
} from '../../app/answers.ts';
import type { RunComparison } from '../../app/compare/shape.ts';
import type { Estimate } from '../../app/estimate.ts';
import type { ExecutionView } from '../../app/inspect/execution-shapes.ts';
import type { Session } from '../../app/inspect/session-shape.ts';
import type { RunView } from '../../app/inspect/shapes.ts';
import type { GraphMap } from '../../app/picture/map-shape.ts';
import type { QueueReport, SubmitReport } from '../../core/records/queue-report.ts';
import type {
  AnswerBody,
  ApiError,
  DeliverBody,
  FolderFiles,
  ForkBody,
  MoveBody,
  RemoveBody,
  ReplayBody,
  ResumeBody,
  ServerInfo,
  SteerBody,
  StopBody,
  SubmitBody,
} from '../contract.ts';
import type { CheckReport, FolderList, StartBody, StartSettings } from '../start-contract.ts';

/** An answer with a status of 400 or more; status 0: the server was not reached. */
export class RequestError extends Error {
  readonly status: number;
  readonly fix: string;
  constructor(status: number, { message, fix }: Pick<ApiError, 'message' | 'fix'>) {
    super(message);
    this.status = status;
    this.fix = fix;
  }
}

const runPath = (run: string): string => `/api/v1/runs/${encodeURIComponent(run)}`;
const jobPath = (run: string): string => `/api/v1/queue/${encodeURIComponent(run)}`;
const nodePath = (run: string, node: string, visit: number): string =>
  `${runPath(run)}/nodes/${encodeURIComponent(node)}/${visit}`;

async function request(path: string, body?: object): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, {
      credentials: 'same-origin',
      cache: 'no-cache',
      ...(body === undefined
        ? {}
        : { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }),
    });
  } catch {
    throw new RequestError(0, {
      message: 'The server cannot be reached.',
      fix: 'Start factory serve again.',
    });
  }
  if (response.ok) return response;
  const problem = (await response.json().catch(() => null)) as ApiError | null;
  throw new RequestError(
    response.status,
    problem ?? { message: `${response.status} ${response.statusText}`, fix: '' },
  );
}

const json = async <T>(path: string, body?: object): Promise<T> =>
  (await request(path, body)).json() as Promise<T>;

export const api = {
  server: () => json<ServerInfo>('/api/v1/server'),
  runs: (query: { limit: string; after?: string }) =>
    json<RunList>(`/api/v1/runs?${new URLSearchParams(query)}`),
  run: (run: string) => json<RunView>(runPath(run)),
  execution: (run: string, node: string, visit: number) => json<ExecutionView>(nodePath(run, node, visit)),
  session: (of: { run: string; node: string; visit: number }, query: Readonly<Record<string, string>>) =>
    json<Session>(`${nodePath(of.run, of.node, of.visit)}/session?${new URLSearchParams(query)}`),
  changes: (run: string, query: { at?: string; path?: string }) =>
    json<ChangeList>(`${runPath(run)}/changes?${new URLSearchParams(query)}`),
  compare: (a: string, b: string) => json<RunComparison>(`/api/v1/compare?${new URLSearchParams({ a, b })}`),
  events: (run: string, after: number) => json<EventPage>(`${runPath(run)}/events?after=${after}`),
  map: (run: string, open: readonly string[]) =>
    json<GraphMap>(`${runPath(run)}/map?${new URLSearchParams({ open: open.join() })}`),
  queue: (most: number) => json<QueueReport>(`/api/v1/queue?most=${most}`),
  submit: (body: Partial<SubmitBody>) => json<SubmitReport>('/api/v1/queue', body),
  moveJob: (run: string, body: MoveBody) => json<unknown>(`${jobPath(run)}/move`, body),
  holdJob: (run: string) => json<unknown>(`${jobPath(run)}/hold`, {}),
  dropJob: (run: string) => json<unknown>(`${jobPath(run)}/drop`, {}),
  settings: () => json<StartSettings>('/api/v1/settings'),
  folders: () => json<FolderList>('/api/v1/folders'),
  pipelines: (project: string) => json<PipelineList>(`/api/v1/pipelines?${new URLSearchParams({ project })}`),
  files: (project: string) => json<FolderFiles>(`/api/v1/files?${new URLSearchParams({ project })}`),
  estimate: (pipeline: string, project: string) =>
    json<Estimate>(`/api/v1/estimate?${new URLSearchParams({ pipeline, project })}`),
  check: (body: Partial<StartBody>) => json<CheckReport>('/api/v1/check', body),
  start: (body: Partial<StartBody>) => json<StartReport>('/api/v1/runs', body),
  dismiss: (run: string) => json<DismissReport>(`${runPath(run)}/dismiss`, {}),
  stop: (run: string, body: StopBody) => json<StopReport>(`${runPath(run)}/stop`, body),
  answer: (run: string, body: AnswerBody) => json<AnswerReport>(`${runPath(run)}/answer`, body),
  steer: (run: string, body: SteerBody) => json<SteerReport>(`${runPath(run)}/steer`, body),
  resume: (run: string, body: Partial<ResumeBody>) => json<StartReport>(`${runPath(run)}/resume`, body),
  fork: (run: string, body: ForkBody) => json<StartReport>(`${runPath(run)}/fork`, body),
  replay: (run: string, body: ReplayBody) => json<StartReport>(`${runPath(run)}/replay`, body),
  remove: (run: string, body: RemoveBody) => json<RemovalReport>(`${runPath(run)}/remove`, body),
  deliver: (run: string, body: Partial<DeliverBody>) => json<DeliveryReport>(`${runPath(run)}/deliver`, body),
};

/** Address of a file of an execution. `whole` downloads it; otherwise its first MiB is shown. */
export const filePath = (run: string, node: string, visit: number, name: string, whole: boolean): string =>
  `${nodePath(run, node, visit)}/files/${name.split('/').map(encodeURIComponent).join('/')}${whole ? '?download=1' : ''}`;

const mebibyte = 1_048_576;

/** The first `bytes` of a file of an execution. */
export async function filePart(
  run: string,
  node: string,
  visit: number,
  name: string,
  bytes: number,
): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for (let from = 0; from < bytes; from += mebibyte) {
    const range = `?from=${from}&to=${Math.min(bytes, from + mebibyte)}`;
    const response = await request(filePath(run, node, visit, name, false) + range);
    text += decoder.decode(await response.arrayBuffer(), { stream: true });
  }
  return text + decoder.decode();
}

export const queueStream = '/api/v1/queue/stream';
/** The newest thousand first: what most folders have. */
export const listStream = '/api/v1/stream?limit=1000';
export const runStream = (run: string, after: number): string => `${runPath(run)}/stream?after=${after}`;

export const requestMessage = (error: unknown): string =>
  error instanceof RequestError
    ? [error.message, error.fix].filter(Boolean).join('. Fix: ')
    : error instanceof Error
      ? error.message
      : String(error);

/** Why something cannot be read; empty if the bar of the connection says it. */
export const readProblem = (error: unknown): string =>
  error instanceof RequestError && [0, 401].includes(error.status)
    ? ''
    : error instanceof RequestError
      ? error.message
      : requestMessage(error);
