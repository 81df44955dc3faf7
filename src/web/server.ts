/** The HTTP server: checks, endpoints, the page. */
import { type Context, Hono } from 'hono';
import type * as z from 'zod';
import { isAnswerToken } from '../app/run/answer-token.ts';
import { DiskStop, diskError } from '../platform/files/disk-error.ts';
import { diskWords, inTheWay, isCode } from '../platform/files/write.ts';
import { schemaProblems } from '../run/unreadable.ts';
import { handlers } from './api/index.ts';
import { answerAsset, type PageAssets } from './assets.ts';
import { addressOf } from './page/text/address.ts';
import { type ApiRoute, type ApiRouteName, routes } from './routes.ts';
import { type Access, boundHeaders, ourHostOnly, tokenExchange, withTokenOnly } from './security.ts';
import { type Asked, type AskedRun, notFound, problem, servedRun, type Web } from './web.ts';

/** Bytes of a body. */
const largestBody = 1024 * 1024;

/** The application: `fetch` answers a request. `internal` is called with errors that are ours. */
export function webApp(web: Web, access: Access, page: PageAssets, internal: (error: unknown) => void): Hono {
  const app = new Hono();
  app.use('*', boundHeaders, ourHostOnly(access));
  const mayAnswer = (id: string, token: string) => {
    const run = servedRun(web, id);
    return run !== undefined && isAnswerToken(run.dir, token);
  };
  for (const path of ['/api/*', '/metrics']) app.use(path, withTokenOnly(access, mayAnswer));
  for (const name of Object.keys(routes) as ApiRouteName[]) addRoute(app, name, web);
  for (const [path, allowed] of methodsByPath())
    app.all(path, (c) =>
      problem(405, 'method', `${c.req.method} is not allowed here`, `use ${allowed}`, { Allow: allowed }),
    );
  app.all('/api/*', (c) =>
    notFound(`there is no ${c.req.path}`, 'factory serve --openapi lists all endpoints'),
  );
  app.get('*', tokenExchange(access), (c) => {
    const isAddress = addressOf(c.req.path, '').view !== 'none';
    if (isAddress || page.files.has(c.req.path)) return answerAsset(page, c);
    return notFound(`there is no ${c.req.path}`, 'the page is at /, the API at /api/v1/');
  });
  app.all('*', (c) =>
    problem(405, 'method', `${c.req.method} is not allowed here`, '', { Allow: 'GET, HEAD' }),
  );
  app.onError((error) => {
    if (error instanceof CutBody)
      return problem(400, 'bad-request', 'the body ended before its length', 'send it whole');
    if (error instanceof DiskStop) return problem(500, 'system', error.message, error.fix);
    const trouble = inTheWay(error) ?? diskError(error);
    if (trouble !== undefined)
      return problem(500, 'system', diskWords(trouble), 'check that path, the disk and its permissions');
    internal(error);
    return problem(500, 'internal', 'internal error: the server printed it', 'please report it');
  });
  return app;
}

/** `*` as hono writes it. */
const pathOf = ({ path }: ApiRoute): string => path.replace('*', ':name{.+}');

function methodsByPath(): Map<string, string> {
  const methods = new Map<string, string>();
  for (const route of Object.values(routes)) {
    const more = route.method === 'get' ? 'GET, HEAD' : 'POST';
    const before = methods.get(pathOf(route));
    methods.set(pathOf(route), before === undefined ? more : `${before}, ${more}`);
  }
  return methods;
}

function addRoute(app: Hono, name: ApiRouteName, web: Web): void {
  const route: ApiRoute = routes[name];
  app.on(route.method.toUpperCase(), pathOf(route), async (c) => {
    if (route.method === 'post' && web.readOnly)
      return problem(405, 'read-only', 'this server is read-only', 'start it without --read-only');
    const asked = await checked(route, c, web);
    if (asked instanceof Response) return asked;
    // The table gives each function its types.
    const handle = handlers[name] as (asked: Asked<never>) => Promise<unknown>;
    const make = async (): Promise<Response> => {
      const answer = await handle(asked as Asked<never>).catch((error: unknown) => {
        if (asked.run !== undefined && servedRun(web, asked.run.id) === undefined) return noRun(asked.run.id);
        // A symbolic link in a run directory is not followed.
        if (isCode(error, 'ELOOP')) return notFound(`there is no ${c.req.path}`);
        throw error;
      });
      return answer instanceof Response ? answer : Response.json(answer, { status: route.status ?? 200 });
    };
    if (asked.run === undefined || !askedAgain.includes(name)) return make();
    return web.kept.answer(asked.run, JSON.stringify([name, asked.params, asked.query]), make);
  });
}

/** What the pages of a run ask for whenever it changes. */
const askedAgain: readonly ApiRouteName[] = [
  ...(['run', 'why', 'execution', 'changes', 'events', 'graph', 'timeline'] as const),
];

type Checked = {
  readonly run: AskedRun | undefined;
  readonly params: unknown;
  readonly query: unknown;
};

/** The parts of a request as the route's schemas make them, or what is wrong with it. */
async function checked(route: ApiRoute, c: Context, web: Web): Promise<Response | Checked> {
  const params = parsed(route.params, c.req.param());
  if (params instanceof Response) return notFound(`there is no ${c.req.path}`);
  const query = parsed(route.query, c.req.query());
  if (query instanceof Response) return query;
  const body = route.body === undefined ? {} : await bodyOf(c);
  if (body instanceof Response) return body;
  const shaped = parsed(route.body, body);
  if (shaped instanceof Response) return shaped;
  const id = params['id'];
  const run = typeof id === 'string' ? servedRun(web, id) : undefined;
  if (typeof id === 'string' && run === undefined) return noRun(id);
  const asked = { web, request: c.req.raw, params, query, body: shaped, run };
  return asked;
}

const noRun = (id: string): Response => notFound(`there is no run ${id}`, 'GET /api/v1/runs lists the runs');

function parsed(schema: (() => z.ZodObject) | undefined, given: unknown): Record<string, unknown> | Response {
  if (schema === undefined) return {};
  const read = schema().safeParse(given);
  if (read.success) return read.data;
  return problem(
    400,
    'bad-request',
    schemaProblems(read.error),
    'factory serve --openapi describes the request',
  );
}

async function bodyOf(c: Context): Promise<unknown> {
  // A page of another origin cannot send this type without being asked first.
  if (!/^application\/json\s*(?:;|$)/i.test(c.req.header('Content-Type') ?? ''))
    return problem(400, 'bad-request', 'the body is not JSON', 'send Content-Type: application/json');
  const text = await textOf(c.req.raw);
  if (text === undefined)
    return problem(413, 'too-large', 'the body has more than 1 MiB', 'name a file instead');
  try {
    return text === '' ? {} : (JSON.parse(text) as unknown);
  } catch {
    return problem(400, 'bad-request', 'the body is not JSON');
  }
}

/** The client has left while it sent the body. */
class CutBody extends Error {}

/** The body; undefined if it is too large. Not more than that is held in memory. Rejects with a `CutBody`. */
async function textOf({ body }: Request): Promise<string | undefined> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const piece of body ?? []) {
      size += piece.length;
      if (size > largestBody) return undefined;
      pieces.push(piece);
    }
  } catch (error) {
    throw new CutBody('the body was cut', { cause: error });
  }
  return Buffer.concat(pieces).toString();
}
