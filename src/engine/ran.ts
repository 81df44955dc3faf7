/** Lists the programs that a node has run, for its journal line. */
import type { RanCommand } from '../model/visit-record.ts';
import type { StageProgram } from '../nodes/kind.ts';
import { head } from '../system/read.ts';
import type { Exit } from '../system/spawn.ts';

/** Programs of one attempt that are listed, and bytes of each of their words. */
const mostCommands = 100;
const longestWord = 2000;

/** Adds a program that has ended to the list. */
export function note(
  ran: RanCommand[],
  program: StageProgram,
  ended: Exit,
  mask: (text: string) => string,
): void {
  if (ran.length >= mostCommands) return;
  ran.push({
    argv: program.argv.map((word) => head(mask(word), longestWord)),
    exit_code: ended.kind === 'exited' ? ended.code : null,
    stdout: program.stdoutName,
    stderr: program.stderrName,
  });
}
