/** The results of a compilation in its run directory: prompts, answers and findings of each attempt, and the orders. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { once } from '../core/once.ts';
import { inWorkspace, layout, nodeLayout } from '../core/records/layout.ts';
import { namesIn } from '../platform/files/read.ts';
import { checkPlan } from './compile.ts';
import { manifestFile } from './emit.ts';
import { readIfThere } from './files.ts';
import type { EarlierFinding } from './prompt.ts';
import type { PlanState } from './state.ts';

export type AttemptEvidence = {
  /** From 1. */
  readonly attempt: number;
  readonly prompt: string | undefined;
  readonly response: string | undefined;
  readonly reasoning: string | undefined;
  /** Unusable answers of the server, as the agent stored them. */
  readonly dumps: Readonly<Record<string, string>>;
  /** Undefined if no answer was checked. */
  readonly checked:
    | { readonly findings: readonly EarlierFinding[]; readonly parseError: boolean }
    | undefined;
};

export type PlanEvidence = {
  readonly attempts: readonly AttemptEvidence[];
  /** Texts of the work orders by file name, the manifest last; empty when none were written. */
  readonly output: Readonly<Record<string, string>>;
  /** The manifest without provenance. */
  readonly normalized: string | undefined;
  /** The original ids of removed orders. */
  readonly skipped: readonly string[];
};

/** The nodes that ask the model: the first attempt is an execution of `plan`, later ones of `revise`. */
export const askingNodes = { first: 'plan', later: 'revise' } as const;

/** Reads it. `state`: what the run recorded of the plan. `finished`: the run succeeded; orders count only then. */
export async function gatherPlanEvidence(
  runDir: string,
  state: PlanState | undefined,
  finished: boolean,
): Promise<PlanEvidence> {
  const at = layout(runDir);
  const checks = state?.attempts ?? [];
  const attempts: AttemptEvidence[] = [];
  for (let attempt = 1; ; attempt++) {
    const [node, visit] = attempt === 1 ? [askingNodes.first, 1] : [askingNodes.later, attempt - 1];
    const dir = await visitDir(at.node(node), visit);
    const check = checks[attempt - 1];
    if (dir === undefined && check === undefined) break;
    const listing = dir === undefined ? nothing : await asked(dir);
    // The engine treats a blank answer as none; it is not checked.
    const blank =
      listing.response?.trim() === '' ? checkPlan(listing.response, { repoFiles: [] }) : undefined;
    const checked = check === undefined ? blank : { findings: check.findings, parseError: check.parse_error };
    attempts.push({ attempt, ...listing, checked });
  }
  const output: Record<string, string> = {};
  const folder = join(at.workspace, inWorkspace.orders);
  const names = finished ? namesIn(folder).filter((name) => /^WO-.*\.json$/.test(name)) : [];
  for (const name of finished ? [...names.sort(), manifestFile] : []) {
    const text = await readIfThere(join(folder, name));
    if (text !== undefined) output[name] = text;
  }
  return {
    attempts,
    output,
    normalized: finished ? await readIfThere(join(at.workspace, inWorkspace.planNormalized)) : undefined,
    skipped: state?.skipped ?? [],
  };
}

const nothing = { prompt: undefined, response: undefined, reasoning: undefined, dumps: {} } as const;

const stageSchema = once(() => z.object({ visit: z.number() }));

/** The directory of a node's n-th execution; undefined when there was none. */
async function visitDir(dir: string, visit: number): Promise<string | undefined> {
  const at = nodeLayout(dir);
  for (const candidate of [dir, join(at.visits, String(visit))])
    if (visitIn(await readIfThere(nodeLayout(candidate).stage)) === visit) return candidate;
  return undefined;
}

/** The file of an execution that has just begun is not flushed: a power cut may leave it empty. */
function visitIn(stage = ''): number | undefined {
  try {
    return stageSchema().safeParse(JSON.parse(stage)).data?.visit;
  } catch {
    return undefined;
  }
}

async function asked(dir: string): Promise<Omit<AttemptEvidence, 'attempt' | 'checked'>> {
  const at = nodeLayout(dir);
  const dumps: Record<string, string> = {};
  for (const name of await readdir(dir)) {
    if (/^raw_response_[\w-]+\.json$/.test(name)) dumps[name] = await readFile(join(dir, name), 'utf8');
  }
  return {
    // The engine appends a newline.
    prompt: (await readIfThere(at.prompt))?.replace(/\n$/, ''),
    response: await readIfThere(at.response),
    reasoning: await readIfThere(at.reasoning),
    dumps,
  };
}

/** The request of a compilation, stored with the run for a resume. */
const source = once(() => z.object({ path: z.string().describe('Absolute'), sha256: z.string() }));

export const planRequestSchema = once(() =>
  z.object({
    schema_version: z.literal(1),
    artifacts: z.string().describe('Absolute root of the artifacts'),
    outdir: z.string().nullable().describe('Absolute directory of the export'),
    overwrite: z.boolean(),
    spec: source(),
    template: source(),
    repo: z.string().nullable(),
    model: z.string(),
    effort: z.string(),
    max_attempts: z.int().positive(),
    compile_hash: z.string(),
    started_at: z.string(),
    version: z.object({ git_commit: z.string().nullable(), git_dirty: z.boolean().nullable() }),
  }),
);
export type PlanRequest = z.infer<ReturnType<typeof planRequestSchema>>;

/** Its name among the texts that the run keeps. */
export const planRequestFile = 'plan-request.json';
