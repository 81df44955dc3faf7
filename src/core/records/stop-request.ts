/** A request to stop a run, as a file in its directory: for an owner that a signal does not reach, or that is to end its nodes first. */
import * as z from 'zod';
import { once } from '../once.ts';

const facts = once(() => ({
  by: z.string().max(300).describe('The user, the worker, or where the request came from'),
  at: z.string().describe('RFC 3339'),
  after_node: z
    .boolean()
    .describe('True: nodes that are executed now finish; false: they end at once, as after a signal'),
  why: z
    .enum(['person', 'drain'])
    .describe('`drain`: its worker stops, and the run is to be continued by another one'),
}));

/** In the journal's line of the stop. */
export const stopAskedSchema = once(() => z.object(facts()));

/** In its file. Only the owner with this epoch follows it, so that none stops a later resume. */
export const stopRequestSchema = once(() =>
  z.object({ schema_version: z.literal(1), ...facts(), epoch: z.int().positive() }),
);
export type StopRequest = z.infer<ReturnType<typeof stopRequestSchema>>;
export type StopAsked = z.infer<ReturnType<typeof stopAskedSchema>>;

/** The reason of the abort signal of a run that a request stops. */
export class StopByRequest {
  readonly request: StopRequest;

  constructor(request: StopRequest) {
    this.request = request;
  }

  toString(): string {
    return stopWords(this.request);
  }
}

/** Who stopped the run, behind `by`. */
const stopWords = ({ by, why, after_node }: StopAsked): string => {
  const act = why === 'drain' ? 'drains' : 'factory stop';
  return `${by} (${act}${after_node ? ', after the node' : ''})`;
};

/** What interrupted a run, behind `interrupted by`. */
export const interruptedBy = (line: {
  readonly signal?: string | undefined;
  readonly request?: StopAsked | undefined;
}): string => line.signal ?? (line.request === undefined ? '' : stopWords(line.request));

/** Of a request and one that is there already for the same owner, what both ask: the earlier end, and a person before a worker. */
export const joinedRequest = (before: StopRequest, now: StopRequest): StopRequest => {
  const after_node = before.after_node && now.after_node;
  const first = before.why === 'person' || now.why === 'drain' ? before : now;
  return { ...first, after_node };
};
