/** What of the engine's environment a stage gets, what of it must be masked, and what a stage is told of itself. */
import { delimiter } from 'node:path';
import { present } from '../model/attribute.ts';
import { epochVariable } from '../model/epoch-variable.ts';
import type { Node } from '../model/graph.ts';
import { nodeLayout } from '../model/layout.ts';
import { confinedEnvironment } from '../policy/confinement.ts';
import { stageEnvironment } from '../policy/secrets.ts';
import { masker } from '../system/mask.ts';
import type { Confinement } from '../system/sandbox/confinement.ts';
import type { Desk } from './desk.ts';

/** Variables of an enclosing git operation or engine, which a stage must not act on, and the place of the engine's keys. */
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
  /** What must not appear in what is written. */
  readonly values: readonly string[];
  readonly mask: (text: string) => string;
};
/** What a run says of it; the same object for all its stages. */
type Setting = { readonly env: Readonly<Record<string, string | undefined>>; readonly sealed?: unknown };

/** Names that no stage of a run gets: where something is sealed, nothing says where its key lies. */
export const droppedFrom = ({ sealed }: Setting): readonly string[] =>
  sealed === undefined ? dropped : [...dropped, 'XDG_STATE_HOME'];

const environments = new WeakMap<Setting, Map<string, StageEnvironment>>();

/** What stages get of the engine's environment when these secrets are passed; worked out once for a run. */
export function environmentOf(setting: Setting, pass: readonly string[]): StageEnvironment {
  const known = environments.get(setting) ?? new Map<string, StageEnvironment>();
  environments.set(setting, known);
  const key = JSON.stringify(pass);
  let found = known.get(key);
  if (found === undefined) {
    const { env: given, mask: values } = stageEnvironment(setting.env, pass);
    for (const name of droppedFrom(setting)) delete given[name];
    found = { env: given, values, mask: masker(values) };
    known.set(key, found);
  }
  return found;
}

/** A stage's environment with what it is told of itself: where it works, where its output goes, which attempt it is. */
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
  const access = present(node.attrs, 'access') !== undefined;
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

/** A stage's environment, as it can be used where it runs. */
export const seenBy = (
  confinement: Confinement,
  env: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> =>
  confinement.rung === 'bwrap' ? confinedEnvironment(env, confinement) : env;
