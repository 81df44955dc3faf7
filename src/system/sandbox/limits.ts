/** Limits on what a stage may grow to, set between its start and its program. */
import type { Limits } from './confinement.ts';
import type { Ladder } from './ladder.ts';

type Argv = readonly [string, ...string[]];

/** The argv under limits. A shell text sets them itself, which costs nothing; any other program is started by
 *  `prlimit`, where there is one. */
export function limited(argv: Argv, limits: Limits, ladder: Pick<Ladder, 'prlimit' | 'hard'>): Argv {
  const within = clamped(limits, ladder.hard);
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

/** On the text's own first line, so that the shell's messages name the author's lines. */
function shellLimits({ fileSize, memory, processes }: Limits): string {
  const set: string[] = [];
  if (fileSize !== undefined) set.push(`ulimit -f ${Math.ceil(fileSize / 512)}`);
  if (memory !== undefined) set.push(`ulimit -v ${Math.ceil(memory / 1024)}`);
  // The letter differs from shell to shell. Where the system does not tell us what we have (macOS), it may be less: that
  // holds then, and is nothing to tell on the stage's standard error.
  if (processes !== undefined)
    set.push(`ulimit -p ${processes} 2>/dev/null || ulimit -u ${processes} 2>/dev/null || :`);
  return set.map((one) => `${one};`).join('');
}

/** A process cannot get more than its parent has. */
function clamped(limits: Limits, hard: Ladder['hard']): Limits {
  const least = (wanted: number | undefined, most: number) =>
    wanted === undefined ? undefined : Math.min(wanted, most);
  return {
    fileSize: least(limits.fileSize, hard.fileSize),
    memory: least(limits.memory, hard.memory),
    processes: least(limits.processes, hard.processes),
  };
}
