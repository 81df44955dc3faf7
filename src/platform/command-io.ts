/** What a command has of its process. */
import type { Spawn } from '../core/contracts/process.ts';

export type CommandIo = {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly now: () => Date;
  readonly spawn: Spawn;
};
