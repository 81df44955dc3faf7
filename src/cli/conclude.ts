/** Reports what a step of a plan or a build answered. */
import { writeFile } from 'node:fs/promises';
import type { StepVerdict } from '../core/contracts/step.ts';
import type { CommandIo } from '../platform/command-io.ts';

/** Writes the verdict to `$FACTORY_OUTPUT` if it is set, prints it, and returns the exit code. */
export async function conclude(
  io: Pick<CommandIo, 'env' | 'out' | 'err'>,
  json: boolean | undefined,
  verdict: StepVerdict,
): Promise<number> {
  const { label, updates, notes, shown } = verdict;
  const output = {
    outcome: verdict.ok ? 'success' : 'fail',
    ...(label === undefined ? {} : { preferred_next_label: label }),
    ...(updates === undefined ? {} : { context_updates: updates }),
    ...(verdict.ok ? { notes } : { failure_reason: notes, failure_class: verdict.class }),
  };
  const file = io.env['FACTORY_OUTPUT'];
  // Written in place: in a sandbox the file is a mount that cannot be replaced.
  if (file !== undefined && file !== '') await writeFile(file, `${JSON.stringify(output)}\n`);
  if (json === true)
    io.out(`${shown === undefined ? JSON.stringify(output, null, 2) : JSON.stringify(shown.json)}\n`);
  else if (shown !== undefined) {
    if (shown.out !== undefined) io.out(shown.out);
    if (shown.err !== undefined) io.err(shown.err);
  } else if (verdict.ok) io.out(`${notes}${label === undefined ? '' : ` [${label}]`}\n`);
  else io.err(`${notes}\n`);
  return verdict.code ?? (verdict.ok ? 0 : 1);
}
