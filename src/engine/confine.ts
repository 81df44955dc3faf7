/** How each stage of a run is confined: what its node says, held against what the run and the machine can. */
import { delimiter, isAbsolute, join } from 'node:path';
import { graphAttributes } from '../lint/words.ts';
import { readAttributes } from '../model/attribute.ts';
import type { Graph, Node } from '../model/graph.ts';
import { layout } from '../model/layout.ts';
import { executableAttributes } from '../nodes/kind.ts';
import {
  type Able,
  type Asked,
  askedFor,
  certificatesIn,
  confine,
  networkOf,
  rungFor,
  type SandboxWord,
  type Wanted,
} from '../policy/confinement.ts';
import type { Confinement, Rung } from '../system/sandbox/confinement.ts';

/** What is the same for all stages of a run. */
export type RunConfinement = {
  readonly able: Able;
  readonly flag: SandboxWord | undefined;
  readonly environment: SandboxWord | undefined;
  /** The folder that the run was begun from; empty when there is none. */
  readonly workdir: string;
  /** Where keys of sealed stores and the files of a judge lie. */
  readonly judge?: readonly string[];
  /** What our own program consists of. */
  readonly own: readonly string[];
  /** Whether a sandbox of somebody's own works inside ours. */
  readonly nests: () => Promise<boolean>;
};

type Setting = {
  readonly graph: Graph;
  readonly runDir: string;
  readonly workspace: string;
  readonly node: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly confinement?: RunConfinement;
};

/** A run that nobody confines. */
const unconfined: RunConfinement = {
  able: { noBwrap: 'nobody asked', noNetwork: false, loopback: false, prlimit: false, root: false },
  flag: 'none',
  environment: undefined,
  workdir: '',
  own: [],
  nests: async () => true,
};

/** The word that counts for a node, or without one for the run. */
export function askedOf(
  graph: Graph,
  node: Node | undefined,
  { flag, environment }: Pick<RunConfinement, 'flag' | 'environment'>,
): Asked {
  const said =
    node === undefined ? undefined : readAttributes(node.attrs, executableAttributes).values.sandbox;
  return askedFor({
    node: said,
    graph: readAttributes(graph.attrs, graphAttributes).values.sandbox,
    flag,
    environment,
  });
}

/** The rung that a node's stages stand on, where they do without network. */
export const rungOf = (
  { graph, confinement = unconfined }: Pick<Setting, 'graph' | 'confinement'>,
  node: Node,
): Rung => rungFor(askedOf(graph, node, confinement).word, confinement.able, false);

/** How one program of a node's stage is confined. `program` is what an agent's program declares. */
export function confinementOf(
  setting: Setting,
  node: Node,
  stage: {
    readonly check: boolean;
    readonly history: boolean;
    readonly program?: NonNullable<Wanted['program']>;
    /** Where its artifacts go; default the node's own folder. */
    readonly nodeDir?: string;
    /** Of programs of the stage that have ended: what they printed, which stays. */
    readonly printed?: readonly string[];
    /** Folders that cannot be renamed. */
    readonly pinned?: readonly string[];
  },
): Confinement {
  const { graph, runDir, workspace, env, confinement = unconfined } = setting;
  const { word } = askedOf(graph, node, confinement);
  const own = readAttributes(node.attrs, executableAttributes).values;
  const all = readAttributes(graph.attrs, graphAttributes).values;
  const network = own.network ?? all.network;
  const wanted: Wanted = {
    verification: stage.check,
    history: stage.history,
    access: own.access,
    network: network === undefined ? undefined : network === 'on',
    limits: {
      memory: own.max_memory ?? all.max_memory,
      processes: own.max_processes ?? all.max_processes,
      fileSize: own.max_file_size ?? all.max_file_size,
    },
    bind: [...(all.sandbox_bind ?? []), ...(own.sandbox_bind ?? [])],
    program: stage.program,
  };
  const home = env['HOME'];
  const at = layout(runDir);
  const confined = confine(
    rungFor(word, confinement.able, networkOf(wanted)),
    {
      runDir,
      workspace,
      nodeDir: stage.nodeDir ?? at.node(node.id),
      history: at.history,
      scratch: join(at.scratch, node.id),
      workdir: confinement.workdir,
      home: home !== undefined && isAbsolute(home) ? home.replace(/(?<=.)\/+$/, '') : undefined,
      judge: confinement.judge ?? [],
      path: (env['PATH'] ?? '').split(delimiter).filter(isAbsolute),
      own: confinement.own,
      node: setting.node,
      certificates: certificatesIn(env),
    },
    wanted,
  );
  const printed = (stage.printed ?? []).map((path) => ({ path, write: false }));
  return { ...confined, inside: [...confined.inside, ...printed], pinned: stage.pinned ?? [] };
}
