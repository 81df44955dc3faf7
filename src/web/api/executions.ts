/** One execution of a node, and its files. */
import { join, relative } from 'node:path';
import { areMasked, inspectExecution } from '../../app/inspect/execution.ts';
import { folderOf } from '../../app/inspect/folder.ts';
import { inspectSession } from '../../app/inspect/session.ts';
import { maskStream } from '../../core/policy/mask.ts';
import { textsToMask } from '../../core/policy/secrets.ts';
import { assertNoLinkAbove } from '../../platform/files/inside.ts';
import { readPart } from '../../platform/files/read.ts';
import { type Handlers, notFound, problem, type Web } from '../web.ts';

/** Bytes of one answer. */
const largestPart = 1024 * 1024;

export const executionsApi: Pick<Handlers, 'execution' | 'file' | 'session'> = {
  execution: async ({ web, run, params }) => {
    const view = await inspectExecution(run.dir, params.node, params.visit, web);
    return 'problems' in view ? noExecution(params) : view;
  },
  session: async ({ web, run, params, query: { from, limit, item, q } }) => {
    const asked = { from, limit, item, words: q };
    const session = await inspectSession(run.dir, params.node, params.visit, web, asked);
    return 'problems' in session ? noExecution(params) : session;
  },
  file: async ({ web, run, params, query, request }) => {
    const view = await inspectExecution(run.dir, params.node, params.visit, web);
    if ('problems' in view) return noExecution(params);
    if (view.withheld) return problem(403, 'withheld', withheldWords, 'ask again when the run has ended');
    if (!areMasked(view.state, (await web.runs.row(run.id))?.status))
      return problem(
        403,
        'withheld',
        unmaskedWords,
        'see the live output, or ask again when the node has ended',
      );
    const listed = view.files.find(({ name }) => name === params.name);
    if (listed === undefined)
      return notFound(
        `${params.node}@${params.visit} has no file ${params.name}`,
        'see `files` of the execution',
      );
    const path = join(await folderOf(run.dir, params), listed.name);
    assertNoLinkAbove(run.dir, relative(run.dir, path));
    if (query.download === '1')
      return request.method === 'HEAD' ? headOf(path) : downloadOf(path, params, web);
    const { from = 0, to = from + largestPart } = query;
    const part = readPart(path, from, Math.min(to, from + largestPart));
    if (part === undefined) return notFound(`there is no file ${params.name} any more`);
    const masked = maskStream(textsToMask(web.env));
    return new Response(Buffer.concat([masked.push(part.bytes), masked.end()]), {
      headers: { ...plain, 'X-File-Bytes': String(part.size) },
    });
  },
};

/** Said in place of texts of a node that sees the holdout. */
const withheldWords = 'the file may contain the holdout, and the run is unfinished';

const unmaskedWords = 'secrets in the files of a node are masked when it ends, and it has not ended';

type Params = { readonly node: string; readonly visit: number; readonly name?: string };

const noExecution = ({ node, visit }: Params): Response =>
  notFound(`the run has no execution ${node}@${visit}`, 'see `executions` of the run');

const plain = { 'Content-Type': 'text/plain; charset=utf-8' };

function headOf(path: string): Response {
  const part = readPart(path, 0, 0);
  return part === undefined
    ? notFound('there is no such file any more')
    : new Response(null, { headers: { ...plain, 'X-File-Bytes': String(part.size) } });
}

/** The whole file, piece by piece. One that still grows is sent up to the end that it has then. */
function downloadOf(path: string, { node, visit, name = '' }: Params, { env }: Pick<Web, 'env'>): Response {
  const masked = maskStream(textsToMask(env));
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const part = readPart(path, at, at + largestPart);
      if (part === undefined || part.bytes.length === 0) {
        controller.enqueue(Buffer.from(masked.end()));
        return controller.close();
      }
      at += part.bytes.length;
      controller.enqueue(Buffer.from(masked.push(part.bytes)));
    },
  });
  const saved = `${node}-${visit}-${name}`.replace(/[^A-Za-z0-9._-]/g, '_');
  return new Response(body, {
    headers: { ...plain, 'Content-Disposition': `attachment; filename="${saved}"` },
  });
}
