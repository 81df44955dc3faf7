/** A machine in small: a home with a login, a workdir, a run with its secrets, an engine that is at work. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, realpath, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Exit, SpawnRequest } from '../../../src/core/contracts/process.ts';
import type { SandboxLevel } from '../../../src/core/contracts/sandbox.ts';
import {
  type ConfinementRequest,
  confine,
  confinedEnvironment,
  type Places,
} from '../../../src/core/policy/confinement.ts';
import { removeTree } from '../../../src/platform/files/remove.ts';
import { realSpawn } from '../../../src/platform/process/spawn.ts';
import { type SandboxCapabilities, sandboxCapabilities } from '../../../src/platform/sandbox/capabilities.ts';
import { confining } from '../../../src/platform/sandbox/spawn.ts';

export const ladder: SandboxCapabilities = await sandboxCapabilities(process.env);
/** Why the tests of bubblewrap are skipped; undefined where they run. */
export const noBwrap = 'missing' in ladder.bwrap ? ladder.bwrap.missing : undefined;

/** Part of everything that no node may see. */
export const secret = 'TOP-SECRET-4711';

export type Machine = {
  readonly path: string;
  readonly places: Places;
  /** The process whose environment holds the secret. */
  readonly engine: ChildProcess;
  /** Runs a shell text, or a program, as a stage would be; answers with all that it printed. */
  stage(
    argv: string | readonly [string, ...string[]],
    options?: {
      readonly rung?: SandboxLevel;
      readonly wanted?: Partial<ConfinementRequest>;
      readonly covers?: readonly string[];
      readonly places?: Partial<Places>;
      readonly request?: Partial<SpawnRequest>;
    },
  ): Promise<{ readonly exit: Exit; readonly said: string }>;
  [Symbol.asyncDispose](): Promise<void>;
};

function placesIn(path: string): Places {
  const runDir = join(path, 'home/project/.factory/runs/R1');
  return {
    runDir,
    workspace: join(runDir, 'workspace'),
    nodeDir: join(runDir, 'me'),
    history: join(runDir, 'history.git'),
    scratch: join(runDir, '.scratch/me'),
    workdir: join(path, 'home/project'),
    home: join(path, 'home'),
    path: (process.env['PATH'] ?? '').split(':').filter((folder) => folder.startsWith('/')),
    own: [],
    node: process.execPath,
    certificates: [],
    toolchains: [],
    judge: [],
    agentHomes: [],
  };
}

async function putSecrets(path: string): Promise<void> {
  for (const file of [
    ...'home/.ssh/id home/.npmrc home/project/source.txt'.split(' '),
    ...'home/project/.factory/runs/R2/manifest.json'.split(' '),
    ...'home/project/.factory/runs/R1/checkpoint.json'.split(' '),
    ...'home/project/.factory/runs/R1/contents/blob'.split(' '),
    ...'home/project/.factory/runs/R1/other/response.md'.split(' '),
    ...'home/project/.factory/runs/R1/history.git/HEAD elsewhere/notes.txt'.split(' '),
  ]) {
    await mkdir(dirname(join(path, file)), { recursive: true });
    await writeFile(join(path, file), `${secret}\n`);
  }
}

export async function machine(): Promise<Machine> {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'factory-sandbox-')));
  const places = placesIn(path);
  await putSecrets(path);
  for (const folder of [places.workspace, places.nodeDir]) await mkdir(folder, { recursive: true });
  const engine = spawn('sh', ['-c', 'read line'], {
    cwd: places.workdir,
    env: { PATH: process.env['PATH'] ?? '', LOGIN: secret },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const confined = confining(realSpawn, ladder);
  let n = 0;
  return {
    path,
    places,
    engine,
    async stage(argv, { rung = 'bwrap', wanted = {}, covers = [], places: other = {}, request = {} } = {}) {
      const planned = confine(
        rung,
        { ...places, ...other },
        {
          verification: false,
          history: false,
          access: undefined,
          network: undefined,
          limits: {},
          bind: [],
          ...wanted,
        },
      );
      const confinement = { ...planned, covers };
      const [out, err] = [join(places.nodeDir, `${++n}.out`), join(places.nodeDir, `${n}.err`)];
      const env = {
        PATH: process.env['PATH'] ?? '',
        HOME: places.home ?? '',
        AT: path,
        ENGINE: String(engine.pid),
      };
      const exit = await confined.run({
        argv: typeof argv === 'string' ? ['sh', '-c', argv] : argv,
        cwd: places.workspace,
        env: rung === 'bwrap' ? confinedEnvironment(env, confinement) : env,
        stdoutFile: out,
        stderrFile: err,
        timeoutMs: 20_000,
        confinement,
        ...request,
      });
      // A sandbox that is not made holds everything: no test may take that for a success.
      if (exit.kind === 'not_found' && exit.why.includes('could not be created')) throw new Error(exit.why);
      // A stage may delete what it prints into.
      const said = (file: string) => readFile(file, 'utf8').catch(() => '');
      return { exit, said: (await said(out)) + (await said(err)) };
    },
    async [Symbol.asyncDispose]() {
      engine.kill('SIGKILL');
      await removeTree(path);
    },
  };
}
