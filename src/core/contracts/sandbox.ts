/** What a node may read, write and reach: plain data, decided in `policy/`, enforced here. Paths are absolute. */

/** `bwrap`: bubblewrap's namespaces. `unshare`: only the network is removed. `group`: process group and limits. */
export type SandboxLevel = 'bwrap' | 'unshare' | 'group';

/** Whether a node's programs have `/tmp` and the home for themselves: what they leave there is gone after the node. */
export type HomeAndTmp = 'private' | 'shared';

/** Only bubblewrap puts other folders in their place. */
export const homeAndTmpOf = (level: SandboxLevel): HomeAndTmp => (level === 'bwrap' ? 'private' : 'shared');

/** Limits on file size, memory (bytes) and processes; undefined means the system's limit. */
export type Limits = {
  readonly memory?: number | undefined;
  readonly processes?: number | undefined;
  /** Whether the process limit was set explicitly: then a control group enforces it for root too, which costs each
   *  node milliseconds. */
  readonly processesConfigured?: boolean;
  /** In place of `processes` where the kernel counts all processes of the user: there a low limit would hit others. */
  readonly processesOfUser?: number | undefined;
  /** Everything else on the machine runs first. */
  readonly lastInTurn?: boolean;
  readonly fileSize?: number | undefined;
};

export type Bind = {
  readonly path: string;
  readonly write: boolean;
  /** The existing folder that is shown there, where it is another one; only of `inside`. */
  readonly source?: string;
  /** A private place that is shown there instead: a folder, made where it is missing, or a file with this text. */
  readonly from?: string;
  readonly text?: string;
};

export type Confinement = {
  readonly rung: SandboxLevel;
  readonly network: boolean;
  /** The start of an argv that enters the network which the node shares with others; without it, the machine's. */
  readonly entering?: readonly string[];
  readonly limits: Limits;
  /** Shown unchanged, unless they have a private place; missing ones are skipped. A later one covers an earlier one. */
  readonly binds: readonly Bind[];
  /** Folders of which only `inside` is shown, where a bind or the system would show them. */
  readonly masks: readonly string[];
  /** Shown although they lie in a masked folder: the workspace, the node's folder, this program. */
  readonly inside: readonly Bind[];
  /** Replaced by an empty private folder; undefined where the node has no suitable home. */
  readonly home: string | undefined;
  /** Where the private folders are created: one for each node, removed when the node has ended. */
  readonly scratch: string;
  /** Files and folders that appear empty, and their parent folders, which cannot be moved meanwhile. */
  readonly covers: readonly string[];
  readonly pinned: readonly string[];
  /** Files and folders of the workspace that are read-only. */
  readonly frozen?: readonly string[];
  /** In a sandbox the folder `from` is seen at `to` instead: all paths of the confinement, and what the program is started with, name
   *  it by `from`. */
  readonly relocated?: { readonly from: string; readonly to: string };
  /** Whether programs that the node starts may get a nested sandbox that shows them less. */
  readonly parts?: boolean;
  /** Whether programs that the node starts may get a complete nested sandbox, with a separate `/proc`. */
  readonly nested?: boolean;
};

/** System folders that a node sees, read-only. `/var` is not among them: it holds other users' data. */
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
  // The kernel files that runtimes need; `/sys` holds a dozen more file systems that no runtime needs.
  '/sys/devices',
  '/sys/class',
  '/sys/fs/cgroup',
  '/sys/kernel/mm',
  '/var/lib/gems',
  '/var/cache/fontconfig',
];

/** Of these, the ones that only root may read and no node needs. */
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

/** Where the kernel accepts settings from root. */
export const kernelSettings: readonly string[] = [
  '/proc/sys',
  '/proc/fs',
  '/proc/acpi',
  '/proc/scsi',
  '/proc/mtrr',
  '/proc/sysrq-trigger',
];
