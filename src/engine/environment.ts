/** The environment of a node's programs, and the values in it that must be masked. */
import { delimiter } from 'node:path';
import type { Agent } from '../core/contracts/agent.ts';
import type { Confinement } from '../core/contracts/sandbox.ts';
import { allNodes, type Graph, type Node } from '../core/graph.ts';
import { confinedEnvironment } from '../core/policy/confinement.ts';
import { masker } from '../core/policy/mask.ts';
import {
  environmentWithSecrets,
  namedIn,
  passesAll,
  type Secret,
  secretsOf,
} from '../core/policy/secrets.ts';
import { epochVariable, nodeLayout } from '../core/records/layout.ts';
import type { BudgetGuard } from './budget-guard.ts';

/** Variables of an enclosing git operation, and the folder of the engine's keys: no node gets them. */
const dropped = [
  'GIT_DIR',
  'GIT_WORK_TREE',
  'GIT_INDEX_FILE',
  'GIT_OBJECT_DIRECTORY',
  'GIT_COMMON_DIR',
  'GIT_PREFIX',
  'FACTORY_KEYS',
];

export type NodeEnvironment = {
  readonly env: Readonly<Record<string, string>>;
  /** Names of the secrets that the node does not get. */
  readonly withheld: readonly string[];
  readonly secrets: readonly Secret[];
  /** Values that must not appear in anything written. */
  readonly values: readonly string[];
  readonly mask: (text: string) => string;
};
/** The settings of a run; the same object for all its nodes. */
type Setting = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly sealed?: unknown;
  readonly graph: Pick<Graph, 'settings'>;
  readonly secrets?: readonly string[] | undefined;
};

/** Variables that are secrets whatever they are called: named by `FACTORY_SECRETS` when the run started or was resumed, or by the
 *  graph. */
const namedBy = ({ graph, secrets = [] }: Setting): readonly string[] => [
  ...secrets,
  ...(graph.settings.secrets ?? []),
];

/** Variables that no node of a run gets; with a holdout, also the one that locates its key. */
const droppedFrom = ({ sealed }: Setting): readonly string[] =>
  sealed === undefined ? dropped : [...dropped, 'XDG_STATE_HOME'];

type PassSetting = Setting & { readonly graph: Graph; readonly envPass: readonly string[] };

/** Names of the secrets that a node gets. */
export const passedTo = ({ graph, envPass }: PassSetting, node: Node | undefined): readonly string[] => [
  ...envPass,
  ...((node ?? graph).settings.env_pass ?? []),
];

/** For the log: who gets all secrets, and their names. */
export function allPassed(setting: PassSetting): readonly { to: string; secrets: readonly string[] }[] {
  const getting = passedTo(setting, undefined).includes(passesAll)
    ? ['every node']
    : [...allNodes(setting.graph).values()]
        .filter(({ settings }) => settings.env_pass?.includes(passesAll))
        .map(({ id }) => id);
  if (getting.length === 0) return [];
  const secrets = secretsOf(setting.env, namedBy(setting)).map(({ name }) => name);
  return getting.map((to) => ({ to, secrets }));
}

const environments = new WeakMap<Setting, Map<string, NodeEnvironment>>();

/** The engine's environment for nodes that get the secrets in `pass`, and for programs with `keys`; computed once per run. */
export function environmentOf(
  setting: Setting,
  pass: readonly string[],
  keys: readonly string[] = [],
): NodeEnvironment {
  const known = environments.get(setting) ?? new Map<string, NodeEnvironment>();
  environments.set(setting, known);
  const key = JSON.stringify([pass, keys]);
  let found = known.get(key);
  if (found === undefined) {
    const named = namedBy(setting);
    const {
      env,
      withheld,
      secrets,
      mask: values,
    } = environmentWithSecrets(setting.env, { pass, keys, named });
    for (const name of droppedFrom(setting)) delete env[name];
    // A nested `factory` masks the same.
    if (named.length > 0) env['FACTORY_SECRETS'] = named.join(',');
    found = { env, withheld, secrets, values, mask: masker(values) };
    known.set(key, found);
  }
  return found;
}

/** Adds the variables that describe the attempt: paths, output files, run, node and attempt numbers. */
export function withOwnWords(
  from: Readonly<Record<string, string>>,
  run: {
    readonly runId: string;
    readonly runDir: string;
    readonly workspace: string;
    readonly factoryBin: string;
    readonly node: string;
    readonly processMarker: string;
    readonly epoch: number;
    readonly branch?: string | undefined;
  },
  {
    node,
    visit,
    attempt,
    snapshotId,
    desk,
    promptOnly = [],
  }: {
    readonly node: Node;
    readonly visit: number;
    readonly attempt: number;
    readonly snapshotId: string;
    readonly desk: Pick<BudgetGuard, 'words'>;
    readonly promptOnly?: readonly string[];
  },
  nodeDir: string,
): Record<string, string> {
  const access = node.settings.access !== undefined;
  const at = nodeLayout(nodeDir);
  return {
    ...from,
    PATH: `${run.factoryBin}${delimiter}${from['PATH'] ?? '/usr/local/bin:/usr/bin:/bin'}`,
    PWD: run.workspace,
    GIT_CEILING_DIRECTORIES: run.runDir,
    FACTORY_NODE_EXEC: run.node,
    FACTORY_RUN_ID: run.runId,
    FACTORY_RUN_MARKER: run.processMarker,
    [epochVariable(run.processMarker)]: epochValue(run),
    FACTORY_NODE: node.id,
    FACTORY_VISIT: String(visit),
    FACTORY_ATTEMPT: String(attempt),
    FACTORY_WORKSPACE: run.workspace,
    FACTORY_NODE_DIR: nodeDir,
    FACTORY_OUTPUT: at.output,
    FACTORY_CONTEXT: at.context,
    ...desk.words(nodeDir),
    ...(access ? { FACTORY_RUN_DIR: run.runDir, FACTORY_SNAPSHOT: snapshotId } : {}),
    ...(access && promptOnly.length > 0 ? { FACTORY_PROMPT_ONLY: promptOnly.join(',') } : {}),
  };
}

/** Which owner of the run has started a process; in a branch, and in which: its processes are ended apart from those of others that
 *  run at the same time. */
export const epochValue = ({
  epoch,
  branch,
}: {
  readonly epoch: number;
  readonly branch?: string | undefined;
}): string => (branch === undefined ? `${epoch}` : `${epoch}:${branch}`);

/** The environment adapted to the sandbox. */
export const seenBy = (
  confinement: Confinement,
  env: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> =>
  confinement.rung === 'bwrap' ? confinedEnvironment(env, confinement) : env;

/* Reports of secrets that an answer holds, and of those that a failed node did not get. */

/** The same agent; of an answer that holds secrets the report says which. */
export const markingSecrets = (
  agent: Agent,
  secretsIn: (text: string) => readonly string[] | undefined,
): Agent => ({
  ...agent,
  async work(task, signal) {
    const report = await agent.work(task, signal);
    if (report.kind !== 'answered') return report;
    // A recorded answer was masked when it was recorded.
    const secrets = report.secrets ?? secretsIn(report.text);
    return secrets === undefined ? report : { ...report, secrets };
  },
});

/** The variables whose values a text holds; undefined for none. Of a text that was printed, and masked on its way (`printed`), they
 *  are not known. */
export function secretsIn(
  text: string,
  secrets: readonly Secret[],
  printed: boolean,
): readonly string[] | undefined {
  const names = secrets.filter(({ mask }) => masker(mask)(text) !== text).map(({ name }) => name);
  if (names.length > 0) return [...new Set(names)];
  return printed && text.includes('***') ? [] : undefined;
}

/** Adds the values of secrets that a program gets. */
export function addPassed(
  values: Set<string>,
  secrets: readonly Secret[],
  withheld: readonly string[],
): void {
  for (const { name, mask } of secrets)
    if (!withheld.includes(name)) for (const value of mask) values.add(value);
}

/** A hint for a failure of programs that name variables they did not get, in their command line or in the end of their output. */
export function withheldHint(
  programs: readonly { readonly text: string; readonly withheld: readonly string[] }[],
  output: string,
  node: string,
): string | undefined {
  const last = programs.at(-1);
  if (last === undefined) return undefined;
  const names = namedIn(`${last.text}\n${output}`, last.withheld);
  if (names.length === 0) return undefined;
  const are = names.length === 1 ? 'is a secret' : 'are secrets';
  return `${names.join(', ')} ${are} and withheld: set env_pass="${names.join(',')}" on node "${node}", or --env-pass`;
}
