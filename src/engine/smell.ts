/** Recognises failures caused by the sandbox or its limits, and names the setting that fixes them. */
import { existsSync } from 'node:fs';
import type { Confinement } from '../system/sandbox/confinement.ts';
import { systemFolders } from '../system/sandbox/confinement.ts';

/** A hint for the end of a failure's reason, or undefined. `output` is the tail of the program's output. Names only paths that
 *  exist outside the sandbox. */
export function sandboxHint(
  output: string,
  confinement: Confinement,
  node: string,
  workspace: string,
): string | undefined {
  const { rung, network, limits } = confinement;
  const set = (setting: string) => `set ${setting} on node "${node}"`;
  if (/File too large|EFBIG|File size limit exceeded/.test(output))
    return `a file grew beyond ${limits.fileSize} bytes: ${set('max_file_size')}`;
  if (
    limits.memory !== undefined &&
    /MemoryError|Cannot allocate memory|ENOMEM|out of memory|bad_alloc/i.test(output)
  )
    return `it may use ${limits.memory} bytes of memory: ${set('max_memory')}`;
  if (/fork: (?:retry: )?Resource temporarily unavailable|Cannot fork|spawn \S+ EAGAIN/.test(output))
    return limits.processesSaid === true
      ? `it may have ${limits.processes} processes: ${set('max_processes')}`
      : `it could start no more processes: its limit is ${limits.processes} (max_processes), and this machine may have a lower one (ulimit -u, pids.max of its control group)`;
  if (rung === 'group') return undefined;
  if (!network && unreachable.test(output)) return `the network is off: ${set('network=on')}`;
  if (rung !== 'bwrap') return undefined;
  const place = missing(output, confinement, workspace);
  const [runs, workdir] = confinement.masks;
  if (place !== undefined && runs !== undefined && isWithin(place, runs))
    return `of the run directory the sandbox shows only the workspace and the node's directory: ${set('access="run"')}`;
  if (place !== undefined && workdir !== undefined && isWithin(place, workdir))
    return `the sandbox does not show ${place}, which lies in the workdir: the copy of it is ${workspace}`;
  if (place !== undefined) return `the sandbox does not show ${place}: ${set(`sandbox_bind="${place}"`)}`;
  if (/Read-only file system|EROFS/.test(output))
    return `in the sandbox only the workspace, /tmp and a private home are writable: ${set('sandbox_bind="PATH:rw"')}, or sandbox=none`;
  return undefined;
}

const isWithin = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

const unreachable =
  /Network is unreachable|ENETUNREACH|EAI_AGAIN|ENOTFOUND|Temporary failure in name resolution|Could not resolve host|Name or service not known|getaddrinfo/i;

/** The first path that the program did not find, but that exists outside the sandbox. */
function missing(output: string, { binds, inside }: Confinement, workspace: string): string | undefined {
  for (const line of output.split('\n')) {
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
