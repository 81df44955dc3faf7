/** Small disks of other kinds, for tests of what their file systems do not keep. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const did = (command: string, ...args: string[]): boolean => spawnSync(command, args).status === 0;

const mounts = {
  FAT: (image: string, folder: string) =>
    did('mkfs.vfat', image) && did('mount', '-o', 'loop', '-t', 'vfat', image, folder),
  exFAT: (image: string, folder: string) =>
    did('mkfs.exfat', image) &&
    ['exfat', 'exfat-fuse'].some((type) => did('mount', '-o', 'loop', '-t', type, image, folder)),
  // Through FUSE it refuses to set a mode; the kernel's own takes it without a word.
  'FAT (FUSE)': (image: string, folder: string) =>
    did('mkfs.vfat', image) && did('fusefat', '-o', 'rw+', image, folder),
  // Of a size that it can be made in.
  Btrfs: (image: string, folder: string) =>
    did('mkfs.btrfs', '--mixed', image) && did('mount', '-o', 'loop', '-t', 'btrfs', image, folder),
  tmpfs: (_: string, folder: string) => did('mount', '-t', 'tmpfs', 'tmpfs', folder),
};

const commandOf = (pid: string): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
};

export const kinds = ['FAT', 'exFAT', 'tmpfs'] as const;

/** Such a disk below `folder`; undefined where there is no program for it, or it is not permitted. */
export function diskIn(folder: string, kind: keyof typeof mounts) {
  const image = join(folder, 'image');
  const path = join(folder, 'disk');
  writeFileSync(image, '');
  truncateSync(image, 64 * 1024 * 1024);
  mkdirSync(path);
  if (!mounts[kind](image, path)) return undefined;
  return {
    path,
    /** Ends what serves it, where that is a program. */
    end: () => {
      for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
        if (commandOf(pid).startsWith(`fusefat\0`) && commandOf(pid).includes(`\0${image}\0`))
          process.kill(Number(pid), 'SIGKILL');
    },
    [Symbol.dispose]: () => void did('umount', path),
  };
}

/** An overlay below `folder`: writes there land on `upper`, a disk that can hold it. */
export function overlayIn(folder: string, lower: string, upper: string, ...options: readonly string[]) {
  const path = join(folder, 'over');
  const [up, work] = [join(upper, 'up'), join(upper, 'work')];
  for (const one of [path, up, work]) mkdirSync(one);
  const all = [
    `lowerdir=${lower}`,
    `upperdir=${up}`,
    `workdir=${work}`,
    'redirect_dir=off',
    ...options,
  ].join();
  if (!did('mount', '-t', 'overlay', 'overlay', '-o', all, path)) return undefined;
  return { path, [Symbol.dispose]: () => void did('umount', path) };
}
