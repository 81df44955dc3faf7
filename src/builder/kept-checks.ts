/** What an order may not do to the checks that judge it: remove tests, change what checks run, or bring a command that
 *  replaces the one that verified the project before. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type StageFailure, stageFailure } from '../core/orders/failure-stage.ts';
import { notesOf } from '../core/orders/notes.ts';
import type { WorkOrder } from '../core/orders/work-order.ts';
import { reachedBy } from '../core/policy/check-commands.ts';
import { changedChecks, type RunByChecks } from '../core/policy/kept-checks.ts';
import { hasCommands, isInstalled } from '../core/policy/test-files.ts';
import { pathsOf } from '../git/commit.ts';
import type { CommandIo } from '../platform/command-io.ts';
import type { Build } from './build-state.ts';
import type { CheckedWrite } from './scope.ts';
import { probeOf, type StepContext } from './step-context.ts';
import { verifyCommands } from './verify.ts';

/** The most bytes of a file that is read for commands. */
const largest = 1024 * 1024;

/** The commands that verify the project before an order is written: those of now, and those that did when the build began
 *  (`first`). The command of a project without tests, which parses files, is none of them. */
export async function commandsBefore(
  { workspace }: Pick<StepContext, 'workspace'>,
  { state }: Pick<Build, 'state'>,
  io: CommandIo,
): Promise<{ readonly first: readonly string[]; readonly now: readonly string[] }> {
  const whole = { verify_exempt: false };
  const now = await verifyCommands(workspace, whole, { files: [], probe: probeOf(io) });
  return { first: state.verified ?? now, now };
}

/** The commands that verify an order besides the one that its files bring. */
export const keptCommands = (
  order: WorkOrder,
  before: { readonly first: readonly string[]; readonly now: readonly string[] },
): readonly string[] =>
  order.verify_exempt || notesOf(order).mayChangeChecks ? [] : [...new Set([...before.now, ...before.first])];

/** Why the writes of a proposal would remove tests, or change what the checks run, without a word of the order: no
 *  postcondition names the file, and its notes have no line `may_change_checks`. Undefined if they do not. */
export async function lostChecks(
  place: StepContext,
  build: Build,
  order: WorkOrder,
  verify: readonly string[],
  writes: readonly CheckedWrite[],
  io: CommandIo,
): Promise<StageFailure | undefined> {
  if (notesOf(order).mayChangeChecks) return undefined;
  const promised = new Set(order.postconditions.map(({ path }) => path));
  const changes = writes.map(({ path, content, before }) => ({
    path,
    before: before.is === 'absent' ? undefined : before.bytes?.toString('utf8'),
    after: content,
  }));
  const run = await runByChecks(place, build, verify, io);
  const lost = changedChecks(changes, run, (path) => promised.has(path));
  if (lost.length === 0) return undefined;
  const named = lost.slice(0, 10).map(({ path, why }) => `${path}: ${why}`);
  return stageFailure(
    'write_scope_violation',
    `${named.join('; ')} (only a test or check that a postcondition names may lose tests or change what checks run, or any file with the line may_change_checks in the notes of the order; new tests may be added)`,
  );
}

async function runByChecks(
  { workspace, run }: StepContext,
  { state, orders }: Build,
  verify: readonly string[],
  io: CommandIo,
): Promise<RunByChecks> {
  const read = async (path: string): Promise<string | undefined> => {
    const bytes = await readFile(join(workspace, path)).catch(() => undefined);
    return bytes === undefined || bytes.length > largest ? undefined : bytes.toString('utf8');
  };
  const texts = new Map<string, string>();
  const paths = new Set(await pathsOf(run.history, state.head, io.env));
  for (const path of paths)
    if (hasCommands(path) && !isInstalled(path)) texts.set(path, (await read(path)) ?? '');
  const accept = orders.flatMap((one) => one.order.acceptance_commands);
  return {
    paths,
    reached: await reachedBy([...verify, ...accept], texts, read),
    direct: await reachedBy(verify, texts, async (path) =>
      (await read(path)) === undefined ? undefined : '',
    ),
  };
}
