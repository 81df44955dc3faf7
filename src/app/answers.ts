/** What commands answer with: `--json` prints it, and the endpoint of the same name serves it. Fields are only ever added. */
import * as z from 'zod';
import { once } from '../core/once.ts';
import { failureCardSchema } from './inspect/failure-card.ts';
import { givenAnswerSchema } from './inspect/question-shapes.ts';
import { runRowSchema } from './inspect/run-row.ts';
import { causeSchema, noteRowSchema } from './inspect/shapes.ts';

const version = { schema_version: z.literal(1) };

/** `factory runs` */
export const runListSchema = once(() =>
  z.object({
    ...version,
    runs_dir: z.string(),
    counts: z
      .object({
        all: z.int(),
        needs_attention: z.int(),
        by_status: z.record(z.string(), z.int()).describe('Only statuses that occur'),
        complete: z
          .literal(false)
          .exactOptional()
          .describe('The server is still reading runs: the counts, except `all`, are those so far'),
      })
      .describe('Of all runs of the directory'),
    found: z.int().exactOptional().describe('How many runs the filters leave; missing without filters'),
    runs: z.array(runRowSchema()).describe('Newest first'),
    after: z
      .string()
      .nullable()
      .exactOptional()
      .describe('Of a page: the mark that asks for the next one; null after the last'),
    queued: z
      .int()
      .exactOptional()
      .describe('Jobs of the queue whose run has not begun; missing where there is no queue'),
  }),
);
export type RunList = z.infer<ReturnType<typeof runListSchema>>;

/** `factory why` */
export const whyReportSchema = once(() =>
  causeSchema().extend({
    ...version,
    card: failureCardSchema().nullable().describe('Null for a run that needs no attention'),
    ...runRowSchema().pick({ run_id: true, status: true, question: true, questions: true }).shape,
  }),
);
export type WhyReport = z.infer<ReturnType<typeof whyReportSchema>>;

const filePatchSchema = once(() =>
  z.object({
    path: z.string().describe('In the workspace; bytes that are not UTF-8 as `\\xNN`'),
    what: z.enum(['created', 'modified', 'deleted']),
    kind: z.string().describe('`file`, `folder`, `symlink`, …: after the change, or before a deletion'),
    patch: z.string().describe('Unified diff; empty if `why_not` says why there is none'),
    added: z.int().describe('Lines'),
    removed: z.int().describe('Lines'),
    cut: z.boolean().describe('True: only the beginning of the patch'),
    why_not: z.string().describe('Why there is no patch; else empty'),
    by: z
      .string()
      .nullable()
      .describe('`NODE@VISIT` that changed it last, of those in question; null if none is known'),
  }),
);
export type FilePatch = z.infer<ReturnType<typeof filePatchSchema>>;

const pathFactsSchema = once(() =>
  z.object({
    kind: z.string(),
    mode: z.string().describe('Octal'),
    size: z.int().exactOptional(),
    sha256: z.string().exactOptional(),
    target: z.string().exactOptional().describe('Of a symbolic link'),
  }),
);
export type PathFacts = z.infer<ReturnType<typeof pathFactsSchema>>;

/** `factory diff` */
export const changeListSchema = once(() =>
  z.object({
    ...version,
    run_id: z.string(),
    from: z.object({ moment: z.string(), snapshot: z.string() }),
    to: z.object({ moment: z.string(), snapshot: z.string() }),
    changes: z
      .array(
        filePatchSchema()
          .pick({ path: true, what: true })
          .extend({ before: pathFactsSchema().nullable(), after: pathFactsSchema().nullable() }),
      )
      .describe("Every changed path; of one execution, or of named paths, also in the engine's own folder"),
    files: z.array(filePatchSchema()).describe('By path, of the product; at most 1,000'),
    more: z.int().describe('Changed paths that are not in `files`'),
    left_out: z.int().describe("Changed paths of the engine's own folder `.factory`"),
    withheld: z
      .boolean()
      .describe(
        'True: some patches are withheld, because the run is unfinished and they may show the holdout',
      ),
  }),
);
export type ChangeList = z.infer<ReturnType<typeof changeListSchema>>;

/** A line of `events.jsonl`. Events of other versions may have other types. */
export const storedEventSchema = once(() =>
  z.looseObject({
    seq: z.int().positive(),
    run_id: z.string(),
    epoch: z.int().describe('Number of the owner that wrote it'),
    at: z.string().describe('RFC 3339, UTC'),
    type: z
      .string()
      .describe('`StageStarted`, `StageCompleted`, …: each type and its fields are listed in pipelines.md'),
  }),
);
export type StoredEvent = z.infer<ReturnType<typeof storedEventSchema>>;

/** `factory logs`: `--json` prints each event as a line */
export const eventPageSchema = once(() =>
  z.object({
    events: z.array(storedEventSchema()),
    last: z.int().describe('`seq` of the last event in `events`; `after` if there are none'),
    more: z.boolean().describe('True: there are more; ask again with `after` = `last`'),
  }),
);
export type EventPage = z.infer<ReturnType<typeof eventPageSchema>>;

/** `factory pipelines` */
export const pipelineListSchema = once(() =>
  z.object({
    ...version,
    pipelines: z.array(
      z.object({
        name: z.string().describe('What one types after `factory run`, and `pipeline` of a new run'),
        file: z.string().describe('Absolute path'),
        from: z.enum(['folder', 'bundled']),
        source: z.enum(['folder', 'bundled']).describe('As `from`'),
        title: z.string().describe("The graph's label, else its goal, else empty"),
        label: z.string().describe('As `title`'),
        workdir: z
          .string()
          .nullable()
          .describe('Absolute path of the folder that a run copies; null: it begins with an empty one'),
        valid: z.boolean().describe('False: `factory validate` finds errors, and it cannot be started'),
        variables: z.array(
          z.object({
            name: z.string(),
            default: z
              .string()
              .nullable()
              .describe('Null if it must be set; of a file its path, relative to the pipeline'),
            required: z.boolean(),
            file: z.boolean().describe('Its value is the path of a file, which is read at the start'),
            label: z.string().describe('The name, for people'),
          }),
        ),
      }),
    ),
  }),
);
export type PipelineList = z.infer<ReturnType<typeof pipelineListSchema>>;
/** A pipeline that `factory run NAME` finds. */
export type OfferedPipeline = PipelineList['pipelines'][number];

/** `command`: the command line that does the same. */
const act = {
  ...version,
  run_id: z.string(),
  command: z.string().describe('The command line that does the same'),
};

/** `factory run --detach`, `factory resume --detach` and `factory fork --detach` */
export const startReportSchema = once(() =>
  z.object({
    ...act,
    status: z.enum(['running', 'ended']).describe('`ended`: there was nothing left to run'),
    run_dir: z.string(),
    log: z.string().nullable().describe('The file with what it prints'),
    pid: z.int().nullable(),
  }),
);
export type StartReport = z.infer<ReturnType<typeof startReportSchema>>;

/** `factory rm`: of each run */
export const removalReportSchema = once(() =>
  z.object({
    ...version,
    run_id: z.string(),
    status: z.string().describe('Before it was removed'),
    freed_bytes: z.int(),
    command: z.string().describe('The command line that does the same'),
  }),
);
export type RemovalReport = z.infer<ReturnType<typeof removalReportSchema>>;

/** `factory stop` */
export const stopReportSchema = once(() =>
  z.object({
    ...act,
    answer: z
      .enum(['stopped', 'not_running', 'stopping'])
      .describe('`stopping`: it was asked to, and has not yet'),
    ...runRowSchema().pick({ status: true, next: true }).shape,
  }),
);
export type StopReport = z.infer<ReturnType<typeof stopReportSchema>>;

/** `factory dismiss` */
export const dismissReportSchema = once(() =>
  z.object({
    ...act,
    ...runRowSchema().pick({ status: true }).shape,
    already: z.boolean().describe('True: it was dismissed before, and nothing was written'),
  }),
);
export type DismissReport = z.infer<ReturnType<typeof dismissReportSchema>>;

/** `factory answer` */
export const answerReportSchema = once(() =>
  z.object({
    ...act,
    question: z.string().describe('Its id: `NODE@VISIT`'),
    given: givenAnswerSchema(),
    resumed: z
      .enum(['waiting', 'background', 'queued', 'no'])
      .describe(
        '`waiting`: by a process that waits for the answer; `queued`: its job in the queue is due; `no`: the answer is kept until a resume',
      ),
    why: z.string().describe('Why it was not resumed; else empty'),
    ...startReportSchema().pick({ pid: true, log: true }).shape,
    next: z.string().describe('The command to run next; empty if there is none'),
  }),
);
export type AnswerReport = z.infer<ReturnType<typeof answerReportSchema>>;

/** `factory steer` */
export const steerReportSchema = once(() =>
  z.object({
    ...act,
    note: noteRowSchema(),
    next: z.string().describe('The command to run next; empty if there is none'),
  }),
);
export type SteerReport = z.infer<ReturnType<typeof steerReportSchema>>;

/** `factory deliver` */
export const deliveryReportSchema = once(() =>
  z.object({
    ...act,
    branch: z.string(),
    source: z.string().nullable().describe('The repository that the run began with'),
    to: z.string().nullable().describe('The new repository; null for a branch of the source'),
    base: z.string().nullable(),
    head: z.string().nullable(),
    commits: z.array(z.object({ commit: z.string(), subject: z.string() })),
    needed: z.array(z.string()).describe('Files in no commit without which the checks failed'),
    notes: z.array(z.string()),
    pushed: z
      .object({
        ok: z.boolean(),
        remote: z.string().describe('Empty where the repository has none'),
        stdout: z.string(),
        stderr: z.string(),
        why: z.string().describe('Why it was not pushed; else empty'),
        by_hand: z.string().describe('The command that pushes it'),
      })
      .nullable()
      .describe('Null if nothing was to be pushed'),
    next: z.string().describe('The command to run next; empty if there is none'),
  }),
);
export type DeliveryReport = z.infer<ReturnType<typeof deliveryReportSchema>>;
