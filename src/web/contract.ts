/** Bodies and parameters of the HTTP API, except what commands answer with too (app/answers.ts, app/inspect/shapes.ts). Fields are only ever added. */
import * as z from 'zod';
import { pageMark, runFilters } from '../app/inspect/run-filters.ts';
import { once } from '../core/once.ts';
import { labelForm, labelFormWords, priorityBound } from '../core/records/job.ts';
import { liveTextSchema } from '../core/records/live.ts';
import { nodeId, parsePoint, runId } from '../core/records/names.ts';
import { longestNote } from '../core/records/note.ts';
import { longestAnswer } from '../core/records/question.ts';
import { mayBeSetInFork } from '../core/settings/forks.ts';
import { flagText, limitsSchema, pathText, settingSchema, startBodySchema } from './start-contract.ts';

/** Every answer with a status of 400 or more. */
export const apiErrorSchema = once(() =>
  z.object({
    code: z.string().describe('For programs: `not-found`, `unauthorized`, `bad-request`, …'),
    message: z.string(),
    fix: z.string().describe('What to do about it; empty if nothing can be done'),
  }),
);
export type ApiError = z.infer<ReturnType<typeof apiErrorSchema>>;

export const serverInfoSchema = once(() =>
  z.object({
    version: z.string(),
    folder: z.string().describe('The folder that the server was started in'),
    roots: z.array(z.string()).describe('Folders in which runs can be started, and their subfolders'),
    runs_dir: z.string(),
    read_only: z.boolean().describe('True: the server offers no acts'),
    agents: z.array(z.string()).describe('Values for `agent` of a new run'),
  }),
);

export type ServerInfo = z.infer<ReturnType<typeof serverInfoSchema>>;

export const shownLiveSchema = once(() =>
  liveTextSchema().extend({
    begins: z
      .boolean()
      .describe('True: the first text of its execution, or of the newest part of a very long output'),
  }),
);
export type ShownLive = z.infer<ReturnType<typeof shownLiveSchema>>;

export const folderFilesSchema = once(() =>
  z.object({
    files: z
      .array(z.object({ path: z.string().describe('Relative to the folder'), bytes: z.int() }))
      .describe('By path; no names that begin with a dot'),
    more: z.boolean().describe('True: the folder has more files than were listed'),
  }),
);

export type FolderFiles = z.infer<ReturnType<typeof folderFilesSchema>>;

export const dismissBodySchema = once(() => z.strictObject({}));

export const stopBodySchema = once(() =>
  z.strictObject({
    after_node: z.boolean().default(false).describe('Whether the nodes that run now finish first'),
  }),
);
export type StopBody = z.infer<ReturnType<typeof stopBodySchema>>;

export const resumeBodySchema = once(() =>
  z.strictObject({
    now: z.boolean().default(false).describe('A suspended run before its time'),
    accept_changes: z.boolean().default(false).describe('With a changed pipeline or changed prompts'),
    limits: limitsSchema().default({}),
  }),
);
export type ResumeBody = z.infer<ReturnType<typeof resumeBodySchema>>;

export const answerBodySchema = once(() =>
  z.strictObject({
    question: z
      .string()
      .max(300)
      .exactOptional()
      .describe('`NODE@VISIT`: a later question is not answered by mistake; default the open one'),
    choice: flagText().exactOptional().describe('Key, label or target of an option'),
    text: z.string().max(longestAnswer.text).exactOptional().describe('Where the question takes one'),
    by: flagText().exactOptional().describe('Who answers; default: where the answer comes from'),
  }),
);
export type AnswerBody = z.infer<ReturnType<typeof answerBodySchema>>;

export const steerBodySchema = once(() =>
  z.strictObject({
    text: z.string().max(longestNote).describe('For the end of the prompt of the next agent'),
    branch: flagText().exactOptional().describe('Only for agents of this branch'),
    by: flagText().exactOptional().describe('Who gives it; default: where it comes from'),
  }),
);
export type SteerBody = z.infer<ReturnType<typeof steerBodySchema>>;

const pointText = once(() =>
  z
    .string()
    .refine((text) => !('problem' in parsePoint(text)), 'is not NODE or NODE@VISIT')
    .describe('`NODE@VISIT`, or `NODE` for its latest execution'),
);

/** Characters: all of a request are one argument of a program. */
const longestSetting = 40_000;

export const forkBodySchema = once(() =>
  z.strictObject({
    at: pointText(),
    before: z.boolean().default(true).describe('True: that execution runs again'),
    set: z
      .record(
        z
          .string()
          .regex(/^[A-Za-z_][\w.]*$/, 'is not NODE.ATTRIBUTE')
          .refine(
            mayBeSetInFork,
            'is set on the command line only: factory fork RUN --at NODE --set NAME=TEXT',
          ),
        z
          .string()
          .max(longestSetting)
          .refine((text) => !text.startsWith('@'), 'cannot begin with @'),
      )
      .exactOptional()
      .describe(
        'Texts for attributes of nodes, by `NODE.ATTRIBUTE`, as `--set`: what a node does, not what it may reach; files cannot be named',
      ),
    note: z.string().max(longestNote).exactOptional().describe('For the first agent of the new run'),
    name: settingSchema('name', flagText()),
  }),
);
export type ForkBody = z.infer<ReturnType<typeof forkBodySchema>>;

export const replayBodySchema = once(() =>
  z.strictObject({
    run_tools: z.boolean().default(false).describe('Whether commands run again; agents never do'),
  }),
);
export type ReplayBody = z.infer<ReturnType<typeof replayBodySchema>>;

export const removeBodySchema = once(() =>
  z.strictObject({
    force: z.boolean().default(false).describe('Also with undelivered commits, or a damaged run'),
  }),
);
export type RemoveBody = z.infer<ReturnType<typeof removeBodySchema>>;

export const deliverBodySchema = once(() =>
  z.strictObject({
    branch: flagText().exactOptional().describe('New branch in the source repository; default `factory/RUN`'),
    to: flagText().exactOptional().describe('Create a repository in this new or empty directory instead'),
    reuse: z.boolean().default(false).describe('Fast-forward an existing branch'),
    push: z.boolean().default(false).describe('Push the branch to the first remote'),
    overridden: z
      .boolean()
      .default(false)
      .describe('A run whose success is overridden: in spite of a failure, by the answer of a person'),
    accept_weak: z
      .boolean()
      .default(false)
      .describe('A run whose only failure is that its scenarios are too weak; recorded in `acts.jsonl`'),
  }),
);
export type DeliverBody = z.infer<ReturnType<typeof deliverBodySchema>>;

const runTime = once(() => flagText().describe('`22:00`, `2h`, or RFC 3339; as `--not-before` takes it'));

export const submitBodySchema = once(() =>
  startBodySchema()
    .omit({ wait: true })
    .extend({
      priority: z.int().min(-priorityBound).max(priorityBound).default(0).describe('A higher one goes first'),
      not_before: runTime().exactOptional(),
      labels: z.array(z.string().regex(labelForm, labelFormWords)).max(20).default([]),
    }),
);
export type SubmitBody = z.infer<ReturnType<typeof submitBodySchema>>;

export const moveBodySchema = once(() =>
  z
    .strictObject({
      to: z
        .enum(['first', 'last', 'now'])
        .exactOptional()
        .describe(
          '`now`: due now, if it sleeps or is held; the others: before or behind all that are not held',
        ),
      priority: submitBodySchema().shape.priority.unwrap().exactOptional(),
      not_before: runTime().exactOptional(),
    })
    .refine((body) => Object.keys(body).length === 1, 'name one of to, priority and not_before'),
);
export type MoveBody = z.infer<ReturnType<typeof moveBodySchema>>;

/** Parameters in paths. */
export const runParams = once(() => z.object({ id: runId() }));
export const jobParams = once(() => z.object({ job: runId().describe('Run id of the job') }));
export const executionParams = once(() =>
  z.object({ id: runId(), node: nodeId(), visit: z.coerce.number().int().positive() }),
);
export const fileParams = once(() =>
  executionParams().extend({
    name: z
      .string()
      .refine(
        (name) => !name.split('/').some((part) => ['', '.', '..'].includes(part)),
        'is no path of a file',
      )
      .describe('`name` of one of `files` of the execution'),
  }),
);

const count = once(() => z.coerce.number().int().nonnegative());

/** Parameters behind `?`. */
export const partQuery = once(() =>
  z.object({
    from: count().exactOptional().describe('First byte; default 0'),
    to: count().exactOptional().describe('Byte after the last one; default and at most `from` + 1 MiB'),
    download: z.literal('1').exactOptional().describe('The whole file, as an attachment'),
  }),
);
export const changesQuery = once(() =>
  z.object({
    at: pointText().exactOptional().describe('Only the changes of that execution'),
    from: pointText().exactOptional().describe('From after that execution; default the beginning'),
    to: pointText().exactOptional().describe('To after that execution; default the latest'),
    path: z.string().exactOptional().describe('Only this file, with a patch of up to 4 MiB'),
  }),
);
export const compareQuery = once(() =>
  z.object({
    a: runId().describe('Id of a run'),
    b: runId().describe('Id of the run that it is compared with'),
  }),
);
export const sessionQuery = once(() =>
  z.object({
    from: count().default(0).describe('Number of the first item'),
    limit: z.coerce.number().int().min(1).max(10_000).default(2000),
    item: count().exactOptional().describe('Only the item with this number, with its whole texts'),
    q: z.string().max(500).exactOptional().describe('Words; `found` has the numbers of the items with them'),
  }),
);
export const eventsQuery = once(() =>
  z.object({
    after: count().default(0).describe('`seq` of the last event that is known'),
    limit: z.coerce.number().int().min(1).max(10_000).default(10_000),
  }),
);
export const streamQuery = once(() =>
  z.object({
    after: count().exactOptional().describe('As `Last-Event-ID`, which wins; default 0: all events'),
  }),
);
export const pictureQuery = once(() =>
  z.object({
    inline: z
      .literal('1')
      .exactOptional()
      .describe('Without heading, legend, ground and style sheet, for a page that has them'),
  }),
);
export const mapQuery = once(() =>
  z.object({
    open: z
      .string()
      .max(10_000)
      .default('')
      .describe('Ids of `folds` of the graph that are shown open, with commas between them'),
  }),
);
const pageLength = once(() => z.coerce.number().int().min(1).max(10_000));

export const runsQuery = once(() =>
  z.object({
    limit: pageLength().exactOptional().describe('At most so many runs, the newest first; default all'),
    after: z
      .string()
      .regex(pageMark, 'is no `after` of a page')
      .exactOptional()
      .describe('`after` of the page before; only older runs are answered'),
    only: z.enum(runFilters).default('all').describe('`attention`: those that need a person'),
    q: z.string().default('').describe('Words that title, headline, pipeline, status, id or node have'),
  }),
);
export const runsStreamQuery = once(() =>
  z.object({
    limit: pageLength()
      .exactOptional()
      .describe('At most so many runs in the first message, the newest; changes are those of all runs'),
  }),
);
export const queueQuery = once(() =>
  z.object({
    most: count()
      .exactOptional()
      .describe('At most so many jobs of each state, and of those that need a person; default all'),
  }),
);
export const queueStreamQuery = once(() =>
  z.object({ most: count().default(200).describe('As of GET /api/v1/queue') }),
);
const projectQuery = () => ({
  project: pathText().exactOptional().describe('Folder below one of `roots`; default: that of the server'),
});
export const pipelinesQuery = once(() => z.object(projectQuery()));
export const filesQuery = once(() =>
  z.object({
    ...projectQuery(),
    under: z.string().default('').describe('Only below this folder, relative to the folder'),
  }),
);
export const estimateQuery = once(() =>
  z.object({ ...projectQuery(), pipeline: z.string().max(1000).describe('As in POST /api/v1/runs') }),
);
