/** Builds whose orders a model server on loopback answers, each from its prompt alone. */
import { join } from 'node:path';
import { root } from './cli.ts';
import { house } from './house.ts';
import { type ModelRequest, type Reaction, startModelServer } from './model-server.ts';

/** An order of a plan: the file that it writes, and what else matters to it. */
export type OrderRow = {
  readonly file: string;
  readonly reads?: readonly string[];
  readonly accept?: readonly string[];
  readonly preconditions?: readonly { readonly kind: string; readonly path: string }[];
};

const idAt = (at: number): string => `WO-0${at + 1}`;

export const planOf = (rows: readonly OrderRow[]): string =>
  JSON.stringify({
    system_overview: ['Small files.'],
    verify_contract: { command: 'node --check x.js', requires: [] },
    work_orders: rows.map(({ file, reads = [], accept = [`test -f ${file}`], preconditions = [] }, at) => ({
      ...{ id: idAt(at), title: `Write ${file}`, intent: `Write ${file}.`, preconditions },
      ...{ postconditions: [{ kind: 'file_exists', path: file }], allowed_files: [file], forbidden: [] },
      ...{ acceptance_commands: accept, context_files: [file, ...reads], notes: null },
    })),
  });

/** Eight orders on three levels. */
export const threeLevels: readonly OrderRow[] = [
  ...['a', 'b', 'c', 'd'].map((name) => ({ file: `${name}.txt` })),
  ...['e', 'f', 'g'].map((name) => ({ file: `${name}.txt`, reads: ['a.txt'] })),
  { file: 'h.txt', reads: ['e.txt'] },
];

/** The id of the order that a prompt is about. */
export const orderIn = ({ body }: Pick<ModelRequest, 'body'>): string =>
  /^# (WO-\d+):/m.exec(String(body?.['input']))?.[1] ?? '';

/** A proposal for the one file that the prompt names. */
export function proposalFor({ body }: Pick<ModelRequest, 'body'>, content = ''): Reaction {
  const prompt = String(body?.['input']);
  const file = /## Files you may write\n\n- (\S+)/.exec(prompt)?.[1] ?? '';
  const base_sha256 = new RegExp(`### ${file.replaceAll('.', '\\.')}\nexists: \\w+\nsha256: (\\w+)`).exec(
    prompt,
  )?.[1];
  const text = content === '' ? `${orderIn({ body })}\n` : content;
  return { json: { summary: `Wrote ${file}.`, writes: [{ path: file, base_sha256, content: text }] } };
}

/** A folder with a plan and a model that answers as `react` says, else with a proposal. */
export async function buildOf(
  rows: readonly OrderRow[],
  react: (
    request: ModelRequest,
    index: number,
  ) => Reaction | undefined | Promise<Reaction | undefined> = () => undefined,
) {
  const server = await startModelServer(
    async (request, index) => (await react(request, index)) ?? proposalFor(request),
  );
  const it = await house({ 'plan.json': planOf(rows) }, () => ({
    OPENAI_API_KEY: 'sk-orders-ahead-0123',
    OPENAI_BASE_URL: server.url,
    FACTORY_SANDBOX: 'none',
  }));
  const dispose = it[Symbol.asyncDispose];
  return Object.assign(it, {
    server,
    /** The orders that were asked, in the order of arrival. */
    asked: (): readonly string[] => server.requests.map(orderIn),
    build: (options: { readonly var?: readonly string[]; readonly [flag: string]: unknown } = {}) =>
      it.run(join(root, 'pipelines/build.dot'), {
        runId: 'r1',
        ...options,
        var: ['plan=plan.json', ...(options.var ?? [])],
      }),
    /** Nodes as they were executed. */
    visits: (run = 'r1') =>
      it
        .records(`.factory/runs/${run}/journal.jsonl`)
        .filter(({ type }) => type === 'Visit')
        .map(({ node }) => String(node)),
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await dispose();
    },
  });
}
