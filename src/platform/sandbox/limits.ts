/** Limits on a node's resources, set between its start and its program. */
import type { Limits } from '../../core/contracts/sandbox.ts';
import type { SandboxCapabilities } from './capabilities.ts';

type Argv = readonly [string, ...string[]];

/** The argv with limits. A shell text sets them itself, which costs nothing; any other program is started by
 *  `prlimit`, where available. */
export function limited(
  argv: Argv,
  limits: Limits,
  ladder: Pick<SandboxCapabilities, 'prlimit' | 'hard' | 'countsApart'>,
): Argv {
  const { processesOfUser = limits.processes } = limits;
  const processes = ladder.countsApart ? limits.processes : processesOfUser;
  const within = clamped({ ...limits, processes }, ladder.hard);
  const [program, flag, text, ...rest] = argv;
  if (program === 'sh' && flag === '-c' && text !== undefined)
    return ['sh', '-c', `${shellLimits(within)}${text}`, ...rest];
  const flags = [
    ...(within.fileSize === undefined ? [] : [`--fsize=${within.fileSize}`]),
    ...(within.processes === undefined ? [] : [`--nproc=${within.processes}`]),
    ...(within.memory === undefined ? [] : [`--as=${within.memory}`]),
  ];
  return flags.length === 0 || ladder.prlimit === undefined
    ? argv
    : [ladder.prlimit, ...flags, '--', ...argv];
}

/** The argv of a program that everything else on the machine runs before. */
export const lastInTurn = (argv: Argv, { lastInTurn: isLast }: Limits): Argv =>
  // It is added to the priority of this process, whatever that is.
  isLast === true ? ['nice', '-n', '39', ...argv] : argv;

/** On the text's first line, so that the line numbers in the shell's messages stay correct. */
function shellLimits({ fileSize, memory, processes }: Limits): string {
  const set: string[] = [];
  if (fileSize !== undefined) set.push(`ulimit -f ${Math.ceil(fileSize / 512)}`);
  if (memory !== undefined) set.push(`ulimit -v ${Math.ceil(memory / 1024)}`);
  // The letter differs between shells. Where the current limit is unknown (macOS), it may be lower: that one applies
  // then, and the error is not printed on the node's standard error.
  if (processes !== undefined)
    set.push(`ulimit -p ${processes} 2>/dev/null || ulimit -u ${processes} 2>/dev/null || :`);
  return set.map((one) => `${one};`).join('');
}

/** A process cannot get more than its parent has. */
function clamped(limits: Limits, hard: SandboxCapabilities['hard']): Limits {
  const least = (limit: number | undefined, most: number) =>
    limit === undefined ? undefined : Math.min(limit, most);
  return {
    fileSize: least(limits.fileSize, hard.fileSize),
    memory: least(limits.memory, hard.memory),
    processes: least(limits.processes, hard.processes),
  };
}
