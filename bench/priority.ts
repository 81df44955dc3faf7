/** At which priority programs are measured: on a machine with other work, one that goes before it is disturbed least. */
import { spawnSync } from 'node:child_process';

export type Priority = {
  /** What stands before a program's words. */
  readonly words: readonly string[];
  /** For people and for the file of figures. */
  readonly name: string;
};

export const usualPriority: Priority = { words: [], name: 'usual' };

const raised: readonly Priority[] = [
  { words: ['chrt', '--rr', '1'], name: 'real time' },
  { words: ['nice', '-n', '-10'], name: 'nice -10' },
];

/** The highest that this user and this system allow. A program's own programs inherit it. */
export const highestPriority = (): Priority =>
  raised.find(({ words: [program = '', ...words] }) => {
    const { status, stderr } = spawnSync(program, [...words, 'true'], { encoding: 'utf8' });
    // `nice` starts the program all the same where it is not allowed, and prints a warning.
    return status === 0 && stderr === '';
  }) ?? usualPriority;
