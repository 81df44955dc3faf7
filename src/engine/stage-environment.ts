/** The environment of a node's programs, and the values in it that must be masked. */
import { delimiter } from 'node:path';
import { epochVariable } from '../model/epoch-variable.ts';
import type { Graph, Node } from '../model/graph.ts';
import { nodeLayout } from '../model/layout.ts';
import { confinedEnvironment } from '../policy/confinement.ts';
import { stageEnvironment as given, passesAll, type Secret, secretsOf } from '../policy/secrets.ts';
import { masker } from '../system/mask.ts';
import type { Confinement } from '../system/sandbox/confinement.ts';
import type { Desk } from './desk.ts';

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

export type StageEnvironment = {
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
export const droppedFrom = ({ sealed }: Setting): readonly string[] =>
  sealed === undefined ? dropped : [...dropped, 'XDG_STATE_HOME'];

type PassSetting = Setting & { readonly graph: Graph; readonly envPass: readonly string[] };

/** Names of the secrets that a node gets. */
export const passedTo = ({ graph, envPass }: PassSetting, node: Node | undefined): readonly string[] => [
  ...envPass,
  ...((node ?? graph).settings.env_pass ?? []),
];

/** For the log: who gets all secrets, and their names. */
export function allPassed(setting: PassSetting): readonly { to: string; secrets: readonly string[] }[] {
  const secrets = secretsOf(setting.env, namedBy(setting)).map(({ name }) => name);
  if (passedTo(setting, undefined).includes(passesAll)) return [{ to: 'every node', secrets }];
  return [...setting.graph.nodes.values()]
    .filter(({ settings }) => settings.env_pass?.includes(passesAll))
    .map(({ id }) => ({ to: id, secrets }));
}

const environments = new WeakMap<Setting, Map<string, StageEnvironment>>();

/** The engine's environment for nodes that get the secrets in `pass`, and for programs with `keys`; computed once per run. */
export function environmentOf(
  setting: Setting,
  pass: readonly string[],
  keys: readonly string[] = [],
): StageEnvironment {
  const known = environments.get(setting) ?? new Map<string, StageEnvironment>();
  environments.set(setting, known);
  const key = JSON.stringify([pass, keys]);
  let found = known.get(key);
  if (found === undefined) {
    const named = namedBy(setting);
    const { env, withheld, secrets, mask: values } = given(setting.env, { pass, keys, named });
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
  },
  {
    node,
    visit,
    attempt,
    snapshotId,
    desk,
  }: {
    readonly node: Node;
    readonly visit: number;
    readonly attempt: number;
    readonly snapshotId: string;
    readonly desk: Pick<Desk, 'words'>;
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
    [epochVariable(run.processMarker)]: String(run.epoch),
    FACTORY_NODE: node.id,
    FACTORY_VISIT: String(visit),
    FACTORY_ATTEMPT: String(attempt),
    FACTORY_WORKSPACE: run.workspace,
    FACTORY_NODE_DIR: nodeDir,
    FACTORY_OUTPUT: at.output,
    FACTORY_CONTEXT: at.context,
    ...desk.words(nodeDir),
    ...(access ? { FACTORY_RUN_DIR: run.runDir, FACTORY_SNAPSHOT: snapshotId } : {}),
  };
}

/** The environment adapted to the sandbox. */
export const seenBy = (
  confinement: Confinement,
  env: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> =>
  confinement.rung === 'bwrap' ? confinedEnvironment(env, confinement) : env;
