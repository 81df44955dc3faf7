/** Runs the commands of a proof in its checkout: each as a node would, but without a view of the run. */
import { dirname } from 'node:path';
import type { SpawnRequest } from '../core/contracts/process.ts';
import { failureExcerpt, mostReadOfStream } from '../core/failure-excerpt.ts';
import type { WorkOrder } from '../core/orders/work-order.ts';
import { commandProblem, parseVerificationCommand, showsNoCommit } from '../core/policy/commands.ts';
import { commandEnvironment } from '../core/policy/confinement.ts';
import { scenariosNamed } from '../core/policy/holdout-paths.ts';
import { textsToMask } from '../core/policy/secrets.ts';
import type { Outdated } from '../core/records/result.ts';
import { setupFailureClass } from '../core/setup.ts';
import type { CommandIo } from '../platform/command-io.ts';
import { readEnds } from '../platform/files/read.ts';
import { withoutGit } from '../platform/git.ts';
import { isConfined, without } from '../platform/sandbox/nested.ts';
import { spoken } from './unittest.ts';

/** Where the commands run. */
export type ProofPlace = {
  readonly io: CommandIo;
  /** The run directory, which they must not see. */
  readonly run: string;
  /** The checkout. */
  readonly tree: string;
  /** Repository and index for commands that call git; undefined without a commit. */
  readonly history: { readonly dir: string; readonly indexFile: string } | undefined;
  /** Holdout paths; `tracked` if commits have them. */
  readonly sealed: { readonly paths: readonly string[]; readonly tracked: boolean };
};

/** Bytes of each stream in the reason of a failed proof. */
const mostInReason = 2000;

/** The first failure; undefined if every command exits with 0. Outputs are stored under names that begin with `output`. */
export async function runProof(
  place: ProofPlace,
  commands: readonly string[],
  output: string,
): Promise<string | undefined> {
  const hidden = await hiding(place);
  for (const [n, command] of commands.entries()) {
    const failed = await runOne(place, { command, output: `${output}.${n}`, hidden });
    if (failed !== undefined) return failed;
  }
  return undefined;
}

/** Milliseconds that the commands of earlier orders have together; later ones are left out. */
const mostForEarlier = 5 * 60_000;

/** The acceptance commands of `orders` that fail now. An order may supersede what an earlier one has made, so this is no
 *  failure. `known` hold already. */
export async function outdatedIn(
  place: ProofPlace,
  orders: readonly WorkOrder[],
  known: readonly string[],
  output: string,
): Promise<readonly Outdated[]> {
  const { io } = place;
  const began = io.now().getTime();
  const hidden = await hiding(place);
  const seen = new Set(known);
  const outdated: Outdated[] = [];
  let n = 0;
  for (const order of orders)
    for (const command of repeatableCommands(order, place)) {
      const timeoutMs = mostForEarlier - (io.now().getTime() - began);
      if (seen.has(command) || timeoutMs <= 0) continue;
      seen.add(command);
      const failed = await runOne(place, { command, output: `${output}.${n++}`, hidden, timeoutMs });
      const isCut = io.now().getTime() - began >= mostForEarlier;
      if (failed !== undefined && !isCut) outdated.push({ work_order: order.id, command: spoken(command) });
    }
  return outdated;
}

/** The acceptance commands of an order that a checkout can repeat: it has no holdout scenarios. Those that check nothing are
 *  left out. */
export const repeatableCommands = (
  order: WorkOrder,
  { sealed }: Pick<ProofPlace, 'sealed'>,
): readonly string[] =>
  order.acceptance_commands.filter(
    (command) => !checksNothing(command) && scenariosNamed(command, sealed.paths).length === 0,
  );

/** Whether a command succeeds whatever an order wrote. */
export const checksNothing = (command: string): boolean => /^(?:true|:)$/.test(command.trim());

/** The start of an argv that hides the run. */
async function hiding({ io, run, tree }: ProofPlace): Promise<readonly string[]> {
  if (!isConfined() || tree.startsWith(`${run}/`)) return [];
  return without(run, tree, { spawn: io.spawn, env: environmentOf(io, tree) });
}

function environmentOf(io: CommandIo, tree: string): Record<string, string> {
  // Commands that check the product must not see the run.
  const visible = Object.entries(withoutGit(io.env)).filter(
    ([name]) => /^FACTORY_RUN_(MARKER$|EPOCH_)/.test(name) || !name.startsWith('FACTORY_'),
  );
  return {
    ...Object.fromEntries(visible),
    ...commandEnvironment(io.env),
    PWD: tree,
    GIT_CEILING_DIRECTORIES: dirname(tree),
    FACTORY_PROOF: tree,
  };
}

/** Runs the setup commands of the project in the checkout, in their order; answers the first failure. */
export async function setUpProof(
  place: ProofPlace,
  commands: readonly string[],
  output: string,
): Promise<{ readonly why: string; readonly isWorld: boolean } | undefined> {
  const { io, tree } = place;
  const hidden = await hiding(place);
  for (const [n, command] of commands.entries()) {
    const problem = commandProblem(command, isConfined() ? 'private' : 'shared');
    if (problem !== undefined)
      return { why: `setup ${JSON.stringify(command)} is ${problem}`, isWorld: false };
    const [first = 'sh', ...rest] = [...hidden, 'sh', '-c', command];
    const run = { argv: [first, ...rest], env: environmentOf(io, tree), output: `${output}.${n}` } as const;
    const failed = await spawned(place, run);
    if (failed === undefined) continue;
    const why = `setup ${JSON.stringify(command)} failed (${failed.how})${failed.printed}`;
    return { why, isWorld: setupFailureClass(failed.printed) === 'infra' };
  }
  return undefined;
}

async function runOne(
  { io, tree, history, sealed }: ProofPlace,
  how: {
    readonly command: string;
    readonly output: string;
    readonly hidden: readonly string[];
    readonly timeoutMs?: number;
  },
): Promise<string | undefined> {
  const { command, output, hidden, timeoutMs } = how;
  const parsed = parseVerificationCommand(command, tree);
  if ('problem' in parsed) return `${command} is not a command: ${parsed.problem}`;
  const { argv } = parsed;
  // As in a verification node, only direct git commands see the history, and no product has a hand in them.
  const git = argv[0] === 'git' && (!sealed.tracked || showsNoCommit(argv)) ? history : undefined;
  const env = {
    ...environmentOf(io, tree),
    ...(git === undefined ? {} : { GIT_DIR: git.dir, GIT_WORK_TREE: tree, GIT_INDEX_FILE: git.indexFile }),
    ...parsed.env,
  };
  const [first = argv[0], ...rest] = [...(git === undefined ? hidden : []), ...argv];
  const failed = await spawned(
    { io, tree },
    { argv: [first, ...rest], env, output, ...(timeoutMs === undefined ? {} : { timeoutMs }) },
  );
  return failed === undefined ? undefined : `${spoken(command)} failed (${failed.how})${failed.printed}`;
}

/** How the program failed, and what of its output says that; undefined if it exits with 0. */
async function spawned(
  { io, tree }: Pick<ProofPlace, 'io' | 'tree'>,
  { output, ...program }: Pick<SpawnRequest, 'argv' | 'env' | 'timeoutMs'> & { readonly output: string },
): Promise<{ readonly how: string; readonly printed: string } | undefined> {
  const stdoutFile = `${output}.stdout.txt`;
  const stderrFile = `${output}.stderr.txt`;
  const ended = await io.spawn.run({
    ...program,
    cwd: tree,
    stdoutFile,
    stderrFile,
    mask: textsToMask(io.env),
    marker: `FACTORY_PROOF=${tree}`,
  });
  if (ended.kind === 'exited' && ended.code === 0) return undefined;
  const how =
    ended.kind === 'exited' ? `exit=${ended.code}` : ended.kind === 'not_found' ? ended.why : ended.kind;
  const streams = [stderrFile, stdoutFile].map(async (file) =>
    failureExcerpt((await readEnds(file, mostReadOfStream)) ?? '', { most: mostInReason }),
  );
  const printed = (await Promise.all(streams)).filter((text) => text !== '').join('\n');
  return { how, printed: printed === '' ? '' : `:\n${printed}` };
}
