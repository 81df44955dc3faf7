/** The verification plan that an agent or a tool passes to a verification node. */
import { posix } from 'node:path';
import type { Graph, Node } from '../graph.ts';
import type { Json } from '../json.ts';

/** `files` are workspace-relative and clean; `commands` are trimmed. */
export type VerificationPlan = { readonly files: string[]; readonly commands: string[] };

/** Reads a plan: an object with string arrays `files` and `commands`, either of which may be absent or null; other
 *  keys are ignored. `workspace` is absolute: an absolute file inside it is made relative. A plan `byTool` may have
 *  no commands, and file names with `~` or with blanks at their ends. The problem continues the text "the plan is
 *  not valid: ". */
export function parseVerificationPlan(
  value: Json,
  options: PlanOptions,
): { readonly plan: VerificationPlan } | { readonly problem: string } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return problem('it is not an object with `files` and `commands`');
  }
  const plan: { files: string[]; commands: string[] } = { files: [], commands: [] };
  const { files, commands } = value as { readonly [key: string]: Json };
  for (const file of listOf(files)) {
    if (typeof file !== 'string') return problem('`files` is not a list of texts');
    const read = readFile(options.byTool === true ? file : file.trim(), options);
    if ('problem' in read) return problem(read.problem);
    plan.files.push(read.path);
  }
  for (const command of listOf(commands)) {
    if (typeof command !== 'string') return problem('`commands` is not a list of texts');
    if (command.trim() === '') return problem('a command is blank');
    plan.commands.push(command.trim());
  }
  if (plan.commands.length === 0 && options.byTool !== true) return problem('it has no commands');
  return { plan };
}

/** The context keys from which the verifications of a pipeline read their plans. */
export const planKeys = ({ nodes }: Graph): ReadonlySet<string> =>
  new Set(
    [...nodes.values()]
      .filter(({ type }) => type === 'verification')
      .map(({ settings }) => settings['verification.plan_context_key']),
  );

/** Why a tool may not make these context updates; undefined if it may. A tool starts programs that agents have written, and each of
 *  them can write to `$FACTORY_OUTPUT`. */
export function planProblem(
  { id, settings }: Node,
  graph: Graph,
  updates: Readonly<Record<string, unknown>> | undefined = {},
): string | undefined {
  if (settings.sets_plan) return undefined;
  const keys = planKeys(graph);
  const key = Object.keys(updates).find((one) => keys.has(one));
  return key === undefined
    ? undefined
    : `$FACTORY_OUTPUT sets "${key}", the plan of a verification, which only a tool with sets_plan=true may set: add sets_plan=true to node "${id}" if all that it starts may choose the checks`;
}

/** Whether a tool that may set no plan names one in its command. */
export const namesPlan = ({ settings }: Node, graph: Graph): boolean =>
  !settings.sets_plan &&
  settings.tool_command?.includes('FACTORY_OUTPUT') === true &&
  [...planKeys(graph)].some((key) => settings.tool_command?.includes(`"${key}"`));

const problem = (why: string) => ({ problem: why });

/** A list's items; none for an absent list; any other value becomes the only item, whose check then fails. */
function listOf(value: Json | undefined): readonly (Json | undefined)[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [undefined];
}

type PlanOptions = {
  readonly workspace: string;
  /** Another path of the same workspace. */
  readonly seenAt?: string | undefined;
  readonly byTool?: boolean;
};

function readFile(
  file: string,
  { workspace, seenAt, byTool }: PlanOptions,
): { path: string } | { problem: string } {
  if (file === '') return { problem: 'a file name is blank' };
  if (file.includes('\0')) return { problem: 'a file name contains a NUL' };
  if (byTool !== true && file.includes('~')) return { problem: `the file "${file}" contains "~"` };
  const isSeen = seenAt !== undefined && (file === seenAt || file.startsWith(`${seenAt}/`));
  const path = posix.isAbsolute(file)
    ? posix.relative(isSeen ? seenAt : workspace, file)
    : posix.normalize(file);
  if (path === '..' || path.startsWith('../'))
    return { problem: `the file "${file}" is outside the workspace` };
  return { path: path === '' ? '.' : path.replace(/(.)\/$/, '$1') };
}
