/** The sandbox settings of each node: its attributes, limited by what the run and the machine support. */
import { existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { type Confinement, type SandboxLevel, systemFolders } from '../core/contracts/sandbox.ts';
import type { Graph, Node } from '../core/graph.ts';
import { asksPeople } from '../core/human-gate.ts';
import { asksAgents } from '../core/pipeline.ts';
import {
  type ConfinementRequest,
  certificatesIn,
  confine,
  networkOf,
  type SandboxAbility,
  type SandboxRequest,
  type SandboxWord,
  sandboxLevelFor,
  sandboxRequest,
  toolchainsIn,
} from '../core/policy/confinement.ts';
import { isAtOrBelow, runsScenarios } from '../core/policy/holdout-paths.ts';
import { layout } from '../core/records/layout.ts';
import { isReadOnly } from '../core/settings/node.ts';
import { sourceOf } from '../core/settings/typing.ts';
import { programFolders } from '../platform/sandbox/program-folders.ts';
import { placeInSandbox } from './branch-folder.ts';

/** Sandbox settings that are the same for all nodes of a run. */
export type RunConfinement = {
  readonly able: SandboxAbility;
  readonly flag: SandboxWord | undefined;
  readonly environment: SandboxWord | undefined;
  /** The run's source workdir; empty when there is none. */
  readonly workdir: string;
  /** Folders with keys of sealed stores and with holdout files. */
  readonly judge?: readonly string[];
  /** Homes of agent programs. */
  readonly agentHomes?: readonly string[];
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
export function sandboxRequestOf(
  graph: Graph,
  node: Node | undefined,
  { flag, environment }: Pick<RunConfinement, 'flag' | 'environment'>,
): SandboxRequest {
  return sandboxRequest({
    node:
      node === undefined || sourceOf(node.settings, 'sandbox') !== 'node' ? undefined : node.settings.sandbox,
    graph: graph.settings.sandbox,
    flag,
    environment,
  });
}

/** The sandbox level of a node that needs no network. */
export const sandboxLevelOf = (
  { graph, confinement = unconfined }: Pick<Setting, 'graph' | 'confinement'>,
  node: Node,
): SandboxLevel => sandboxLevelFor(sandboxRequestOf(graph, node, confinement).word, confinement.able, false);

/** The sandbox settings of one program of a node. `program` is what an agent program declares. */
export function confinementOf(
  setting: Setting,
  node: Node,
  stage: {
    readonly check: boolean;
    readonly history: boolean;
    readonly program?: NonNullable<ConfinementRequest['program']>;
    /** The directory for its artifacts; default the node's. */
    readonly nodeDir?: string;
    /** Output files of the node's earlier programs; they are read-only. */
    readonly printed?: readonly string[];
    /** Other folders of the run that it may read. */
    readonly shown?: readonly string[];
    /** Other folders of the run that it may write to. */
    readonly writable?: readonly string[];
    /** Folders that cannot be renamed. */
    readonly pinned?: readonly string[];
    /** Files and folders of the workspace that are read-only. */
    readonly frozen?: readonly string[];
  },
): Confinement {
  const { graph, runDir, workspace, env, confinement = unconfined } = setting;
  const { word } = sandboxRequestOf(graph, node, confinement);
  const own = node.settings;
  const { network } = own;
  const request: ConfinementRequest = {
    verification: stage.check,
    history: stage.history,
    access: own.access,
    readOnly: isReadOnly(own),
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
    sandboxLevelFor(word, confinement.able, networkOf(request)),
    {
      runDir,
      workspace,
      nodeDir: stage.nodeDir ?? at.node(node.id),
      history: at.history,
      scratch: scratchOfNode(runDir, node.id),
      workdir: confinement.workdir,
      home: home !== undefined && isAbsolute(home) ? home.replace(/(?<=.)\/+$/, '') : undefined,
      judge: confinement.judge ?? [],
      agentHomes: confinement.agentHomes ?? [],
      path: programFolders(env['PATH'] ?? ''),
      toolchains: toolchainsIn(env),
      own: confinement.own,
      node: setting.node,
      certificates: certificatesIn(env),
    },
    request,
  );
  // A node that may change the run must not answer its questions, nor steer its agents.
  const answers =
    own.access === 'run'
      ? [...(asksPeople(graph) ? [at.answers] : []), ...(asksAgents(graph) ? [at.notes] : [])]
      : [];
  const read = [...(stage.printed ?? []), ...(stage.shown ?? []), ...answers].map((path) => ({
    path,
    write: false,
  }));
  const written = (stage.writable ?? []).map((path) => ({ path, write: true }));
  const to = placeInSandbox(setting);
  return {
    ...confined,
    inside: [...confined.inside, ...read, ...written],
    pinned: stage.pinned ?? [],
    frozen: stage.frozen ?? [],
    ...(to === workspace ? {} : { relocated: { from: workspace, to } }),
  };
}

/** Where the private folders of a node's programs are, and what its agent needs outside their view. */
export const scratchOfNode = (runDir: string, node: string): string => join(layout(runDir).scratch, node);

/** Variables by which a tool that runs scenarios learns of the node's sandbox settings. */
export function scenarioVariables(
  graph: Graph,
  node: Node,
  confinement: RunConfinement = unconfined,
): Record<string, string> {
  if (!runsScenarios(node.settings.tool_command ?? '')) return {};
  const { isolation, floor, sandbox_bind: bind = [] } = node.settings;
  return {
    ...(isolation === undefined ? {} : { FACTORY_ISOLATION: isolation }),
    ...(floor === undefined ? {} : { FACTORY_FLOOR: floor }),
    ...(bind.length === 0 ? {} : { FACTORY_SANDBOX_BIND: bind.join(',') }),
    ...(sandboxRequestOf(graph, node, confinement).word === 'none' ? { FACTORY_SANDBOX: 'none' } : {}),
  };
}

/** Variables by which it learns that it measures the strength of the scenarios too. `history`: of the run's commits. `leftMs`: what is left of the
 *  attempt's time. */
export function strengthVariables(
  { settings }: Node,
  {
    survivors,
    history,
    leftMs,
  }: { readonly survivors: string; readonly history: string; readonly leftMs: number },
): Record<string, string> {
  const { strength, min_strength: required, strength_build: build, strength_budget: budgetMs } = settings;
  return {
    ...(strength === undefined ? {} : { FACTORY_STRENGTH: `${strength}` }),
    ...(required === undefined ? {} : { FACTORY_MIN_STRENGTH: `${required}` }),
    ...(build === undefined ? {} : { FACTORY_STRENGTH_BUILD: build }),
    FACTORY_STRENGTH_BUDGET: `${budgetMs}ms`,
    FACTORY_TIME_LEFT: `${Math.floor(leftMs)}ms`,
    FACTORY_SURVIVORS: survivors,
    FACTORY_HISTORY: history,
  };
}

/* Recognises failures caused by the sandbox or its limits, and names the setting that fixes them. */

/** A hint for the end of a failure's reason, or undefined. `output` is the tail of the program's output; `owner` has the settings
 *  that confine it. Names only paths that exist outside the sandbox. */
export function sandboxHint(
  output: string,
  confinement: Confinement,
  owner: string,
  workspace: string,
): string | undefined {
  const { rung, network, limits } = confinement;
  const set = (setting: string) => `set ${setting} on ${owner}`;
  if (/File too large|EFBIG|File size limit exceeded/.test(output))
    return `a file grew beyond ${limits.fileSize} bytes: ${set('max_file_size')}`;
  if (
    limits.memory !== undefined &&
    /MemoryError|Cannot allocate memory|ENOMEM|out of memory|bad_alloc/i.test(output)
  )
    return `it may use ${limits.memory} bytes of memory: ${set('max_memory')}`;
  if (/fork: (?:retry: )?Resource temporarily unavailable|Cannot fork|spawn \S+ EAGAIN/.test(output))
    return limits.processesConfigured === true
      ? `it may have ${limits.processes} processes: ${set('max_processes')}`
      : `it could start no more processes: its limit is ${limits.processes} (max_processes), and this machine may have a lower one (ulimit -u, pids.max of its control group)`;
  if (rung === 'group') return undefined;
  if (!network && unreachable.test(output)) return `the network is off: ${set('network=on')}`;
  if (rung !== 'bwrap') return undefined;
  const place = missing(output, confinement, workspace);
  const [runs, workdir] = confinement.masks;
  if (place !== undefined && runs !== undefined && isAtOrBelow(place, runs))
    return `of the run directory the sandbox shows only the workspace and the node's directory: ${set('access="run"')}`;
  if (place !== undefined && workdir !== undefined && isAtOrBelow(place, workdir))
    return `the sandbox does not show ${place}, which lies in the workdir: the copy of it is ${workspace}`;
  if (place !== undefined) return `the sandbox does not show ${place}: ${set(`sandbox_bind="${place}"`)}`;
  const frozen = frozenIn(output, confinement, workspace);
  if (frozen !== undefined)
    return `a check uses ${frozen}, which is read-only meanwhile: if it may change, ${set(`verification.may_change="${frozen}"`)}`;
  if (/Read-only file system|EROFS/.test(output))
    return `in the sandbox only the workspace, /tmp and a private home are writable: ${set('sandbox_bind="PATH:rw"')}, or sandbox=none`;
  return undefined;
}

/** A file of a check that the program could not change: the last one in the message, whose beginning names a script. */
function frozenIn(output: string, { frozen = [] }: Confinement, workspace: string): string | undefined {
  const line = output.split('\n').find((one) => /Read-only file system|EROFS|resource busy|EBUSY/.test(one));
  if (line === undefined) return undefined;
  const names = frozen.map((path) => path.slice(workspace.length + 1)).filter((name) => line.includes(name));
  return names.sort((a, b) => line.lastIndexOf(b) - line.lastIndexOf(a))[0];
}

const unreachable =
  /Network is unreachable|ENETUNREACH|EAI_AGAIN|ENOTFOUND|Temporary failure in name resolution|Could not resolve host|Name or service not known|getaddrinfo/i;

/** The first path that the program did not find, but that exists outside the sandbox. */
function missing(
  output: string,
  { binds, inside, relocated }: Confinement,
  workspace: string,
): string | undefined {
  for (const line of output.split('\n')) {
    if (
      !/No such file or directory|ENOENT|not found|cannot (?:open|access|stat)|can't (?:open|cd)/i.test(line)
    )
      continue;
    for (const [path = ''] of line.matchAll(/\/[^\s:'"`,;()[\]{}]+/g)) {
      const seen = [
        ...systemFolders,
        relocated?.to ?? workspace,
        '/proc',
        '/dev',
        ...[...binds, ...inside].map((bind) => bind.path),
      ];
      const hidden = !seen.some((folder) => isAtOrBelow(path, folder));
      if (hidden && existsSync(path)) return path;
    }
  }
  return undefined;
}
