/** Checks of a commit that have failed, with what they report, which is data. */
import * as z from 'zod';
import { once } from '../core/once.ts';
import { type GitHub, notTheApi } from './client.ts';
import { GitHubError } from './error.ts';
import { type RepositoryName, repositoryPath } from './repository-name.ts';

export type FailedCheck = {
  readonly name: string;
  readonly conclusion: string;
  /** What it reports: its summary, and its annotations, a line each. */
  readonly text: string;
};

const runsSchema = once(() =>
  z.array(
    z.object({
      ...{ id: z.int(), name: z.string(), status: z.string(), conclusion: z.string().nullable() },
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
/** Characters of one check. */
const mostText = 6000;

/** `running`: some have not ended. A token that may not read checks sees none. */
export async function failedChecks(
  client: GitHub,
  name: RepositoryName,
  commit: string,
): Promise<{ readonly failed: readonly FailedCheck[]; readonly running: boolean }> {
  const path = `${repositoryPath(name)}/commits/${commit}/check-runs?per_page=100`;
  const listed = await unlessForbidden(() =>
    client.pages(path, (page) => (page as { check_runs?: unknown })?.check_runs),
  );
  const read = runsSchema().safeParse(listed);
  if (!read.success) throw notTheApi(`GET ${path}`);
  const failed: FailedCheck[] = [];
  for (const { id, name: check, conclusion, output } of read.data) {
    if (conclusion === null || !failures.includes(conclusion)) continue;
    const texts = [output.title, output.summary, output.text].filter((text) => text != null && text !== '');
    const text = [...texts, ...(await annotationsOf(client, name, id))].join('\n');
    failed.push({ name: check, conclusion, text: text.slice(-mostText) });
  }
  return { failed, running: read.data.some(({ status }) => status !== 'completed') };
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

async function unlessForbidden(ask: () => Promise<readonly unknown[]>): Promise<readonly unknown[]> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof GitHubError && error.trouble.kind === 'access') return [];
    throw error;
  }
}
