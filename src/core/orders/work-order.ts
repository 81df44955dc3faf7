/** Work orders: the steps of a plan, as planner and builder read them. */
import * as z from 'zod';
import type { Json, JsonObject } from '../json.ts';
import { once } from '../once.ts';

/** `.` and `..` resolved, slashes collapsed, a trailing slash removed, as POSIX does it; `.` for an empty path.
 *  Leading slashes and a leading `..` stay. */
export function normalizePath(path: string): string {
  const absolute = path.startsWith('/');
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..' || (!absolute && parts.length === 0) || parts.at(-1) === '..') parts.push(part);
    else parts.pop();
  }
  const root = !absolute ? '' : path.startsWith('//') && !path.startsWith('///') ? '//' : '/';
  return `${root}${parts.join('/')}` || '.';
}

/** Why `path` is not allowed in a work order or a proposal, as the end of a sentence that begins with the path; undefined
 *  if it is allowed. */
export function relativePathProblem(path: string): string | undefined {
  if (path === '') return 'is empty';
  if (path.includes('\\')) return 'has a backslash; write paths with "/"';
  if (path.startsWith('/')) return 'is absolute; write it relative to the repository';
  if (/^[A-Za-z]:/.test(path)) return 'begins with a drive letter; write it relative to the repository';
  if (/[\u0000-\u001f]/.test(path)) return 'has a control character';
  const normal = normalizePath(path);
  if (normal.startsWith('..')) return 'leads out of the repository';
  if (normal === '.') return 'names the repository itself, not a file';
  if (hasWildcard(normal)) return 'has a wildcard; name each file';
  return undefined;
}

export const hasWildcard = (path: string): boolean => /[*?[]/.test(path);

/** A path relative to the repository; reads as its normal form. */
export const relativePathSchema = once(() =>
  z.string().transform((path, check) => {
    const problem = relativePathProblem(path);
    if (problem === undefined) return normalizePath(path);
    check.issues.push({ code: 'custom', input: path, message: `path ${JSON.stringify(path)} ${problem}` });
    return z.NEVER;
  }),
);

export const conditionSchema = once(() =>
  z.object({ kind: z.enum(['file_exists', 'file_absent']), path: relativePathSchema() }),
);
export type Condition = z.infer<ReturnType<typeof conditionSchema>>;

/** A guarantee that the file exists after the step. */
export const postconditionSchema = once(() =>
  z.object({ kind: z.literal('file_exists'), path: relativePathSchema() }),
);

const yesWords = ['1', 'on', 't', 'true', 'y', 'yes'];
const noWords = ['0', 'off', 'f', 'false', 'n', 'no'];
/** A flag that may also be written as 0, 1 or a word such as `yes` or `off`. */
const laxFlag = once(() =>
  z.union([z.boolean(), z.number(), z.string()]).transform((value, check) => {
    if (typeof value === 'boolean') return value;
    const word = String(value).toLowerCase();
    if (yesWords.includes(word)) return true;
    if (noWords.includes(word)) return false;
    check.issues.push({ code: 'custom', input: value, message: 'neither true nor false' });
    return z.NEVER;
  }),
);

/** The most files that are shown for a step. */
export const maxContextFiles = 10;

/** One step. Further keys are allowed and ignored. */
export const workOrderSchema = once(() =>
  z.object({
    id: z.string(),
    title: z.string(),
    intent: z.string(),
    preconditions: z.array(conditionSchema()).default([]),
    postconditions: z.array(postconditionSchema()).default([]),
    allowed_files: z.array(relativePathSchema()),
    forbidden: z.array(z.string()),
    acceptance_commands: z.array(z.string()).min(1, 'at least one command is needed'),
    context_files: z.array(relativePathSchema()).max(maxContextFiles, `at most ${maxContextFiles} files`),
    notes: z.string().nullable().default(null),
    verify_exempt: laxFlag().default(false),
  }),
);
export type WorkOrder = z.infer<ReturnType<typeof workOrderSchema>>;

/** The origin of an emitted work order. `bootstrap`: the order may be checked without the whole contract. */
export const provenanceSchema = once(() =>
  z.object({
    planner_run_id: z.string().min(1),
    compile_hash: z.string(),
    manifest_sha256: z.string(),
    bootstrap: z.boolean(),
  }),
);
export type Provenance = z.infer<ReturnType<typeof provenanceSchema>>;

/** Requirements that the finished plan must fulfil before the whole is verified. Only `file_exists` requirements count. */
export type VerifyContract = JsonObject & {
  readonly command?: Json;
  readonly requires?: readonly JsonObject[];
};

/** A checked plan. Orders are the model's own, normalised, so that keys beyond the schema are preserved; each of them
 *  parses as a `WorkOrder`. */
export type Plan = {
  readonly system_overview: Json;
  readonly verify_contract: VerifyContract | null;
  readonly work_orders: readonly JsonObject[];
};

/** The check script of the repository: an order that creates only this file is the bootstrap order. */
export const verifyScript = 'scripts/verify.sh';

const text = (description: string): JsonObject => ({ type: 'string', description });
const texts = (description: string): JsonObject => ({
  type: 'array',
  items: { type: 'string' },
  description,
});
const conditions = (kinds: readonly string[], description: string): JsonObject => ({
  type: 'array',
  description,
  items: closed({ kind: { type: 'string', enum: kinds }, path: text('Relative to the repository') }),
});
/** An object with exactly these keys, as strict structured output requires. */
function closed(properties: JsonObject): JsonObject {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}

/** The JSON schema of a plan that is sent to the model. Stricter than the accepted form: every key is required.
 *  Registered as `work-plan`. */
export const workPlanSchema: JsonObject = closed({
  system_overview: texts('What is being built, a few sentences, one per entry'),
  verify_contract: {
    anyOf: [
      closed({
        command: text('How the finished repository is verified as a whole'),
        requires: conditions(['file_exists'], 'Files that must exist before that command can run'),
      }),
      { type: 'null' },
    ],
  },
  work_orders: {
    type: 'array',
    description: 'In the order in which they are carried out',
    items: closed({
      id: text('WO-01, WO-02, ... without a gap, at most WO-99'),
      title: text('A few words'),
      intent: text('What this step achieves and the interface it fixes'),
      preconditions: conditions(['file_exists', 'file_absent'], 'What must hold before the step'),
      postconditions: conditions(['file_exists'], 'One for every allowed file'),
      allowed_files: texts('Every file the step may write; no wildcards'),
      forbidden: texts('What the step must not do'),
      acceptance_commands: texts('Commands that prove the step, run without a shell; at least one'),
      context_files: texts(
        `Files shown to the agent that carries out the step: all allowed files, at most ${maxContextFiles}`,
      ),
      notes: {
        type: ['string', 'null'],
        description: 'Anything else that is needed, exact file contents included',
      },
    }),
  },
});
