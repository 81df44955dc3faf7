/** The API as an OpenAPI 3.1 document, made from the table of routes. */
import * as z from 'zod';
import * as answers from '../app/answers.ts';
import { runComparisonSchema } from '../app/compare/shape.ts';
import { estimateSchema } from '../app/estimate.ts';
import { executionViewSchema } from '../app/inspect/execution-shapes.ts';
import { runRowSchema } from '../app/inspect/run-row.ts';
import { sessionSchema } from '../app/inspect/session-shape.ts';
import { runViewSchema } from '../app/inspect/shapes.ts';
import { graphMapSchema } from '../app/picture/map-shape.ts';
import { queueChangeSchema, queueReportSchema, submitReportSchema } from '../core/records/queue-report.ts';
import { packageVersion } from '../platform/package.ts';
import * as contract from './contract.ts';
import { type ApiRoute, type ApiRouteName, routes } from './routes.ts';
import * as starts from './start-contract.ts';

/** Schemas that the document names. */
const named = {
  RunRow: runRowSchema,
  RunView: runViewSchema,
  ExecutionView: executionViewSchema,
  ApiError: contract.apiErrorSchema,
  ServerInfo: contract.serverInfoSchema,
  WhyReport: answers.whyReportSchema,
  RunList: answers.runListSchema,
  ChangeList: answers.changeListSchema,
  RunComparison: runComparisonSchema,
  Session: sessionSchema,
  StoredEvent: answers.storedEventSchema,
  EventPage: answers.eventPageSchema,
  LiveText: contract.shownLiveSchema,
  GraphMap: graphMapSchema,
  QueueReport: queueReportSchema,
  SubmitBody: contract.submitBodySchema,
  SubmitReport: submitReportSchema,
  MoveBody: contract.moveBodySchema,
  QueueChange: queueChangeSchema,
  PipelineList: answers.pipelineListSchema,
  FolderFiles: contract.folderFilesSchema,
  StartBody: starts.startBodySchema,
  CheckReport: starts.checkReportSchema,
  StartSettings: starts.startSettingsSchema,
  FolderList: starts.folderListSchema,
  AnswerBody: contract.answerBodySchema,
  SteerBody: contract.steerBodySchema,
  StopBody: contract.stopBodySchema,
  DismissBody: contract.dismissBodySchema,
  ResumeBody: contract.resumeBodySchema,
  ForkBody: contract.forkBodySchema,
  ReplayBody: contract.replayBodySchema,
  RemoveBody: contract.removeBodySchema,
  DeliverBody: contract.deliverBodySchema,
  StartReport: answers.startReportSchema,
  AnswerReport: answers.answerReportSchema,
  SteerReport: answers.steerReportSchema,
  StopReport: answers.stopReportSchema,
  RemovalReport: answers.removalReportSchema,
  Estimate: estimateSchema,
  DismissReport: answers.dismissReportSchema,
  DeliveryReport: answers.deliveryReportSchema,
} as const;

const refOf = (id: string): string => `#/components/schemas/${id}`;

function nameOf(schema: () => z.ZodType): string {
  const found = Object.entries(named).find(([, one]) => one === schema);
  if (found === undefined) throw new Error('Internal: a schema of a route has no name');
  return found[0];
}

/** The document. */
export function openApi(): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const name of Object.keys(routes) as ApiRouteName[]) {
    const route: ApiRoute = routes[name];
    const path = documentedPath(route.path);
    paths[path] = { ...paths[path], [route.method]: operation(name, route) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'factory serve', version: packageVersion() },
    security: [{ bearer: [] }, { cookie: [] }],
    paths,
    components: {
      schemas: components(),
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        cookie: {
          type: 'apiKey',
          in: 'cookie',
          name: 'factory_PORT',
          description: 'For browsers: set by the address that serve prints; PORT is the port of the server',
        },
      },
    },
  };
}

/** `:id` and `*` as OpenAPI writes them. */
export const documentedPath = (path: string): string =>
  path.replace('*', '{name}').replace(/:(\w+)/g, '{$1}');

function components(): Record<string, object> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema(), { id });
  const { __shared: shared, ...made } = z.toJSONSchema(registry, { uri: refOf, io: 'input' }).schemas;
  const all = Object.entries({ ...made, ...shared?.$defs }).map(([id, schema]) => {
    const { $schema: _, $id: __, ...its } = schema as Record<string, unknown>;
    return [id, its] as const;
  });
  // What several schemas share is a component, too.
  const text = JSON.stringify(Object.fromEntries(all)).replaceAll(`${refOf('__shared')}#/$defs/`, refOf(''));
  return JSON.parse(text);
}

function operation(name: string, { about, params, query, body, answers, status }: ApiRoute): object {
  const content =
    typeof answers === 'string'
      ? { [answers]: { schema: { type: 'string' } } }
      : { 'application/json': { schema: { $ref: refOf(nameOf(answers)) } } };
  const failure = { 'application/json': { schema: { $ref: refOf('ApiError') } } };
  return {
    operationId: name,
    summary: about,
    parameters: [...parametersOf('path', params), ...parametersOf('query', query)],
    ...(body === undefined
      ? {}
      : { requestBody: { content: { 'application/json': { schema: { $ref: refOf(nameOf(body)) } } } } }),
    responses: {
      [status ?? 200]: { description: 'Success', content },
      default: { description: 'Any failure', content: failure },
    },
  };
}

function parametersOf(where: 'path' | 'query', schema: (() => z.ZodObject) | undefined): object[] {
  if (schema === undefined) return [];
  return Object.entries(schema().shape).map(([name, one]) => {
    const { description, ...made } = z.toJSONSchema(one as z.ZodType, { io: 'output' });
    return {
      ...{ name, in: where, required: where === 'path' },
      ...(description === undefined ? {} : { description }),
      schema: { ...made, $schema: undefined },
    };
  });
}
