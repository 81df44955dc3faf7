/** What a runs directory keeps of GitHub, in a folder that its runs share. */
import { join } from 'node:path';
import * as z from 'zod';
import { jsonIn } from '../core/json.ts';
import { once } from '../core/once.ts';
import { runId, sharedFolders } from '../core/records/names.ts';
import { readPlain } from '../platform/files/read.ts';
import { makeFolder, writeJson } from '../platform/files/write.ts';
import { type RepositoryName, repositoryText } from './repository-name.ts';

export const gitHubLayout = (runsDir: string) => {
  const root = join(runsDir, sharedFolders.github);
  return {
    root,
    /** Answers with their ETags. */
    answers: join(root, 'answers'),
    /** The spec that an issue became. */
    spec: (runId: string) => join(root, 'specs', `${runId}.md`),
    /** Which issue a run is for. */
    issue: (runId: string) => join(root, 'issues', `${runId}.json`),
    /** Held while the issues of a repository are taken. */
    lock: (name: RepositoryName) => join(root, 'locks', repositoryText(name).toLowerCase().replace('/', '@')),
  };
};

const issueRecordSchema = once(() =>
  z.object({
    schema_version: z.literal(1),
    run_id: runId(),
    /** `OWNER/REPO`. */
    repo: z.string(),
    number: z.int(),
    /** Address of the comment that says it; null before it is written. */
    comment: z.string().nullable(),
  }),
);
export type IssueRecord = z.infer<ReturnType<typeof issueRecordSchema>>;

/** The issue that a run is for; undefined for a run of another origin. */
export function issueOfRun(runsDir: string, runId: string): IssueRecord | undefined {
  const read = readPlain(gitHubLayout(runsDir).issue(runId));
  return read.kind === 'text' ? issueRecordSchema().safeParse(jsonIn(read.text)).data : undefined;
}

export async function recordIssue(runsDir: string, record: IssueRecord): Promise<void> {
  const { root, issue } = gitHubLayout(runsDir);
  makeFolder(join(root, 'issues'));
  await writeJson(issue(record.run_id), record, { sync: true, syncFolder: true });
}
