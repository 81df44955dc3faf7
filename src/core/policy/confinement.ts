/** What a node may read, write and reach, and its resource limits: decided here, each decision with its reason. */
import { basename, dirname, join, normalize } from 'node:path';
import type { AgentPlace } from '../contracts/agent.ts';
import {
  type Bind,
  type Confinement,
  type Limits,
  type SandboxLevel,
  systemFolders,
} from '../contracts/sandbox.ts';

export type SandboxWord = 'auto' | 'bwrap' | 'none';
export const sandboxWords: readonly SandboxWord[] = ['auto', 'bwrap', 'none'];

/** The effective `sandbox` value, and where it was set. */
export type SandboxRequest = { readonly word: SandboxWord; readonly by: string };

/** The node's value, else the graph's, else `--sandbox`, else FACTORY_SANDBOX, else `auto`. */
export function sandboxRequest(given: {
  readonly node?: SandboxWord | undefined;
  readonly graph?: SandboxWord | undefined;
  readonly flag?: SandboxWord | undefined;
  readonly environment?: SandboxWord | undefined;
}): SandboxRequest {
  if (given.node !== undefined) return { word: given.node, by: 'the node' };
  if (given.graph !== undefined) return { word: given.graph, by: 'the pipeline' };
  if (given.flag !== undefined) return { word: given.flag, by: '--sandbox' };
  if (given.environment !== undefined) return { word: given.environment, by: 'FACTORY_SANDBOX' };
  return { word: 'auto', by: 'the default' };
}

/** What the machine supports, as far as it matters here. */
export type SandboxAbility = {
  /** Undefined where bubblewrap works; else why it does not. */
  readonly noBwrap: string | undefined;
  /** Whether bubblewrap, or else `unshare`, can remove the network; and whether there is a loopback then. */
  readonly noNetwork: boolean;
  readonly loopback: boolean;
  /** Whether limits on memory and processes can be set for any program, and on processes at all. */
  readonly prlimit: boolean;
  /** This process runs as root, and no control group can limit root's processes. */
  readonly root: boolean;
};

/** The rung that implements a `sandbox` value, for a node with or without network. */
export function sandboxLevelFor(word: SandboxWord, able: SandboxAbility, network: boolean): SandboxLevel {
  if (word === 'none') return 'group';
  if (able.noBwrap === undefined) return 'bwrap';
  return !network && able.noNetwork ? 'unshare' : 'group';
}

/** What is enforced and what is not, as text for people and records. */
export function sandboxAccount(
  asked: SandboxRequest,
  able: SandboxAbility,
): {
  readonly asked: SandboxWord;
  readonly by: string;
  readonly used: SandboxLevel;
  readonly why: string;
  readonly enforces: string[];
  readonly missing: string[];
} {
  const used = sandboxLevelFor(asked.word, able, false);
  const enforces = ['time: the whole process group is ended', 'file size (max_file_size)'];
  const missing: string[] = [];
  (able.root ? missing : enforces).push(
    able.root
      ? 'processes: max_processes does not hold for root where no control group can be made'
      : 'processes (max_processes)',
  );
  enforces.push('memory (max_memory, where it is set)');
  if (used === 'bwrap') {
    enforces.unshift(
      'files: the system is read-only; of the run a node sees only its workspace and its node directory, nothing of the workdir and the home',
      'processes: a node sees only its own, and all of them end with it',
    );
  } else {
    missing.unshift(
      'files: nodes see the whole machine; changes outside allowed_write_paths are reverted, in the workspace only',
    );
  }
  if (used === 'group' || (used === 'bwrap' && !able.noNetwork))
    missing.push('network: network=off has no effect');
  else {
    enforces.push('network (network=off, the default of verification)');
    if (!able.loopback) missing.push('network: a node with network=off has no loopback either');
  }
  return { asked: asked.word, by: asked.by, used, why: whyUsed(asked, used, able), enforces, missing };
}

function whyUsed({ word, by }: SandboxRequest, used: SandboxLevel, { noBwrap }: SandboxAbility): string {
  const setting = `sandbox=${word} (${by})`;
  if (word === 'none') return setting;
  return used === 'bwrap'
    ? `${setting}: bubblewrap works`
    : `${setting}: ${noBwrap ?? 'bubblewrap cannot be used'}`;
}

/** Where things are. Absolute; `workdir` is empty when the run started with an empty tree. */
export type Places = {
  readonly runDir: string;
  readonly workspace: string;
  readonly nodeDir: string;
  readonly history: string;
  readonly scratch: string;
  readonly workdir: string;
  readonly home: string | undefined;
  /** Folders with keys of sealed stores and with holdout files. */
  readonly judge: readonly string[];
  /** Homes of agent programs, which hold sessions of other nodes. */
  readonly agentHomes: readonly string[];
  /** Folders of the node's PATH. */
  readonly path: readonly string[];
  /** The folders of this program. */
  readonly own: readonly string[];
  /** The Node executable that runs this program. */
  readonly node: string;
  /** Folders of toolchains that the environment names. */
  readonly toolchains: readonly string[];
  /** Files and folders of certificates that the environment names. */
  readonly certificates: readonly string[];
};

/** What a node's author and program request. */
export type ConfinementRequest = {
  readonly verification: boolean;
  /** Whether the node sees the run's history of commits. */
  readonly history: boolean;
  /** The node's setting for the run directory. */
  readonly access: 'run' | 'run:ro' | undefined;
  /** Whether it only reads the workspace. */
  readonly readOnly?: boolean;
  /** Whether it runs scenarios, which get nested sandboxes. */
  readonly scenarios?: boolean;
  /** The setting of the node or the graph. */
  readonly network: boolean | undefined;
  readonly limits: Limits;
  readonly bind: readonly string[];
  /** What an agent's program declares. */
  readonly program?:
    | {
        readonly network: boolean;
        readonly home: readonly AgentPlace[];
        readonly file: string | undefined;
      }
    | undefined;
};

/** Default limits on file size and processes of a node: far above normal use. */
export const defaultLimits: Limits = { fileSize: 8 * 1024 ** 3, processes: 8192 };

/** Whether a node has network access: its author's setting, else what its program declares, else yes except for
 *  verification. */
export const networkOf = ({ network, program, verification }: ConfinementRequest): boolean =>
  network ?? program?.network ?? !verification;

/** The complete confinement of a node on one rung. Pure. */
export function confine(rung: SandboxLevel, places: Places, request: ConfinementRequest): Confinement {
  const { home, runDir, workspace, nodeDir } = places;
  const runs = dirname(runDir);
  const reads = (paths: readonly string[]): Bind[] => paths.map((path) => ({ path, write: false }));
  const program = request.program?.file;
  const tools = [...places.path, dirname(places.node)].filter(
    (path) => !isWithin(path, runs) && !inWorkdir(path, places),
  );
  const binds: Bind[] = [
    ...reads([...new Set(tools.flatMap((path) => toolchain(path, home)))]),
    ...reads(places.certificates),
    ...reads(places.toolchains.filter((path) => !isWithin(path, runs) && !inWorkdir(path, places))),
    ...(program === undefined ? [] : reads(programFiles(program))),
    ...(request.program?.home ?? []).map((place, n) =>
      bindOfPlace(place, join(places.scratch, 'agent', `${n}`)),
    ),
    ...request.bind.map((word) => bindOf(word, home)),
  ];
  // Only where a mount shows the folders around it: a mask creates the folder that it covers.
  const shown = places.judge.filter((place) =>
    [...systemFolders, ...binds.map(({ path }) => path), ...places.own].some((path) => isWithin(place, path)),
  );
  return {
    rung,
    network: networkOf(request),
    limits: {
      ...defaultLimits,
      ...defined(request.limits),
      ...(request.limits?.processes === undefined ? {} : { processesConfigured: true }),
    },
    home: homeOf(home),
    scratch: places.scratch,
    binds,
    // Hidden wherever they lie, and whatever shows the folders around them.
    masks: [
      ...new Set([
        runs,
        ...(places.workdir === '' ? [] : [places.workdir]),
        ...shown,
        ...otherHomes(places, request),
      ]),
    ],
    inside: [
      ...reads(places.own),
      ...(request.access === 'run'
        ? [{ path: runDir, write: true }]
        : [
            ...(request.access === 'run:ro'
              ? reads([runDir])
              : request.history
                ? reads([places.history])
                : []),
            { path: nodeDir, write: true },
            ...reads([join(nodeDir, 'visits')]),
          ]),
      // The node's folder may lie in the workdir; nothing else of the runs is shown. A program that the project has installed loads
      // its packages, and is started by a link in `node_modules/.bin`.
      ...(program === undefined || isWithin(program, runs)
        ? []
        : reads(
            places.workdir !== '' && isWithin(program, places.workdir) ? programFiles(program) : [program],
          )),
      { path: workspace, write: request.readOnly !== true },
    ],
    covers: [],
    pinned: [],
    // The product must not see the run that its build belongs to.
    ...(request.access === undefined ? {} : { parts: true }),
    ...(request.scenarios === true ? { nested: true } : {}),
  };
}

/** Homes of agent programs that a system folder shows, unless the node's program has a private folder there, or its author binds it. */
function otherHomes({ agentHomes, home }: Places, { program, bind }: ConfinementRequest): readonly string[] {
  const covered = [
    homeOf(home),
    ...(program?.home ?? []).map(({ path, empty }) => (empty === true ? path : undefined)),
    ...bind.map((word) => bindOf(word, home).path),
  ];
  return agentHomes.filter(
    (place) =>
      systemFolders.some((path) => isWithin(place, path)) &&
      !covered.some((path) => path !== undefined && isWithin(place, path)),
  );
}

const bindOfPlace = ({ path, write, empty, text, from }: AgentPlace, own: string): Bind => ({
  path,
  write,
  ...(from === undefined ? {} : { from }),
  ...(empty === undefined && text === undefined ? {} : { from: own }),
  ...(text === undefined ? {} : { text }),
});

/** The home, where it can be covered with a private one. */
export const homeOf = (home: string | undefined): string | undefined =>
  home === undefined || systemFolders.some((path) => isWithin(path, home)) || homeOfNobody.test(home)
    ? undefined
    : home;

/** Homes of system users (`/dev/null`, `/usr/sbin`): they are no homes to cover with a private one. `/usr/home/ada`
 *  is one. */
const homeOfNobody = /^\/(?:bin|dev|proc|sbin|sys)(?:\/|$)|^\/usr\/[^/]+$/;

const defined = (limits: Limits): Limits =>
  Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));

const isWithin = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);

/** A home that lies in the workdir, or is the workdir, keeps its toolchains. */
const inWorkdir = (path: string, { workdir, home }: Places): boolean =>
  workdir !== '' && isWithin(path, workdir) && (home === undefined || !isWithin(home, workdir));

/** A bind as its author wrote it; lint has checked it. */
export function bindOf(word: string, home: string | undefined): Bind {
  const path = word.replace(/:(?:rw|ro)$/, '');
  return {
    path: normalize(path.replace(/^~(?=\/|$)/, home ?? '~')).replace(/(?<=.)\/+$/, ''),
    write: word.endsWith(':rw'),
  };
}

/** A folder with holdout data. */
export type JudgePlace = { readonly what: string; readonly place: string };

/** Why a bind is refused: it would show what no node may see. `real` are the paths with links resolved. */
export function bindProblem(
  bind: Bind,
  real: {
    readonly bind: string | undefined;
    readonly runsDir: string;
    readonly workdir: string;
    readonly judge?: readonly JudgePlace[];
  },
): string | undefined {
  if (bind.path.startsWith('~')) return `"${bind.path}" is below the home directory, but HOME is not set`;
  if (real.bind === undefined) return `there is no ${bind.path}`;
  if (['/proc', '/dev', '/sys'].some((path) => isWithin(real.bind ?? '', path)))
    return `"${bind.path}" belongs to the system; each node gets its own`;
  const exposed = (what: string, place: string) =>
    place !== '' && real.bind !== undefined && (isWithin(place, real.bind) || isWithin(real.bind, place))
      ? `"${bind.path}" would show ${what} ${place}, which no node may see`
      : undefined;
  const judge = (real.judge ?? []).map(({ what, place }) => exposed(what, place));
  return (
    exposed('the folder of runs', real.runsDir) ??
    exposed('the workdir', real.workdir) ??
    judge.find((problem) => problem !== undefined)
  );
}

/** Folders in a home that hold programs and no secrets. */
const wholeToolchains: readonly string[] = words(
  '.pyenv .rbenv .nodenv .asdf .volta .sdkman .jenv .goenv .nvm .rustup .juliaup .ghcup .linuxbrew',
);
const besidesBin: readonly string[] = words(
  'lib lib32 lib64 libexec share include Cellar opt conda-meta pyvenv.cfg',
);

function words(text: string): readonly string[] {
  return text.split(' ');
}

/** What a folder of PATH needs to work: itself and the folders next to it that its programs use, but no more of a
 *  home, which may hold credentials. */
export function toolchain(entry: string, home: string | undefined): readonly string[] {
  if (systemFolders.some((path) => isWithin(entry, path))) return [];
  const parent = dirname(entry);
  if (home !== undefined && isWithin(entry, home)) {
    if (entry === home) return [];
    const [first = ''] = entry.slice(home.length + 1).split('/');
    if (wholeToolchains.includes(first)) return [join(home, first)];
    if (first === '.cargo') return [entry, join(home, '.rustup')];
    if (parent === home) return [entry];
    if (entry === join(home, '.local', 'bin')) {
      const local = join(home, '.local');
      return [entry, join(local, 'lib'), ...['pipx', 'uv', 'mise'].map((name) => join(local, 'share', name))];
    }
  }
  // They only lead to the versions next to them.
  if (basename(entry) === 'shims' && parent !== '/' && parent !== home) return [parent];
  if (parent === '/' || !/^s?bin$/.test(basename(entry))) return entry === '/' ? [] : [entry];
  return [entry, ...besidesBin.map((name) => join(parent, name))];
}

/** Variables that name a folder of toolchains which may lie anywhere, and which holds no secrets. */
const toolchainVariables = words(
  'PYENV_ROOT RBENV_ROOT NODENV_ROOT GOENV_ROOT JENV_ROOT ASDF_DIR ASDF_DATA_DIR VOLTA_HOME NVM_DIR RUSTUP_HOME SDKMAN_DIR ' +
    'UV_PYTHON_INSTALL_DIR MISE_DATA_DIR VIRTUAL_ENV CONDA_PREFIX PYTHONHOME JAVA_HOME GOROOT DOTNET_ROOT',
);

/** None that would show a home. */
export const toolchainsIn = (env: Readonly<Record<string, string | undefined>>): readonly string[] =>
  toolchainVariables.flatMap((name) => {
    const root = env[name] === undefined ? '' : normalize(env[name]).replace(/(?<=.)\/+$/, '');
    const shown = !root.startsWith('/') || root === '/' || isWithin(env['HOME'] ?? '', root);
    return shown || systemFolders.some((path) => isWithin(root, path)) ? [] : [root];
  });

/** An agent's program, and the packages that it consists of. */
function programFiles(file: string): readonly string[] {
  const at = file.indexOf('/node_modules/');
  return at < 0 ? [file] : [file.slice(0, at + '/node_modules'.length)];
}

/** Variables for places that a confined node does not see; without them the default places below HOME apply. */
const outsideVariables =
  /^(?:XDG_(?:CACHE|CONFIG|DATA|STATE)_HOME|XDG_RUNTIME_DIR|npm_config_(?:cache|userconfig|prefix)|NPM_CONFIG_(?:CACHE|USERCONFIG|PREFIX)|PIP_CACHE_DIR|UV_CACHE_DIR|GOCACHE|GOMODCACHE|GOPATH|YARN_CACHE_FOLDER|CARGO_HOME|SSH_AUTH_SOCK|DBUS_SESSION_BUS_ADDRESS|GPG_AGENT_INFO|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY)$/;

/** A confined node's environment: variables for hidden places point to private ones instead. */
export function confinedEnvironment(
  env: Readonly<Record<string, string>>,
  { home, binds }: Pick<Confinement, 'home' | 'binds'>,
): Record<string, string> {
  const seen: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    const shown = binds.some(({ path }) => isWithin(value, path));
    if (!outsideVariables.test(name) || shown) seen[name] = value;
  }
  for (const name of ['TMPDIR', 'TMP', 'TEMP']) if (seen[name] !== undefined) seen[name] = '/tmp';
  if (home === undefined && seen['HOME'] !== undefined) seen['HOME'] = '/tmp';
  return seen;
}

/** Variables that name certificates, which a node needs for TLS connections. */
const certificateVariables = words(
  'NODE_EXTRA_CA_CERTS SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE GIT_SSL_CAINFO PIP_CERT NIX_SSL_CERT_FILE AWS_CA_BUNDLE',
);

export const certificatesIn = (env: Readonly<Record<string, string | undefined>>): readonly string[] => [
  ...new Set(
    certificateVariables.flatMap((name) => (env[name]?.startsWith('/') === true ? [env[name] ?? ''] : [])),
  ),
];

/** Environment of commands that check a product: Python writes no caches, which would count as changes of the workspace. */
export function commandEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const options = [env['PYTEST_ADDOPTS'] ?? '', '-p no:cacheprovider'].filter((word) => word !== '');
  return { PYTHONDONTWRITEBYTECODE: '1', PYTEST_ADDOPTS: options.join(' ') };
}
