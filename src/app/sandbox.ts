/** The sandbox of a run on this machine; refused if the run requires one that does not work. */
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { agentHomesIn } from '../agents/index.ts';
import type { Environment } from '../core/contracts/process.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { allNodes, type Graph, graphWith, isExecutableType, type Node } from '../core/graph.ts';
import { asksPeople } from '../core/human-gate.ts';
import {
  bindOf,
  bindProblem,
  type JudgePlace,
  type SandboxAbility,
  type SandboxRequest,
  type SandboxWord,
  sandboxAccount,
  sandboxLevelFor,
  sandboxWords,
} from '../core/policy/confinement.ts';
import { holdoutPaths } from '../core/policy/holdout-paths.ts';
import type { Manifest } from '../core/records/manifest.ts';
import type { Attribute } from '../core/settings/types.ts';
import { type RunConfinement, sandboxRequestOf } from '../engine/confinement.ts';
import { homeProblem, keysFolder } from '../holdout/vault.ts';
import { packageRoot } from '../platform/package.ts';
import {
  lowestSandboxLevel,
  nests,
  type SandboxCapabilities,
  sandboxCapabilities,
} from '../platform/sandbox/capabilities.ts';
import { realOf, realOrSame } from '../workspace/roots.ts';

export type Sandbox = {
  readonly ladder: SandboxCapabilities;
  readonly confinement: RunConfinement;
  readonly account: ReturnType<typeof sandboxAccount>;
};

/** The sandbox of a run with this manifest; without a flag, the run keeps the one that a flag set. */
export const sandboxOfRun = (
  graph: Graph,
  run: {
    readonly original_workdir: string;
    readonly holdout?: { readonly from: string } | undefined;
    readonly sandbox?: Manifest['sandbox'];
  },
  runsDir: string,
  flag: SandboxWord | undefined,
  host: Parameters<typeof sandboxOf>[3],
): Promise<Sandbox | Refusal> =>
  sandboxOf(
    graph,
    { runsDir, workdir: run.original_workdir, holdoutFrom: run.holdout?.from },
    flag ?? (run.sandbox?.by === '--sandbox' ? run.sandbox.asked : undefined),
    host,
  );

/** The sandbox for the nodes of `graph`. Paths are absolute; `workdir` is empty if there is none. */
export async function sandboxOf(
  graph: Graph,
  where: {
    readonly runsDir: string;
    readonly workdir: string;
    /** As in the manifest: `workdir`, or a folder. */
    readonly holdoutFrom?: string | undefined;
  },
  flag: SandboxWord | undefined,
  host: { readonly env: Environment },
): Promise<Sandbox | Refusal> {
  const { env } = host;
  const homeless = homeProblem(env);
  if (homeless !== undefined) return { problems: [homeless] };
  const variable = env['FACTORY_SANDBOX']?.trim() ?? '';
  const environment = sandboxWords.find((word) => word === variable);
  if (variable !== '' && environment === undefined)
    return refused(
      'sandbox',
      `FACTORY_SANDBOX is "${variable}", which is not one of ${sandboxWords.join(', ')}`,
    );
  const settings = { flag, environment };
  const stages = [...allNodes(graph).values()].filter(({ type }) => isExecutableType(type));
  const asked = [undefined, ...stages].map((node) => ({
    node,
    asked: sandboxRequestOf(graph, node, settings),
  }));
  const ladder = asked.some(({ asked: { word } }) => word !== 'none')
    ? await sandboxCapabilities(env)
    : await lowestSandboxLevel(env);
  const { bwrap } = ladder;
  for (const { node, asked: by } of 'missing' in bwrap ? asked : [])
    if (by.word === 'bwrap' && 'missing' in bwrap) return notHere(node, by, bwrap.missing);
  // A temporary lack of processes must not disable the sandbox for the whole run.
  if ('missing' in bwrap && bwrap.noRoom === true)
    return refused(
      'sandbox',
      `this machine cannot start more programs: ${bwrap.missing}`,
      'try again when less is running, or raise the limits on processes and open files (ulimit -u, ulimit -n); sandbox=none needs no bubblewrap',
    );
  const judge = judgePlaces(graph, where, env);
  const bad = await badBind(graph, stages, { ...where, judge }, env['HOME']);
  if (bad !== undefined) return bad;
  const able = ableBy(ladder);
  const root = packageRoot();
  return {
    ladder,
    confinement: {
      able,
      ...settings,
      workdir: where.workdir,
      judge: judge.map(({ place }) => place),
      agentHomes: agentHomesIn(env),
      own: ['dist', 'package.json', 'pipelines', 'prompts', 'examples'].map((name) => join(root, name)),
      nests: () => nests(ladder, env),
    },
    account: withAnswers(
      sandboxAccount(sandboxRequestOf(graph, undefined, settings), able),
      asksPeople(graph) &&
        asked.some(({ node, asked: { word } }) => node && sandboxLevelFor(word, able, false) !== 'bwrap'),
    ),
  };
}

/** `open`: a node of a graph with human gates is not in bubblewrap, where it could write the file of an answer. */
const withAnswers = (account: Sandbox['account'], open: boolean): Sandbox['account'] =>
  open
    ? {
        ...account,
        missing: [...account.missing, 'answers: nodes could answer the questions of human gates'],
      }
    : account;

export const ableBy = ({ bwrap, unshare, prlimit, root, crowds }: SandboxCapabilities): SandboxAbility => ({
  noBwrap: 'missing' in bwrap ? bwrap.missing : undefined,
  noNetwork: 'missing' in bwrap ? unshare !== undefined : bwrap.network,
  loopback: 'missing' in bwrap ? unshare?.loopback === true : true,
  prlimit: prlimit !== undefined,
  root: root && crowds === undefined,
});

function notHere(node: Node | undefined, { by }: SandboxRequest, missing: string): Refusal {
  const whose = node === undefined ? '' : ` for node "${node.id}"`;
  return refused(
    'sandbox',
    `sandbox=bwrap (set by ${by})${whose}, but ${missing}`,
    'install bubblewrap, or allow user namespaces, which it needs; or set sandbox=auto to run without it',
  );
}

/** The folders of keys and holdout files, by their names and their real paths. Those in the workdir count too: factory itself,
 *  which nodes may read, may be installed there. */
function judgePlaces(
  graph: Graph,
  { workdir, holdoutFrom: from }: { readonly workdir: string; readonly holdoutFrom?: string | undefined },
  env: Environment,
): readonly JudgePlace[] {
  const keys = keysFolder(env);
  const read = holdoutPaths(graph.settings.holdout);
  const sealed = workdir === '' || 'problem' in read ? [] : read.paths;
  const named: JudgePlace[] = [
    ...(keys === undefined ? [] : [{ what: 'the keys of sealed scenarios', place: keys }]),
    ...(from === undefined || from === 'workdir' ? [] : [{ what: 'the sealed scenarios', place: from }]),
    ...sealed.map((path) => ({ what: 'the sealed scenarios', place: join(workdir, path) })),
  ];
  const reals = named.map((one) => ({ ...one, place: realOf(one.place) }));
  const all = [...named, ...reals];
  return all.filter(({ place }, n) => all.findIndex((other) => other.place === place) === n);
}

/** The first `sandbox_bind` that would show files that no node may see, or that does not exist. */
async function badBind(
  graph: Graph,
  stages: readonly Node[],
  where: { readonly runsDir: string; readonly workdir: string; readonly judge: readonly JudgePlace[] },
  home: string | undefined,
): Promise<Refusal | undefined> {
  const given = [graph, ...stages].flatMap((one) => {
    const { sandbox_bind: words = [] } = one.settings;
    const attribute = one.attrs.get('sandbox_bind');
    const { file } = 'id' in one ? graphWith(graph, one.id) : one;
    return attribute === undefined ? [] : [{ words, attribute, file }];
  });
  const places = { runsDir: real(where.runsDir), workdir: real(where.workdir) };
  for (const { words, attribute, file } of given) {
    for (const word of words) {
      const bind = bindOf(word, home);
      const at = ifReal(bind.path);
      const problem = bindProblem(bind, {
        bind: at,
        runsDir: places.runsDir,
        workdir: places.workdir,
        judge: where.judge,
      });
      if (problem !== undefined) return { problems: [wrong({ file }, attribute, problem)] };
    }
  }
  return undefined;
}

const wrong = ({ file }: Pick<Graph, 'file'>, attribute: Attribute | undefined, problem: string) => ({
  code: 'sandbox-bind',
  severity: 'error' as const,
  message: `sandbox_bind: ${problem}`,
  ...(attribute === undefined ? {} : { place: { file, span: attribute.valueSpan } }),
  fix: 'name exactly the path that the node needs; use files in the workspace, or set access="run" for the run directory',
});

const real = (path: string): string => (path === '' ? '' : realOrSame(path));

function ifReal(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}
