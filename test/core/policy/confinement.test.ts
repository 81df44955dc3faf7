import { describe, expect, test } from 'vitest';
import {
  bindOf,
  bindProblem,
  type ConfinementRequest,
  certificatesIn,
  confine,
  confinedEnvironment,
  networkOf,
  type Places,
  type SandboxAbility,
  sandboxAccount,
  sandboxLevelFor,
  sandboxRequest,
  toolchain,
  toolchainsIn,
} from '../../../src/core/policy/confinement.ts';

const able: SandboxAbility = {
  noBwrap: undefined,
  noNetwork: true,
  loopback: true,
  prlimit: true,
  root: false,
};
const places: Places = {
  runDir: '/home/ada/p/.factory/runs/R1',
  workspace: '/home/ada/p/.factory/runs/R1/workspace',
  nodeDir: '/home/ada/p/.factory/runs/R1/work',
  history: '/home/ada/p/.factory/runs/R1/history.git',
  scratch: '/home/ada/p/.factory/runs/R1/.scratch/work',
  workdir: '/home/ada/p',
  home: '/home/ada',
  path: [
    '/usr/bin',
    '/home/ada/.nvm/versions/node/v22/bin',
    '/home/ada/p/node_modules/.bin',
    '/data/conda/bin',
  ],
  own: ['/usr/lib/factory/dist'],
  node: '/home/ada/.nvm/versions/node/v22/bin/node',
  certificates: [],
  toolchains: [],
  judge: [],
  agentHomes: [],
};
const wanted: ConfinementRequest = {
  verification: false,
  history: false,
  access: undefined,
  network: undefined,
  limits: {},
  bind: [],
};
const shown = (more: Partial<ConfinementRequest> = {}, at: Partial<Places> = {}) => {
  const { binds, inside } = confine('bwrap', { ...places, ...at }, { ...wanted, ...more });
  return [...binds, ...inside].map(({ path, write }) => (write ? `${path} rw` : path));
};

describe('the effective sandbox setting', () => {
  test.for([
    [{}, 'auto', 'the default'],
    [{ environment: 'none' }, 'none', 'FACTORY_SANDBOX'],
    [{ environment: 'none', flag: 'bwrap' }, 'bwrap', '--sandbox'],
    [{ environment: 'none', flag: 'bwrap', graph: 'auto' }, 'auto', 'the pipeline'],
    [{ environment: 'none', flag: 'bwrap', graph: 'auto', node: 'none' }, 'none', 'the node'],
  ] as const)('%j: %s', ([said, word, by]) => expect(sandboxRequest(said)).toEqual({ word, by }));
});

describe('the rung', () => {
  const without: SandboxAbility = { ...able, noBwrap: 'bwrap is not installed' };
  test.for([
    ['auto', able, true, 'bwrap'],
    ['bwrap', able, true, 'bwrap'],
    ['none', able, false, 'group'],
    ['auto', without, false, 'unshare'],
    ['auto', without, true, 'group'],
    ['auto', { ...without, noNetwork: false }, false, 'group'],
  ] as const)('of %s with %j, network %s: %s', ([word, what, network, rung]) =>
    expect(sandboxLevelFor(word, what, network)).toBe(rung),
  );

  test('lists what is not enforced as missing', () => {
    const auto = { word: 'auto', by: 'the default' } as const;
    const whole = sandboxAccount(auto, able);
    expect(whole).toMatchObject({ used: 'bwrap', missing: [] });
    const bare = sandboxAccount(auto, { ...without, noNetwork: false, root: true });
    expect(bare.used).toBe('group');
    expect(bare.why).toContain('bwrap is not installed');
    expect(bare.missing.map((text) => text.split(':')[0])).toEqual(['files', 'processes', 'network']);
    expect(sandboxAccount({ word: 'none', by: 'FACTORY_SANDBOX' }, able).missing.join()).toContain(
      'whole machine',
    );
  });
});

describe('what a node sees', () => {
  test.for(['/', '/dev/null', '/usr/sbin'])('%s is no home to cover with a private one', (home) => {
    expect(confine('bwrap', { ...places, home }, wanted).home).toBeUndefined();
  });

  test.for(['/usr/home/ada', '/usr/local/home/ada', '/etc/openvpn'])('%s is a home', (home) => {
    expect(confine('bwrap', { ...places, home }, wanted).home).toBe(home);
  });

  test('of the run only its workspace and node directory', () => {
    const run = shown().filter((path) => path.startsWith(places.runDir));
    expect(run).toEqual([`${places.nodeDir} rw`, `${places.nodeDir}/visits`, `${places.workspace} rw`]);
    expect(confine('bwrap', places, wanted).masks).toEqual(['/home/ada/p/.factory/runs', '/home/ada/p']);
    // Of the holdout folders those below a mount.
    const judge = ['/home/ada/.local/state/factory/keys', '/data/conda/bin/judge', '/usr/share/judge'];
    expect(confine('bwrap', { ...places, judge }, wanted).masks.slice(2)).toEqual(judge.slice(1));
    const bound = { ...wanted, bind: ['~/.local:rw'] };
    expect(confine('bwrap', { ...places, judge }, bound).masks.slice(2)).toEqual(judge);
  });

  test.for([
    ['one that a system folder shows', {}, ['/opt/claude', '/opt/codex']],
    [
      'of its own program there is a private folder',
      {
        program: {
          network: true,
          file: undefined,
          home: [{ path: '/opt/codex', write: true, empty: true as const }],
        },
      },
      ['/opt/claude'],
    ],
    ['a bind shows it', { bind: ['/opt/claude:rw', '/opt/codex/memories'] }, ['/opt/codex']],
  ] as const)('no home of an agent program: %s', ([, more, masked]) => {
    const agentHomes = ['/opt/claude', '/opt/codex', '/home/ada/.codex', '/srv/claude'];
    expect(confine('bwrap', { ...places, agentHomes }, { ...wanted, ...more }).masks.slice(2)).toEqual(
      masked,
    );
    // The private home covers it.
    const inHome = { ...places, agentHomes: ['/opt/ada/.codex'], home: '/opt/ada' };
    expect(confine('bwrap', inHome, wanted).masks.slice(2)).toEqual([]);
  });

  test('with access="run" the whole run; the history only where the node requests it', () => {
    expect(shown({ access: 'run' })).toContain(`${places.runDir} rw`);
    expect(shown({ history: true })).toContain(places.history);
  });

  test('with access="run:ro" the whole run, read-only', () => {
    const run = shown({ access: 'run:ro', history: true }).filter((path) => path.startsWith(places.runDir));
    expect(run).toEqual([places.runDir, ...shown().filter((path) => path.startsWith(places.runDir))]);
  });

  test('the folders of PATH outside the system and the workdir, with the folders next to them', () => {
    const seen = shown();
    expect(seen).toContain('/home/ada/.nvm');
    expect(seen).toContain('/data/conda/bin');
    expect(seen).toContain('/data/conda/lib');
    expect(seen.filter((path) => path.startsWith('/usr/bin') || path.includes('node_modules'))).toEqual([]);
  });

  test('folders of toolchains that the environment names, but no home', () => {
    const roots = toolchainsIn({
      HOME: '/home/ada',
      PYENV_ROOT: '/data/pyenv/',
      VIRTUAL_ENV: '/home/ada/venv',
      JAVA_HOME: '/usr/lib/jvm',
      NVM_DIR: '/home',
      GOROOT: '/',
      SDKMAN_DIR: 'sdk',
    });
    expect(roots).toEqual(['/data/pyenv', '/home/ada/venv']);
    expect(shown({}, { toolchains: [...roots, '/home/ada/p/.venv'] })).toEqual(
      expect.arrayContaining([...roots]),
    );
    expect(shown({}, { toolchains: ['/home/ada/p/.venv'] })).not.toContain('/home/ada/p/.venv');
  });

  test('of an agent the paths that it declares, its program and its whole package', () => {
    const file = '/opt2/lib/node_modules/@openai/codex/bin/codex.js';
    const seen = shown({
      program: { network: true, home: [{ path: '/home/ada/.codex', write: true }], file },
    });
    expect(seen).toContain('/home/ada/.codex rw');
    const declared = [
      { path: '/home/ada/.codex', write: true, empty: true } as const,
      { path: '/home/ada/.claude.json', write: true, text: '{}' },
      { path: '/home/ada/.codex/auth.json', write: true },
    ];
    const { binds, scratch } = confine('bwrap', places, {
      ...wanted,
      program: { network: true, home: declared, file },
    });
    expect(binds.filter(({ path }) => path.includes('/.c'))).toEqual([
      { path: '/home/ada/.codex', write: true, from: `${scratch}/agent/0` },
      { path: '/home/ada/.claude.json', write: true, from: `${scratch}/agent/1`, text: '{}' },
      { path: '/home/ada/.codex/auth.json', write: true },
    ]);
    expect(seen).toContain('/opt2/lib/node_modules');
    expect(seen).toContain(file);
  });

  test('of a program that the project has installed its packages, and nothing else of the workdir', () => {
    const file = '/home/ada/p/node_modules/agent/cli.js';
    const { inside } = confine('bwrap', places, {
      ...wanted,
      program: { network: true, home: [], file },
    });
    expect(
      inside.filter(({ path }) => path.startsWith(places.workdir) && !path.startsWith(places.runDir)),
    ).toEqual([{ path: '/home/ada/p/node_modules', write: false }]);
  });

  test.for([
    ['/home/ada/.cargo/bin', ['/home/ada/.cargo/bin', '/home/ada/.rustup']],
    ['/home/ada/.pyenv/shims', ['/home/ada/.pyenv']],
    ['/home/ada/tools/pyenv/shims', ['/home/ada/tools/pyenv']],
    ['/data/pyenv/shims', ['/data/pyenv']],
    ['/home/ada/bin', ['/home/ada/bin']],
    ['/home/ada', []],
    ['/usr/local/bin', []],
    ['/srv/tools', ['/srv/tools']],
    ['/', []],
  ] as const)('a folder of PATH %s shows %j', ([entry, seen]) =>
    expect(toolchain(entry, '/home/ada')).toEqual(seen),
  );

  test('no folder of PATH shows the credentials next to it', () => {
    for (const entry of ['.cargo', '.docker', '.local', '.config/tool', '.npm-global'].map(
      (at) => `/home/ada/${at}/bin`,
    ))
      for (const path of toolchain(entry, '/home/ada'))
        for (const login of [
          ...'/home/ada /home/ada/.cargo /home/ada/.docker /home/ada/.local'.split(' '),
          ...'/home/ada/.local/share /home/ada/.config /home/ada/.config/tool'.split(' '),
          ...'/home/ada/.npm-global'.split(' '),
        ])
          expect(path).not.toBe(login);
  });
});

describe('the network', () => {
  const program = { network: true, home: [], file: undefined };
  test.for([
    [{}, true],
    [{ verification: true }, false],
    [{ verification: true, network: true }, true],
    [{ program }, true],
    [{ program: { ...program, network: false } }, false],
    [{ program, network: false }, false],
  ] as const)('of %j: %s', ([more, on]) => expect(networkOf({ ...wanted, ...more })).toBe(on));
});

describe('sandbox_bind', () => {
  test.for([
    ['/data', { path: '/data', write: false }],
    ['/data/:rw', { path: '/data', write: true }],
    ['~/.m2:rw', { path: '/home/ada/.m2', write: true }],
    ['/a//b/./c:ro', { path: '/a/b/c', write: false }],
  ] as const)('%s', ([word, bind]) => expect(bindOf(word, '/home/ada')).toEqual(bind));

  const judge = [
    { what: 'the keys', place: '/home/ada/.local/state/factory/keys' },
    { what: 'the sealed scenarios', place: '/srv/judge' },
  ];
  const real = { runsDir: '/home/ada/p/.factory/runs', workdir: '/home/ada/p', judge };
  test.for([
    ['/data', '/data', undefined],
    ['/gone', undefined, 'there is no /gone'],
    ['/', '/', 'would show the folder of runs'],
    ['/home', '/home', 'would show the folder of runs'],
    ['/home/ada/p/.factory/runs/R2', '/home/ada/p/.factory/runs/R2', 'would show the folder of runs'],
    ['/home/ada/p/src', '/home/ada/p/src', 'would show the workdir'],
    ['/link', '/home/ada/p', 'would show'],
    ['/proc/1', '/proc/1', 'belongs to the system'],
    ['/home/ada/.local', '/home/ada/.local', 'would show the keys /home/ada/.local/state/factory/keys'],
    ['/srv/judge/a', '/srv/judge/a', 'would show the sealed scenarios /srv/judge'],
  ] as const)('%s, which is %s: %s', ([path, at, why]) => {
    const found = bindProblem({ path, write: false }, { bind: at, ...real });
    if (why === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(why);
  });
});

test('the environment names no path that a node does not see', () => {
  const env = {
    PATH: '/usr/bin',
    HOME: '/home/ada',
    TMPDIR: '/home/ada/tmp',
    XDG_CACHE_HOME: '/home/ada/.cache',
    GOPATH: '/data/go',
    SSH_AUTH_SOCK: '/run/user/1/agent',
    LANG: 'C',
  };
  const binds = [{ path: '/data/go', write: true }];
  expect(confinedEnvironment(env, { home: '/home/ada', binds })).toEqual({
    PATH: '/usr/bin',
    HOME: '/home/ada',
    TMPDIR: '/tmp',
    GOPATH: '/data/go',
    LANG: 'C',
  });
  expect(confinedEnvironment({ HOME: '/' }, { home: undefined, binds: [] })).toEqual({ HOME: '/tmp' });
});

test('certificates that the environment names stay visible', () => {
  expect(
    certificatesIn({ SSL_CERT_FILE: '/srv/ca.pem', CURL_CA_BUNDLE: '/srv/ca.pem', PIP_CERT: 'x' }),
  ).toEqual(['/srv/ca.pem']);
});
