/** What a confined stage failed of when it smells of its confinement, and which setting lets it through. */
import { existsSync } from 'node:fs';
import type { Confinement } from '../system/sandbox/confinement.ts';
import { systemFolders } from '../system/sandbox/confinement.ts';

/** Words for the end of a failure's reason; undefined where nothing smells. `said` is the tail of what the stage
 *  printed. Only paths that exist outside of the sandbox are named. */
export function smellOf(
  said: string,
  confinement: Confinement,
  node: string,
  workspace: string,
): string | undefined {
  const { rung, network, limits } = confinement;
  const set = (setting: string) => `set ${setting} on node "${node}"`;
  if (/File too large|EFBIG|File size limit exceeded/.test(said))
    return `a file grew beyond ${limits.fileSize} bytes: ${set('max_file_size')}`;
  if (
    limits.memory !== undefined &&
    /MemoryError|Cannot allocate memory|ENOMEM|out of memory|bad_alloc/i.test(said)
  )
    return `it may use ${limits.memory} bytes of memory: ${set('max_memory')}`;
  if (/fork: (?:retry: )?Resource temporarily unavailable|Cannot fork|spawn \S+ EAGAIN/.test(said))
    return limits.processesSaid === true
      ? `it may have ${limits.processes} processes: ${set('max_processes')}`
      : `no more processes for it: it may have ${limits.processes} (max_processes), and this machine fewer (ulimit -u, pids.max of its control group)`;
  if (rung === 'group') return undefined;
  if (!network && unreachable.test(said)) return `the network is off: ${set('network=on')}`;
  if (rung !== 'bwrap') return undefined;
  const place = missing(said, confinement, workspace);
  const [runs, workdir] = confinement.masks;
  if (place !== undefined && runs !== undefined && isWithin(place, runs))
    return `the sandbox shows of the run its workspace and its own folder only: ${set('access="run"')}`;
  if (place !== undefined && workdir !== undefined && isWithin(place, workdir))
    return `the sandbox does not show ${place}, which lies in the workdir: the copy of it is ${workspace}`;
  if (place !== undefined) return `the sandbox does not show ${place}: ${set(`sandbox_bind="${place}"`)}`;
  if (/Read-only file system|EROFS/.test(said))
    return `the sandbox lets it write in the workspace, /tmp and its own empty home only: ${set('sandbox_bind="PATH:rw"')}, or sandbox=none`;
  return undefined;
}

const isWithin = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

const unreachable =
  /Network is unreachable|ENETUNREACH|EAI_AGAIN|ENOTFOUND|Temporary failure in name resolution|Could not resolve host|Name or service not known|getaddrinfo/i;

/** The first path that the stage did not find and that is there for us. */
function missing(said: string, { binds, inside }: Confinement, workspace: string): string | undefined {
  for (const line of said.split('\n')) {
    if (
      !/No such file or directory|ENOENT|not found|cannot (?:open|access|stat)|can't (?:open|cd)/i.test(line)
    )
      continue;
    for (const [path = ''] of line.matchAll(/\/[^\s:'"`,;()[\]{}]+/g)) {
      const seen = [
        ...systemFolders,
        workspace,
        '/proc',
        '/dev',
        ...[...binds, ...inside].map((bind) => bind.path),
      ];
      const hidden = !seen.some((folder) => isWithin(path, folder));
      if (hidden && existsSync(path)) return path;
    }
  }
  return undefined;
}
