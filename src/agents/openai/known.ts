/** What a run has learned about a server: the API that it has, and the parts of a request that it refuses. */
import type { AgentTask } from '../../core/contracts/agent.ts';
import type { ServerApi } from '../../core/model-server.ts';
import type { Part, RefusedParts, Request } from './request.ts';

/** An API that a request can be sent over. */
export type SpokenApi = Exclude<ServerApi, 'auto'>;

export type KnownServer = {
  api?: 'responses' | 'chat';
  /** By model: one server has models that take a part and models that do not. */
  readonly refused: Map<string, RefusedParts>;
};

/** What a task begins with: its own copy of what the model has refused before. */
export const refusedBefore = ({ refused }: KnownServer, model: string): RefusedParts =>
  new Set(refused.get(model));

/** The optional parts that a request over this API has. (A refused stream of the Responses API is answered from the
 *  background.) */
export function sentParts(
  api: SpokenApi,
  { effort, schema, talk, temperature }: Request,
  refused: RefusedParts,
): RefusedParts {
  const sent: readonly (readonly [Part, boolean])[] = [
    ['summary', api === 'responses' && effort !== undefined && !refused.has('effort')],
    ['sealed', api === 'responses' && talk !== undefined],
    ['stream_options', api === 'chat'],
    ['thinking', api === 'anthropic' && effort !== undefined],
    ['cache', api === 'anthropic'],
    ['effort', effort !== undefined],
    ['schema', schema !== undefined],
    ['temperature', temperature !== undefined],
  ];
  return new Set(sent.flatMap(([part, is]) => (is && !refused.has(part) ? [part] : [])));
}

/** What people lose with a part. */
const words: Partial<Record<Part, string>> = {
  schema: 'a schema for the answer (response_format): the prompt alone describes its form',
  effort: 'a reasoning effort: the model works with its default',
  temperature: 'a temperature: the model works with its default',
};

/** Remembers for the run what this model was asked without, now that it has answered: words in a refusal alone are a guess. The log
 *  says once what the user had asked for. */
export function learnedRefusals(
  { refused: known }: KnownServer,
  { model, shown }: Pick<Request, 'model' | 'shown'>,
  refused: RefusedParts,
  { log }: Pick<AgentTask, 'log'>,
): void {
  const before = known.get(model) ?? new Set();
  for (const part of refused) {
    if (before.has(part)) continue;
    const lost = words[part];
    if (lost === undefined) log('debug', 'a part of the request is left out from now on', { model, part });
    else log('warn', `${shown} does not accept ${lost}`, { model });
  }
  known.set(model, new Set([...before, ...refused]));
}
