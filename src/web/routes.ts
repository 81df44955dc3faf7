/** Every endpoint of the HTTP API: what it takes and what it answers. The server, the OpenAPI document and the client are
 *  made from this table. */
import type * as z from 'zod';
import * as answers from '../app/answers.ts';
import { runComparisonSchema } from '../app/compare/shape.ts';
import { estimateSchema } from '../app/estimate.ts';
import { executionViewSchema } from '../app/inspect/execution-shapes.ts';
import { sessionSchema } from '../app/inspect/session-shape.ts';
import { runViewSchema } from '../app/inspect/shapes.ts';
import { graphMapSchema } from '../app/picture/map-shape.ts';
import { queueChangeSchema, queueReportSchema, submitReportSchema } from '../core/records/queue-report.ts';
import * as contract from './contract.ts';
import * as starts from './start-contract.ts';

export type ApiRoute = {
  readonly method: 'get' | 'post';
  /** `:name` is a parameter, `*` the rest of the path (the parameter `name`). */
  readonly path: string;
  readonly about: string;
  readonly params?: () => z.ZodObject;
  readonly query?: () => z.ZodObject;
  readonly body?: () => z.ZodObject;
  /** A schema of a JSON body, or the type of another one. */
  readonly answers: (() => z.ZodType) | 'text/plain' | 'text/event-stream' | 'image/svg+xml';
  /** Of a success; default 200. */
  readonly status?: 202;
};

const run = contract.runParams;

export const routes = {
  server: {
    method: 'get',
    path: '/api/v1/server',
    about: 'What this server serves, and whether it is read-only',
    answers: contract.serverInfoSchema,
  },
  runs: {
    method: 'get',
    path: '/api/v1/runs',
    about:
      'The runs with counts: all, suspended ones first, then the newest; with `limit` a page of them, the newest first',
    query: contract.runsQuery,
    answers: answers.runListSchema,
  },
  runsStream: {
    method: 'get',
    path: '/api/v1/stream',
    about: 'The list of runs, then its changes, as server-sent events',
    query: contract.runsStreamQuery,
    answers: 'text/event-stream',
  },
  run: {
    method: 'get',
    path: '/api/v1/runs/:id',
    about: 'A run: its executions, work orders, graph, cause of failure and result',
    params: run,
    answers: runViewSchema,
  },
  why: {
    method: 'get',
    path: '/api/v1/runs/:id/why',
    about: 'Why a run failed or waits, with evidence and the next command',
    params: run,
    answers: answers.whyReportSchema,
  },
  execution: {
    method: 'get',
    path: '/api/v1/runs/:id/nodes/:node/:visit',
    about: 'One execution of a node: prompt, answer, output, changes, why the next edge',
    params: contract.executionParams,
    answers: executionViewSchema,
  },
  session: {
    method: 'get',
    path: '/api/v1/runs/:id/nodes/:node/:visit/session',
    about:
      'The session of an agent: turns, calls with their output, tokens, cost and times; also while it works',
    params: contract.executionParams,
    query: contract.sessionQuery,
    answers: sessionSchema,
  },
  file: {
    method: 'get',
    path: '/api/v1/runs/:id/nodes/:node/:visit/files/*',
    about: 'A part of a file of an execution, raw. The header `X-File-Bytes` has its size',
    params: contract.fileParams,
    query: contract.partQuery,
    answers: 'text/plain',
  },
  changes: {
    method: 'get',
    path: '/api/v1/runs/:id/changes',
    about: 'What the run, or one execution, changed in its workspace, as unified diffs',
    params: run,
    query: contract.changesQuery,
    answers: answers.changeListSchema,
  },
  compare: {
    method: 'get',
    path: '/api/v1/compare',
    about: 'Two runs side by side: where their ways part, outcomes, time, cost and changed files',
    query: contract.compareQuery,
    answers: runComparisonSchema,
  },
  events: {
    method: 'get',
    path: '/api/v1/runs/:id/events',
    about: 'The events of a run',
    params: run,
    query: contract.eventsQuery,
    answers: answers.eventPageSchema,
  },
  stream: {
    method: 'get',
    path: '/api/v1/runs/:id/stream',
    about: 'The events of a run from any `seq` on, its live output and its row, as server-sent events',
    params: run,
    query: contract.streamQuery,
    answers: 'text/event-stream',
  },
  graph: {
    method: 'get',
    path: '/api/v1/runs/:id/graph.svg',
    about: 'The graph of a run with the states of its nodes',
    params: run,
    query: contract.pictureQuery,
    answers: 'image/svg+xml',
  },
  map: {
    method: 'get',
    path: '/api/v1/runs/:id/map',
    about: 'The graph of a run to move in, in pieces, without states and counts',
    params: run,
    query: contract.mapQuery,
    answers: graphMapSchema,
  },
  timeline: {
    method: 'get',
    path: '/api/v1/runs/:id/timeline.svg',
    about: 'The executions of a run as a Gantt chart',
    params: run,
    query: contract.pictureQuery,
    answers: 'image/svg+xml',
  },
  queue: {
    method: 'get',
    path: '/api/v1/queue',
    about: 'The queue: jobs, workers, schedules, holds and caps, and what holds what back',
    query: contract.queueQuery,
    answers: queueReportSchema,
  },
  queueStream: {
    method: 'get',
    path: '/api/v1/queue/stream',
    about: 'The queue, again whenever it changes, as server-sent events',
    query: contract.queueStreamQuery,
    answers: 'text/event-stream',
  },
  submit: {
    method: 'post',
    path: '/api/v1/queue',
    about: 'Put a run into the queue',
    body: contract.submitBodySchema,
    answers: submitReportSchema,
  },
  moveJob: {
    method: 'post',
    path: '/api/v1/queue/:job/move',
    about: 'Move a job in the queue, or to another time; now releases a held one',
    params: contract.jobParams,
    body: contract.moveBodySchema,
    answers: queueChangeSchema,
  },
  holdJob: {
    method: 'post',
    path: '/api/v1/queue/:job/hold',
    about: 'Put a job on hold; a running run stops at the end of its node first',
    params: contract.jobParams,
    body: contract.stopBodySchema,
    answers: queueChangeSchema,
  },
  dropJob: {
    method: 'post',
    path: '/api/v1/queue/:job/drop',
    about: 'Take a job out of the queue; a running run is stopped first, and its directory stays',
    params: contract.jobParams,
    body: contract.stopBodySchema,
    answers: queueChangeSchema,
  },
  metrics: {
    method: 'get',
    path: '/metrics',
    about: 'Runs, jobs, workers, caps and holds as metrics for Prometheus',
    answers: 'text/plain',
  },
  settings: {
    method: 'get',
    path: '/api/v1/settings',
    about: 'Settings that a new run can have, from the table that makes the flags',
    answers: starts.startSettingsSchema,
  },
  folders: {
    method: 'get',
    path: '/api/v1/folders',
    about: 'Folders in which runs can be started',
    answers: starts.folderListSchema,
  },
  pipelines: {
    method: 'get',
    path: '/api/v1/pipelines',
    about: 'Pipelines that can be started, with their variables',
    query: contract.pipelinesQuery,
    answers: answers.pipelineListSchema,
  },
  files: {
    method: 'get',
    path: '/api/v1/files',
    about: 'Names of files of the folder, as values for file variables',
    query: contract.filesQuery,
    answers: contract.folderFilesSchema,
  },
  estimate: {
    method: 'get',
    path: '/api/v1/estimate',
    about: 'What earlier runs of a pipeline have cost and taken',
    query: contract.estimateQuery,
    answers: estimateSchema,
  },
  check: {
    method: 'post',
    path: '/api/v1/check',
    about: 'What is wrong with a start, and its command line; nothing is started or written',
    body: starts.startBodySchema,
    answers: starts.checkReportSchema,
  },
  start: {
    method: 'post',
    path: '/api/v1/runs',
    about: 'Start a run in the background',
    body: starts.startBodySchema,
    answers: answers.startReportSchema,
    status: 202,
  },
  answer: {
    method: 'post',
    path: '/api/v1/runs/:id/answer',
    about: 'Answer the question of a run, which is resumed then. Also with the token of a notice',
    params: run,
    body: contract.answerBodySchema,
    answers: answers.answerReportSchema,
  },
  steer: {
    method: 'post',
    path: '/api/v1/runs/:id/steer',
    about: 'Give the next agent of a run a note',
    params: run,
    body: contract.steerBodySchema,
    answers: answers.steerReportSchema,
  },
  dismiss: {
    method: 'post',
    path: '/api/v1/runs/:id/dismiss',
    about: 'Take a run out of those that need attention, until something happens to it',
    params: run,
    body: contract.dismissBodySchema,
    answers: answers.dismissReportSchema,
  },
  stop: {
    method: 'post',
    path: '/api/v1/runs/:id/stop',
    about: 'Ask a run to stop, as Ctrl-C does; it can be resumed',
    params: run,
    body: contract.stopBodySchema,
    answers: answers.stopReportSchema,
    status: 202,
  },
  resume: {
    method: 'post',
    path: '/api/v1/runs/:id/resume',
    about: 'Resume a run in the background',
    params: run,
    body: contract.resumeBodySchema,
    answers: answers.startReportSchema,
    status: 202,
  },
  fork: {
    method: 'post',
    path: '/api/v1/runs/:id/fork',
    about: 'Fork a run at an execution, in the background',
    params: run,
    body: contract.forkBodySchema,
    answers: answers.startReportSchema,
    status: 202,
  },
  replay: {
    method: 'post',
    path: '/api/v1/runs/:id/replay',
    about: 'Repeat a run from its record, in the background',
    params: run,
    body: contract.replayBodySchema,
    answers: answers.startReportSchema,
    status: 202,
  },
  remove: {
    method: 'post',
    path: '/api/v1/runs/:id/remove',
    about: 'Remove a run that neither runs nor is queued',
    params: run,
    body: contract.removeBodySchema,
    answers: answers.removalReportSchema,
  },
  deliver: {
    method: 'post',
    path: '/api/v1/runs/:id/deliver',
    about: "Put a run's commits on a branch or into a new repository",
    params: run,
    body: contract.deliverBodySchema,
    answers: answers.deliveryReportSchema,
  },
} as const satisfies Readonly<Record<string, ApiRoute>>;
export type ApiRouteName = keyof typeof routes;
