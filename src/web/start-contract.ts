/** The body that starts a run, what a check of it answers, and what a form for it is made from. */
import * as z from 'zod';
import { once } from '../core/once.ts';
import { limitNames, runLimits } from '../core/settings/limits.ts';
import { runSettings, type SettingName } from '../core/settings/run.ts';
import type { AttributeSpec } from '../core/settings/types.ts';

const lineText = (most: number) =>
  z
    .string()
    .min(1)
    .max(most)
    .regex(/^[^\0\r\n]*$/, 'must be one line');
/** A value of one line. */
export const flagText = once(() => lineText(500));
export const pathText = once(() => lineText(4096));
const variableName = once(() =>
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_.-]*$/, 'is not the name of a variable'),
);

/** A setting as a request has it. */
export function settingSchema<Z extends z.ZodType>(name: SettingName, plain: Z) {
  const spec: AttributeSpec = runSettings[name];
  if (spec.http !== true) throw new Error(`Internal: ${name} cannot be set over HTTP`);
  return plain
    .superRefine((value, issues) => {
      const read = spec.read({ kind: 'string', text: String(value) });
      if (!read.ok) issues.addIssue({ code: 'custom', message: read.why });
    })
    .exactOptional()
    .describe(`${spec.does} The value is ${spec.wants}`);
}

/** Limits of a run, as a request has them. */
export const limitsSchema = once(() =>
  z.strictObject(
    Object.fromEntries(
      limitNames.flatMap((name) => {
        const { http, json }: AttributeSpec = runLimits[name];
        const plain = json === undefined ? flagText() : json === 'integer' ? z.int() : z.number();
        return http === true ? [[name, settingSchema<z.ZodType<string | number>>(name, plain)]] : [];
      }),
    ),
  ),
);

/** The settings of a new run that are no limits; `test/web/settings.test.ts` compares them with the table. */
const plainSettings = () => ({
  name: settingSchema('name', flagText()),
  agent: settingSchema('agent', flagText()),
  provider: settingSchema('provider', flagText()),
  model: settingSchema('model', flagText()),
  effort: settingSchema('effort', flagText()),
  fidelity: settingSchema('fidelity', flagText()),
  sandbox: settingSchema('sandbox', flagText()),
  holdout_from: settingSchema('holdout_from', pathText()),
});

/** Only addresses: a command would be one that runs on this machine. */
const noticeAddress = once(() =>
  flagText().refine((text) => {
    if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return false;
    const { username, password } = new URL(text);
    return username === '' && password === '';
  }, 'is no address (https://…) without a user'),
);

export const startBodySchema = once(() =>
  z.strictObject({
    pipeline: z.string().max(1000).describe('`name` of one of GET /api/v1/pipelines for the project'),
    project: pathText()
      .exactOptional()
      .describe('Folder below one of `roots`; paths are relative to it. Default: the folder of the server'),
    on_project: z
      .boolean()
      .default(false)
      .describe('Whether it builds on the project, whatever workdir the pipeline names'),
    vars: z
      .record(variableName(), z.string().max(100_000))
      .default({})
      .describe('A value that begins with @ is the path of a file'),
    texts: z
      .record(variableName(), z.string().regex(/\S/, 'is empty').max(900_000))
      .default({})
      .describe('Texts of variables: each is written to a file of the runs directory'),
    ...plainSettings(),
    limits: limitsSchema().default({}),
    wait: z.boolean().default(false).describe('As `--wait`: it resumes by itself after a suspension'),
    notify: noticeAddress().exactOptional().describe('Where notices are sent; default: as the server'),
    allow_dirty: z.boolean().default(false).describe('With uncommitted changes of the workdir'),
  }),
);
export type StartBody = z.infer<ReturnType<typeof startBodySchema>>;

const findingSchema = once(() =>
  z.object({
    code: z.string(),
    severity: z.enum(['error', 'warning', 'hint']),
    message: z.string(),
    fix: z.string().describe('Empty if there is none'),
    place: z
      .object({ file: z.string(), line: z.int(), column: z.int() })
      .nullable()
      .describe('Null for what is wrong with the request'),
  }),
);

export const checkReportSchema = once(() =>
  z.object({
    command: z
      .string()
      .describe(
        'The command line that starts the same run; a given text is `@NAME` there, the name of a file',
      ),
    missing: z.array(z.string()).describe('Variables that must be set and are not'),
    findings: z.array(findingSchema()).describe('What `factory validate` finds, then what refuses the start'),
  }),
);
export type CheckReport = z.infer<ReturnType<typeof checkReportSchema>>;

export const startSettingsSchema = once(() =>
  z.object({
    settings: z.array(
      z.object({
        name: z.string().describe('As in the body of POST /api/v1/runs'),
        title: z.string(),
        limit: z.boolean().describe('True: in `limits`'),
        does: z.string().describe('As in the help of its flag'),
        wants: z.string(),
        words: z.array(z.string()).nullable().describe('The values, where only some words are valid'),
        type: z.enum(['string', 'integer', 'number']),
        unset: z.string().describe('What counts without it'),
        example: z.string(),
      }),
    ),
  }),
);
export type StartSettings = z.infer<ReturnType<typeof startSettingsSchema>>;

export const folderListSchema = once(() =>
  z.object({
    folders: z.array(z.string()).describe('Absolute: the roots and what is below them, by path'),
    more: z.boolean().describe('True: there are more folders than were listed'),
  }),
);
export type FolderList = z.infer<ReturnType<typeof folderListSchema>>;
