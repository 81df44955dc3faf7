/** Checks of a commit that have failed, with what they report, which is data. */
import * as z from 'zod';
import { once } from '../core/once.ts';
import { type GitHub, notTheApi } from './client.ts';
import { orNone } from './error.ts';
import { type RepositoryName, repositoryPath } from './repository-name.ts';

export type FailedCheck = {
  readonly name: string;
  readonly conclusion: string;
  /** What it reports: its summary, its annotations, a line each, and the end of its log. */
  readonly text: string;
};

const runsSchema = once(() =>
  z.array(
    z.object({
      ...{ id: z.int(), name: z.string(), status: z.string(), conclusion: z.string().nullable() },
      details_url: z.string().nullish(),
      app: z.object({ slug: z.string().nullish() }).nullish(),
      output: z
        .object({ title: z.string().nullable(), summary: z.string().nullable(), text: z.string().nullable() })
        .partial(),
    }),
  ),
);
const annotationsSchema = once(() =>
  z.array(
    z.object({
      ...{ path: z.string(), start_line: z.int(), annotation_level: z.string(), message: z.string() },
    }),
  ),
);

const failures = ['failure', 'timed_out'];
/** Characters of what one check reports, and of its log. */
const mostText = 6000;
/** So many logs are read. */
const mostLogs = 10;

/** `running`: some have not ended. A token that may not read checks sees none. `mask` is given texts before they are cut: of a secret at
 *  the cut a part would be left. */
export async function failedChecks(
  client: GitHub,
  name: RepositoryName,
  commit: string,
  mask: (text: string) => string,
): Promise<{ readonly failed: readonly FailedCheck[]; readonly running: boolean }> {
  const path = `${repositoryPath(name)}/commits/${commit}/check-runs?per_page=100`;
  const listed = await unlessForbidden(() =>
    client.pages(path, (page) => (page as { check_runs?: unknown })?.check_runs),
  );
  const read = runsSchema().safeParse(listed);
  if (!read.success) throw notTheApi(`GET ${path}`);
  const failed: FailedCheck[] = [];
  const ended = read.data.filter(({ conclusion }) => conclusion !== null && failures.includes(conclusion));
  for (const [at, run] of ended.entries()) {
    const { output } = run;
    const texts = [output.title, output.summary, output.text].filter((text) => text != null && text !== '');
    const whole = mask([...texts, ...(await annotationsOf(client, name, run.id))].join('\n'));
    const text = whole.slice(-mostText);
    const log = at < mostLogs ? await logOf(client, name, run, mask) : [];
    failed.push({ name: run.name, conclusion: run.conclusion ?? '', text: [text, ...log].join('\n').trim() });
  }
  return { failed, running: read.data.some(({ status }) => status !== 'completed') };
}

/** The end of the log of a job of Actions; of other checks GitHub has none. */
async function logOf(
  client: GitHub,
  name: RepositoryName,
  {
    app,
    details_url,
  }: {
    readonly app?: { readonly slug?: string | null | undefined } | null | undefined;
    readonly details_url?: string | null | undefined;
  },
  mask: (text: string) => string,
): Promise<readonly string[]> {
  const job = /\/actions\/runs\/\d+\/job\/(\d+)$/.exec(details_url ?? '')?.[1];
  if (app?.slug !== 'github-actions' || job === undefined) return [];
  const log = await orNone(() => client.logEnd(`${repositoryPath(name)}/actions/jobs/${job}/logs`));
  return log === undefined ? ['(its log could not be read)'] : ['The end of its log:', endOfLog(log, mask)];
}

/** Of a log the part that ends with its last error: steps that clean up follow. Without times, colours and other control
 *  characters. */
export function endOfLog(log: string, mask: (text: string) => string): string {
  const lines = log
    .replace(/\x1b\[[0-9;?]*[ -/]*[@-~]/g, '')
    .split(/\r?\n/)
    .map((line) => line.replace(/^\uFEFF?\d{4}-\d\d-\d\dT[\d:.]+Z /, '').replace(/[^\P{C}\t]/gu, ''));
  const last = lines.findLastIndex((line) => line.startsWith('##[error]'));
  const text = lines.slice(0, last < 0 ? undefined : last + 1).join('\n');
  return mask(text.trimEnd()).slice(-mostText);
}

async function annotationsOf(client: GitHub, name: RepositoryName, id: number): Promise<readonly string[]> {
  const path = `${repositoryPath(name)}/check-runs/${id}/annotations?per_page=100`;
  const read = annotationsSchema().safeParse(await unlessForbidden(() => client.pages(path)));
  if (!read.success) throw notTheApi(`GET ${path}`);
  return read.data.map(
    ({ path: file, start_line, annotation_level, message }) =>
      `${file}:${start_line}: ${annotation_level}: ${message}`,
  );
}

const unlessForbidden = async (ask: () => Promise<readonly unknown[]>): Promise<readonly unknown[]> =>
  (await orNone(ask)) ?? [];
