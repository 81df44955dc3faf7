/** `factory deliver RUN`: puts the commits of a run on a branch of the source, or into a new repository. */
import type { DeliveryReport } from '../app/answers.ts';
import { deliverRun } from '../app/deliver.ts';
import type { DeliveryFlags } from '../app/typed-command.ts';
import { countedItems } from '../core/amounts.ts';
import { invocationOf } from './arguments.ts';
import { findNamed } from './find-run.ts';
import type { CliIo } from './io.ts';
import type { VerbResult } from './verb.ts';

export type DeliverOptions = DeliveryFlags & { readonly runsdir?: string; readonly json?: boolean };

export async function deliverCommand(run: string, options: DeliverOptions, io: CliIo): Promise<VerbResult> {
  let signal: AbortSignal | undefined;
  const heeding = () => {
    signal = io.signal();
    return signal;
  };
  const found = await findNamed(run, options, io);
  const done = 'problems' in found ? found : await deliverRun(found.dir, options, { ...io, signal: heeding });
  if ('problems' in done) {
    const { message = '', fix = '' } = done.problems[0] ?? {};
    const [error, as] = [message, fix].map((text) => invocationOf(text, io.called?.program));
    return { ...done, more: { error, fix: as } };
  }
  if (options.json === true) io.out(`${JSON.stringify(done, null, 2)}\n`);
  else print(done, io);
  if (done.pushed === null || done.pushed.ok) return 0;
  io.err(`error: delivered, but not pushed: ${done.pushed.why}\n  = fix: by hand: ${done.pushed.by_hand}\n`);
  return signal?.aborted === true ? 130 : 1;
}

function print(done: DeliveryReport, io: CliIo): void {
  for (const { commit, subject } of done.commits) io.out(`${commit.slice(0, 12)} ${subject}\n`);
  const where = done.to === null ? `branch ${done.branch}` : done.to;
  if (done.commits.length > 0)
    io.out(`${countedItems(done.commits.length, 'commit')} delivered to ${where}\n`);
  if (done.pushed?.ok === true) io.out(`pushed to ${done.pushed.remote}\n`);
  for (const note of done.notes) io.out(`${note}\n`);
  const more = done.needed.length > 10 ? ` and ${done.needed.length - 10} more` : '';
  if (done.needed.length > 0)
    io.err(
      `warning: the checks need files that no commit has, so they are not delivered: ${done.needed.slice(0, 10).join(', ')}${more}\n`,
    );
  if (done.next !== '') io.out(`next: ${done.next}\n`);
}
