/** The sandbox settings of each node: its attributes, limited by what the run and the machine support. */
import { delimiter, isAbsolute, join } from 'node:path';
import type { Graph, Node } from '../model/graph.ts';
import { layout } from '../model/layout.ts';
import { sourceOf } from '../model/settings/typing.ts';
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
import { runsScenarios } from '../policy/scenarios.ts';
import type { Confinement, Rung } from '../system/sandbox/confinement.ts';

/** Sandbox settings that are the same for all nodes of a run. */
export type RunConfinement = {
  readonly able: Able;
  readonly flag: SandboxWord | undefined;
  readonly environment: SandboxWord | undefined;
  /** The run's source workdir; empty when there is none. */
  readonly workdir: string;
  /** Folders with keys of sealed stores and with holdout files. */
  readonly judge?: readonly string[];
  /** The files of factory itself. */
  readonly own: readonly string[];
  /** Whether a node's program can start its own sandbox inside ours. */
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

const unconfined: RunConfinement = {
  able: { noBwrap: 'not requested', noNetwork: false, loopback: false, prlimit: false, root: false },
  flag: 'none',
  environment: undefined,
  workdir: '',
  own: [],
  nests: async () => true,
};

/** The `sandbox` setting of a node, or without one of the run. */
export function askedOf(
  graph: Graph,
  node: Node | undefined,
  { flag, environment }: Pick<RunConfinement, 'flag' | 'environment'>,
): Asked {
  return askedFor({
    node:
      node === undefined || sourceOf(node.settings, 'sandbox') !== 'node' ? undefined : node.settings.sandbox,
    graph: graph.settings.sandbox,
    flag,
    environment,
  });
}

/** The sandbox level of a node that needs no network. */
export const rungOf = (
  { graph, confinement = unconfined }: Pick<Setting, 'graph' | 'confinement'>,
  node: Node,
): Rung => rungFor(askedOf(graph, node, confinement).word, confinement.able, false);

/** The sandbox settings of one program of a node. `program` is what an agent program declares. */
export function confinementOf(
  setting: Setting,
  node: Node,
  stage: {
    readonly check: boolean;
    readonly history: boolean;
    readonly program?: NonNullable<Wanted['program']>;
    /** The directory for its artifacts; default the node's. */
    readonly nodeDir?: string;
    /** Output files of the node's earlier programs; they are read-only. */
    readonly printed?: readonly string[];
    /** Folders that cannot be renamed. */
    readonly pinned?: readonly string[];
  },
): Confinement {
  const { graph, runDir, workspace, env, confinement = unconfined } = setting;
  const { word } = askedOf(graph, node, confinement);
  const own = node.settings;
  const { network } = own;
  const wanted: Wanted = {
    verification: stage.check,
    history: stage.history,
    access: own.access,
    scenarios: runsScenarios(node.settings.tool_command ?? ''),
    network: network === undefined ? undefined : network === 'on',
    limits: {
      memory: own.max_memory,
      processes: own.max_processes,
      fileSize: own.max_file_size,
    },
    bind: own.sandbox_bind ?? [],
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

/** Variables by which a tool that runs scenarios learns of the node's sandbox settings. */
export function scenarioVariables(
  graph: Graph,
  node: Node,
  confinement: RunConfinement = unconfined,
): Record<string, string> {
  if (!runsScenarios(node.settings.tool_command ?? '')) return {};
  const { isolation, sandbox_bind: bind = [] } = node.settings;
  return {
    ...(isolation === undefined ? {} : { FACTORY_ISOLATION: isolation }),
    ...(bind.length === 0 ? {} : { FACTORY_SANDBOX_BIND: bind.join(',') }),
    ...(askedOf(graph, node, confinement).word === 'none' ? { FACTORY_SANDBOX: 'none' } : {}),
  };
}
