/** Starts nodes confined: the spawn of `system/` with a rung of the ladder in between. */
import { closeSync, readFileSync, statSync } from 'node:fs';
import type { Exit, Spawn, SpawnRequest } from '../../core/contracts/process.ts';
import type { Confinement } from '../../core/contracts/sandbox.ts';
import { saysNoRoom, spawnError } from '../process/spawn-error.ts';
import { bwrapArguments } from './bwrap.ts';
import type { SandboxCapabilities } from './capabilities.ts';
import { inCgroup, leaveCgroup, openCgroup } from './cgroup.ts';
import { lastInTurn, limited } from './limits.ts';
import { relocatedRequest, relocationOf } from './relocate.ts';
import { filterWords, openFilter } from './seccomp.ts';

/** A spawn that enforces each request's confinement. A request without one is started unchanged. */
export function confining(spawn: Spawn, ladder: SandboxCapabilities): Spawn {
  return {
    async run({ confinement, ...request }) {
      if (confinement === undefined) return spawn.run(request);
      const { processes, processesConfigured } = confinement.limits;
      const crowd =
        ladder.crowds === undefined || processes === undefined || processesConfigured !== true
          ? undefined
          : openCgroup(ladder.crowds, processes);
      try {
        return await runWithin(spawn, ladder, request, confinement, crowd);
      } finally {
        if (crowd !== undefined) leaveCgroup(crowd);
      }
    },
  };
}

async function runWithin(
  spawn: Spawn,
  ladder: SandboxCapabilities,
  outside: SpawnRequest,
  confinement: Confinement,
  crowd: string | undefined,
): Promise<Exit> {
  const request =
    confinement.rung === 'bwrap' && confinement.relocated !== undefined
      ? relocatedRequest(outside, relocationOf(confinement))
      : outside;
  const limits = limited(request.argv, confinement.limits, ladder);
  const start = (argv: readonly [string, ...string[]]) =>
    lastInTurn(crowd === undefined ? argv : inCgroup(crowd, argv), confinement.limits);
  switch (confinement.rung) {
    case 'group':
      return outer(request, limits, await spawn.run({ ...request, argv: start(limits) }));
    case 'unshare':
      return outer(
        request,
        limits,
        await spawn.run({ ...request, argv: start(withoutNetwork(limits, confinement, ladder)) }),
      );
    case 'bwrap': {
      const bwrap = starter(ladder);
      const [first = bwrap[0], ...rest] = [...(confinement.entering ?? []), ...bwrap];
      const argv = start([first, ...rest, ...bwrapArguments(confinement, request.cwd), ...limits]);
      const third = bwrap.includes(filterWords[0]) ? openFilter() : undefined;
      const given = third === undefined ? {} : { third };
      try {
        const ended = await spawn.run({ ...request, ...given, argv, watched: true });
        return inner(
          outer(
            request,
            limits,
            ended,
            confinement.entering === undefined ? ['bwrap'] : ['bwrap', 'nsenter'],
          ),
        );
      } finally {
        if (third !== undefined) closeSync(third);
      }
    }
  }
}

const starter = ({ bwrap }: SandboxCapabilities): readonly [string, ...string[]] => {
  if ('missing' in bwrap)
    throw new Error(`Internal: a node requests an unavailable sandbox: ${bwrap.missing}`);
  return bwrap.argv;
};

function withoutNetwork(
  argv: readonly [string, ...string[]],
  { network }: Confinement,
  { unshare }: SandboxCapabilities,
): readonly [string, ...string[]] {
  const [first, ...rest] = network ? [] : (unshare?.argv ?? []);
  return first === undefined ? argv : [first, ...rest, ...argv];
}

/** The wrapper that should have started a program reports the failure; then nothing of the node ran. A node may
 *  start wrappers too: their errors concern only the node. */
function outer(
  request: SpawnRequest,
  limits: SpawnRequest['argv'],
  ended: Exit,
  by: readonly string[] = [],
): Exit {
  if (ended.kind !== 'exited' || ![1, 126, 127].includes(ended.code)) return ended;
  const message = words(request.stderrFile);
  const found =
    /^(?:bwrap: execvp|prlimit: failed to execute|unshare: failed to execute|sh: (?:(?:line )?\d+: )?exec:(?: line \d+:)?) (.*): ([^:]+)\n$/.exec(
      message,
    );
  if (found?.[1] === request.argv[0] || found?.[1] === limits[0]) {
    const program = request.argv[0];
    const why = spawnError(request, codes[found[2] ?? ''] ?? String(found[2]));
    return { kind: 'not_found', program, why: isHidden(request, why) ?? why };
  }
  const [, wrapper = '', refused] = /^(\w+): ([^\n]*)\n$/.exec(message) ?? [];
  if (refused === undefined || found !== null || !by.includes(wrapper)) return ended;
  const why =
    whyNotHere(request) ?? `the sandbox could not be created: ${refused} (sandbox=none runs without one)`;
  const noRoom = saysNoRoom(refused);
  return { kind: 'not_found', program: request.argv[0], why, ...(noRoom ? { noRoom } : {}) };
}

const codes: Readonly<Record<string, string>> = {
  'No such file or directory': 'ENOENT',
  'not found': 'ENOENT',
  'Not a directory': 'ENOTDIR',
  'Permission denied': 'EACCES',
  'Operation not permitted': 'EPERM',
  'Exec format error': 'ENOEXEC',
  'Argument list too long': 'E2BIG',
  'Text file busy': 'ETXTBSY',
};

/** A program that exists outside the sandbox, but not inside. */
function isHidden({ argv: [program] }: SpawnRequest, why: string): string | undefined {
  const there = program.startsWith('/') && statSync(program, { throwIfNoEntry: false })?.isFile() === true;
  return there && why.includes('exists, but not')
    ? `${program} exists, but not in the sandbox, or its interpreter is not: name its folder in sandbox_bind`
    : undefined;
}

function whyNotHere(request: SpawnRequest): string | undefined {
  const why = spawnError(request, '');
  return why.startsWith('its working directory') ? why : undefined;
}

/** The text on standard error, if it is at most one line. */
function words(file: string): string {
  try {
    return statSync(file).size > 4096 ? '' : readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** Signals that end a program. bubblewrap reports 128 plus their number. */
const deadly: Readonly<Record<number, string>> = {
  132: 'SIGILL',
  133: 'SIGTRAP',
  134: 'SIGABRT',
  135: 'SIGBUS',
  136: 'SIGFPE',
  137: 'SIGKILL',
  139: 'SIGSEGV',
  143: 'SIGTERM',
  152: 'SIGXCPU',
  153: 'SIGXFSZ',
  159: 'SIGSYS',
};

function inner(ended: Exit): Exit {
  const signal = ended.kind === 'exited' ? deadly[ended.code] : undefined;
  return signal === undefined ? ended : { kind: 'signalled', signal };
}
