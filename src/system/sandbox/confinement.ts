/** What a stage may read, write and reach: plain data, decided in `policy/`, enforced here. Paths are absolute. */

/** `bwrap`: namespaces of bubblewrap. `unshare`: only the network is taken away. `group`: process group and limits. */
export type Rung = 'bwrap' | 'unshare' | 'group';

/** How far a stage may grow, in bytes and processes; undefined means as far as the system lets it. */
export type Limits = {
  readonly memory?: number | undefined;
  readonly processes?: number | undefined;
  /** Whether somebody set that one: then it holds for root too, by a control group, which costs each stage milliseconds. */
  readonly processesSaid?: boolean;
  readonly fileSize?: number | undefined;
};

export type Bind = { readonly path: string; readonly write: boolean };

export type Confinement = {
  readonly rung: Rung;
  readonly network: boolean;
  readonly limits: Limits;
  /** Shown as they are; those that are not there are passed over. A later one lies over an earlier one. */
  readonly binds: readonly Bind[];
  /** Folders that show nothing but what `inside` names, where a bind or the system would show them. */
  readonly masks: readonly string[];
  /** Shown although they lie in what is masked: the workspace, the node's folder, our own program. */
  readonly inside: readonly Bind[];
  /** Replaced by an empty private folder; undefined where the stage has no home that could be. */
  readonly home: string | undefined;
  /** Where private folders are made: one for each stage, removed when the stage is over. */
  readonly scratch: string;
  /** Files and folders that show as empty, and the folders above them, which stay where they are meanwhile. */
  readonly covers: readonly string[];
  readonly pinned: readonly string[];
  /** Whether what is shown may be kept from programs that the stage starts: they get a sandbox of their own. */
  readonly parts?: boolean;
};

/** System folders that a stage sees, read-only. `/var` is not among them: it holds other people's data. */
export const systemFolders: readonly string[] = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/etc',
  '/opt',
  '/nix',
  '/gnu',
  '/snap',
  // Of the kernel's own files what runtimes ask for; below `/sys` lie a dozen file systems that nobody needs.
  '/sys/devices',
  '/sys/class',
  '/sys/fs/cgroup',
  '/sys/kernel/mm',
  '/var/lib/gems',
  '/var/cache/fontconfig',
];

/** Of them, what only root may read and no stage needs. */
export const systemSecrets: readonly string[] = [
  '/etc/shadow',
  '/etc/shadow-',
  '/etc/gshadow',
  '/etc/gshadow-',
  '/etc/sudoers',
  '/etc/ssl/private',
  '/etc/ssh',
  '/etc/krb5.keytab',
];

/** Where the kernel takes settings from root. */
export const kernelSettings: readonly string[] = [
  '/proc/sys',
  '/proc/fs',
  '/proc/acpi',
  '/proc/scsi',
  '/proc/mtrr',
  '/proc/sysrq-trigger',
];
