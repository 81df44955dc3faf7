/** A process limit that applies to root too: a control group for each node. Only root can create one. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { quoteWord } from '../../core/policy/words.ts';

const prefix = 'factory-stage-';
let count = 0;

/** The folder in which groups can be created; undefined where none can. Removes groups of engines that were killed. */
export function cgroupFolder(): string | undefined {
  for (const folder of candidates()) {
    try {
      for (const name of readdirSync(folder))
        if (name.startsWith(prefix) && !existsSync(`/proc/${pidIn(name)}`)) leaveCgroup(join(folder, name));
      const tried = openCgroup(folder, 64);
      if (tried === undefined) continue;
      leaveCgroup(tried);
      return folder;
    } catch {
      // Not mounted here, or not writable.
    }
  }
  return undefined;
}

const pidIn = (name: string): string => name.slice(prefix.length).split('-')[0] ?? '';

/** For both versions: in version 2 next to this process's group, because a group with processes has no subgroups. */
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

/** A new group of at most `most` processes; undefined where it cannot be created. */
export function openCgroup(folder: string, most: number): string | undefined {
  const crowd = join(folder, `${prefix}${process.pid}-${++count}`);
  try {
    mkdirSync(crowd);
    writeFileSync(join(crowd, 'pids.max'), String(most));
    return crowd;
  } catch {
    leaveCgroup(crowd);
    return undefined;
  }
}

const held = new Set<string>();

/** Removes the group, and earlier ones that still had a dying process when they were removed. */
export function leaveCgroup(crowd: string): void {
  held.add(crowd);
  for (const one of held) {
    try {
      rmdirSync(one);
      held.delete(one);
    } catch {
      // Removed already, or still in use; it limits only its own processes.
      if (!existsSync(one)) held.delete(one);
    }
  }
}

/** The argv, started in the group: a shell text joins by itself, any other program through a shell. */
export function inCgroup(
  crowd: string,
  argv: readonly [string, ...string[]],
): readonly [string, ...string[]] {
  // systemd escapes special characters in unit names with backslashes.
  const join = `echo 0 > ${quoteWord(`${crowd}/cgroup.procs`)}`;
  const [program, flag, text, ...rest] = argv;
  return program === 'sh' && flag === '-c' && text !== undefined
    ? ['sh', '-c', `${join};${text}`, ...rest]
    : ['sh', '-c', `${join};exec "$@"`, 'sh', ...argv];
}
