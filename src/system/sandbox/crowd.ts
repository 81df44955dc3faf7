/** A limit on processes that holds for root too: a control group of the stage's own. Only root can make one. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const prefix = 'factory-stage-';
let count = 0;

/** The folder in which groups can be made; undefined where none can. Those of engines that were killed go. */
export function crowdFolder(): string | undefined {
  for (const folder of candidates()) {
    try {
      for (const name of readdirSync(folder))
        if (name.startsWith(prefix) && !existsSync(`/proc/${pidIn(name)}`)) leaveCrowd(join(folder, name));
      const tried = openCrowd(folder, 64);
      if (tried === undefined) continue;
      leaveCrowd(tried);
      return folder;
    } catch {
      // Not mounted here, or not ours to write.
    }
  }
  return undefined;
}

const pidIn = (name: string): string => name.slice(prefix.length).split('-')[0] ?? '';

/** Of either version: next to our own group in the second, where a group with processes has no groups below it. */
function candidates(): readonly string[] {
  try {
    const own = readFileSync('/proc/self/cgroup', 'latin1').split('\n');
    return own.flatMap((line) => {
      const [, controllers = '', path = ''] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
      if (controllers.split(',').includes('pids')) return [join('/sys/fs/cgroup/pids', path)];
      return controllers === '' && path.length > 1 ? [join('/sys/fs/cgroup', dirname(path))] : [];
    });
  } catch {
    return [];
  }
}

/** A new group of at most `most` processes; undefined where it cannot be made. */
export function openCrowd(folder: string, most: number): string | undefined {
  const crowd = join(folder, `${prefix}${process.pid}-${++count}`);
  try {
    mkdirSync(crowd);
    writeFileSync(join(crowd, 'pids.max'), String(most));
    return crowd;
  } catch {
    leaveCrowd(crowd);
    return undefined;
  }
}

const held = new Set<string>();

/** Gives the group back, and those that a dying process still hung in when they were given back. */
export function leaveCrowd(crowd: string): void {
  held.add(crowd);
  for (const one of held) {
    try {
      rmdirSync(one);
      held.delete(one);
    } catch {
      // Gone already, or still held; it limits nobody but those in it.
      if (!existsSync(one)) held.delete(one);
    }
  }
}

/** The argv, begun in the group: a shell text joins by itself, anything else by way of a shell. */
export function within(crowd: string, argv: readonly [string, ...string[]]): readonly [string, ...string[]] {
  // The system writes what is special in the name of a unit with backslashes.
  const join = `echo 0 > '${crowd.replaceAll("'", "'\\''")}/cgroup.procs'`;
  const [program, flag, text, ...rest] = argv;
  return program === 'sh' && flag === '-c' && text !== undefined
    ? ['sh', '-c', `${join};${text}`, ...rest]
    : ['sh', '-c', `${join};exec "$@"`, 'sh', ...argv];
}
