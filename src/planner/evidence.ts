/** What a compilation left in its run directory: prompts, answers and findings of each attempt, and the orders. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { inWorkspace, layout, nodeLayout } from '../model/layout.ts';
import { namesIn } from '../system/read.ts';
import { checkPlan } from './compile.ts';
import { readIfThere } from './desk.ts';
import { manifestFile } from './emit.ts';
import type { EarlierFinding } from './revise.ts';
import { readState } from './state.ts';

export type AttemptEvidence = {
  /** From 1. */
  readonly attempt: number;
  readonly prompt: string | undefined;
  readonly response: string | undefined;
  readonly reasoning: string | undefined;
  /** Answers of the server that could not be used, as the agent kept them. */
  readonly dumps: Readonly<Record<string, string>>;
  /** Undefined when no answer was checked. */
  readonly checked:
    | { readonly findings: readonly EarlierFinding[]; readonly parseError: boolean }
    | undefined;
};

export type Evidence = {
  readonly attempts: readonly AttemptEvidence[];
  /** Texts of the work orders by file name, the manifest's last; empty when none were written. */
  readonly output: Readonly<Record<string, string>>;
  /** The manifest before provenance was added. */
  readonly normalized: string | undefined;
  /** The ids, as planned, of orders that were left out. */
  readonly skipped: readonly string[];
};

/** The nodes that ask the model: the first attempt is a visit of `plan`, later ones are visits of `revise`. */
export const askingNodes = { first: 'plan', later: 'revise' } as const;

/** Gathers it. `finished` says whether the run reached its end by success: orders count only then. `kept` is the folder of
 *  its records, where those are complete: then the orders are theirs, whatever became of the workspace. */
export async function gather(runDir: string, finished: boolean, kept?: string): Promise<Evidence> {
  const at = layout(runDir);
  const state = await readState(at.workspace);
  const checks = state === undefined || 'problem' in state ? [] : state.attempts;
  const attempts: AttemptEvidence[] = [];
  for (let attempt = 1; ; attempt++) {
    const [node, visit] = attempt === 1 ? [askingNodes.first, 1] : [askingNodes.later, attempt - 1];
    const dir = await visitDir(at.node(node), visit);
    const check = checks[attempt - 1];
    if (dir === undefined && check === undefined) break;
    const said = dir === undefined ? nothing : await asked(dir);
    // A blank answer does not reach the check: the engine counts it as none.
    const blank = said.response?.trim() === '' ? checkPlan(said.response, { repoFiles: [] }) : undefined;
    const checked = check === undefined ? blank : { findings: check.findings, parseError: check.parse_error };
    attempts.push({ attempt, ...said, checked });
  }
  const output: Record<string, string> = {};
  if (finished) {
    const folder = kept === undefined ? join(at.workspace, inWorkspace.orders) : join(kept, 'output');
    const names = namesIn(folder)
      .filter((name) => /^WO-.*\.json$/.test(name))
      .sort();
    for (const name of [...names, manifestFile]) output[name] = await readFile(join(folder, name), 'utf8');
  }
  const normalized =
    kept === undefined
      ? join(at.workspace, inWorkspace.planNormalized)
      : join(kept, 'compile/manifest_normalized.json');
  return {
    attempts,
    output,
    normalized: finished ? await readIfThere(normalized) : undefined,
    skipped: state === undefined || 'problem' in state ? [] : (state.skipped ?? []),
  };
}

const nothing = { prompt: undefined, response: undefined, reasoning: undefined, dumps: {} } as const;

const Stage = z.object({ visit: z.number() });

/** The folder of a node's n-th visit; undefined when there was none. */
async function visitDir(dir: string, visit: number): Promise<string | undefined> {
  const at = nodeLayout(dir);
  for (const candidate of [dir, join(at.visits, String(visit))])
    if (visitIn(await readIfThere(nodeLayout(candidate).stage)) === visit) return candidate;
  return undefined;
}

/** The note of a visit that has just begun is not flushed: a power cut may leave it empty. */
function visitIn(stage = ''): number | undefined {
  try {
    return Stage.safeParse(JSON.parse(stage)).data?.visit;
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
    // The engine ends a prompt's file with a newline of its own.
    prompt: (await readIfThere(at.prompt))?.replace(/\n$/, ''),
    response: await readIfThere(at.response),
    reasoning: await readIfThere(at.reasoning),
    dumps,
  };
}
