/** `factory order …`: the steps of a build that are not a model's. Each is a tool of `build.dot` and works by hand too. */
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { readAnswer } from '../builder/answer.ts';
import { applyProposal } from '../builder/apply.ts';
import { buildCommits, inHand, openBuild, preflightProblem, skipApplied } from '../builder/build.ts';
import { commitOrder, moveHead } from '../builder/commit.ts';
import { type Before, isPutBack, putBackDrift, type Written, whatWasWritten } from '../builder/drift.ts';
import { whatFailed } from '../builder/failed.ts';
import { renderPrompt } from '../builder/prompt.ts';
import { prove } from '../builder/proof.ts';
import { parseProposal } from '../builder/proposal.ts';
import { classOf, type StageFailure, stageFailure } from '../builder/stage.ts';
import { type BuildState, type CurrentOrder, readState, writeState } from '../builder/state.ts';
import { parseFiles } from '../builder/syntax.ts';
import { type CommandIo, type Place, probeOf, type Verdict } from '../builder/tool.ts';
import { spoken } from '../builder/unittest.ts';
import { foretold, plansFor } from '../builder/verify.ts';
import { inWorkspace } from '../model/layout.ts';
import type { WorkOrder } from '../model/work-order.ts';
import { writeFileAtomic } from '../system/files.ts';
import { withoutGit } from '../system/git.ts';
import { packageRoot } from '../system/package.ts';
import { readPlain } from '../system/read.ts';
import { openSnapshots } from '../workspace/snapshots.ts';
import { orderMend } from './order-mend.ts';
import { no, type OrderOptions, step, yes } from './order-step.ts';

export type { CommandIo } from '../builder/tool.ts';
export type { OrderOptions } from './order-step.ts';

/** Takes the first work order that is not done. Label `order`, or `done` when there is none left. */
export const orderNext = (
  options: OrderOptions & { readonly allowVerifyExempt?: boolean; readonly exempt?: string },
  io: CommandIo,
): Promise<number> =>
  step(options, io, async (place) => {
    const allowExempt = options.allowVerifyExempt === true || options.exempt === 'allow';
    const build = await openBuild(place, { allowExempt });
    if ('problem' in build) return no('config', build.problem);
    const allow_exempt = build.state.allow_exempt || allowExempt;
    const state: BuildState = { ...(await skipApplied(place, build)), allow_exempt };
    const pending = build.orders.find((one) => !state.done.some((done) => done.id === one.order.id));
    const count = build.orders.length;
    if (pending === undefined) {
      await writeState(place, { ...state, current: null });
      const commits = buildCommits(state);
      const updates = { 'order.count': count, 'build.commits': commits };
      const all = count === 1 ? 'the one work order is' : `all ${count} work orders are`;
      const made = `${commits.length} commit${commits.length === 1 ? '' : 's'} by this run`;
      return yes(`${all} done (${made})`, { label: 'done', updates });
    }
    const { order } = pending;
    const index = build.orders.indexOf(pending) + 1;
    const current = state.current?.id === order.id ? state.current : freshOrder(order.id);
    await writeState(place, { ...state, current });
    const updates = {
      'order.id': order.id,
      'order.title': order.title,
      'order.index': index,
      'order.count': count,
      'order.stage': '',
    };
    return yes(`${order.id} (${index} of ${count}): ${order.title}`, { label: 'order', updates });
  });

const freshOrder = (id: string): CurrentOrder => ({
  id,
  attempt: 0,
  snapshot: null,
  touched: [],
  written: null,
  failed: null,
  brief: null,
});

type InHand<T> = Exclude<T, { readonly problem: string }>;

/** A step that works on the order in hand: the build is opened and the order found, or it is refused. */
const stepInHand = (
  options: OrderOptions,
  io: CommandIo,
  carryOut: (
    place: Place,
    build: InHand<Awaited<ReturnType<typeof openBuild>>>,
    hand: InHand<ReturnType<typeof inHand>>,
  ) => Promise<Verdict>,
): Promise<number> =>
  step(options, io, async (place) => {
    const build = await openBuild(place, { allowExempt: false });
    if ('problem' in build) return no('config', build.problem);
    const hand = inHand(build);
    if ('problem' in hand) return no('config', hand.problem);
    return carryOut(place, build, hand);
  });

/** Begins an attempt: checks the preconditions and writes the prompt. A precondition that does not hold is never tried
 *  again: label `give_up`. */
export const orderPrompt = (
  options: OrderOptions & { readonly template?: string },
  io: CommandIo,
): Promise<number> =>
  stepInHand(options, io, async (place, build, hand) => {
    const { workspace } = place;
    const { order } = hand.loaded;
    const attempt = hand.current.attempt + 1;
    const current: CurrentOrder = {
      ...hand.current,
      attempt,
      snapshot: io.env['FACTORY_SNAPSHOT'] ?? null,
      touched: [],
      written: null,
      failed: null,
    };
    // An answer to an earlier prompt must not be taken for the answer to this one.
    await rm(join(workspace, inWorkspace.orderProposal), { recursive: true, force: true });
    const unmet = await preflightProblem(workspace, order);
    if (unmet !== undefined) {
      const failed = stageFailure('preflight', unmet);
      await writeState(place, { ...build.state, current: { ...current, failed } });
      return refuse(failed, { label: 'give_up' });
    }
    const path =
      options.template === undefined
        ? join(packageRoot(), 'prompts', 'propose.md')
        : resolve(io.cwd, options.template);
    const template = readPlain(path);
    if (template.kind === 'missing') return no('config', `there is no template at ${path}`);
    if (template.kind === 'none') return no('config', `the template ${path} ${template.why}`);
    const verify = await foretold(workspace, order, probeOf(io));
    const facts = { order, attempt, verify, brief: current.brief };
    const prompt = await renderPrompt(template.text, workspace, facts);
    if ('problem' in prompt) return no('config', `${path}: ${prompt.problem}`);
    await writeFileAtomic(join(workspace, inWorkspace.orderPrompt), prompt.text);
    await writeState(place, { ...build.state, current });
    return yes(`${order.id}, attempt ${attempt}: ${inWorkspace.orderPrompt} is written`, {
      updates: { 'order.attempt': attempt, 'order.stage': '' },
    });
  });

/** `<stage>: why`, with the stage's class. */
const refuse = (failed: StageFailure, more: { label?: string } = {}): Verdict =>
  no(classOf(failed.stage), `${failed.stage}: ${failed.reason}`, {
    ...more,
    updates: { 'order.stage': failed.stage },
  });

/** Writes the proposal and sets the plans by which it is judged. */
export const orderApply = (options: OrderOptions, io: CommandIo): Promise<number> =>
  stepInHand(options, io, async (place, build, hand) => {
    const { workspace } = place;
    const { order } = hand.loaded;
    const end = async (
      touched: readonly string[],
      result: { readonly failed: StageFailure } | { readonly written: CurrentOrder['written'] },
    ): Promise<void> =>
      writeState(place, {
        ...build.state,
        current: { ...hand.current, touched: [...touched], failed: null, written: null, ...result },
      });
    const answer = await readAnswer(workspace);
    const parsed = 'stage' in answer ? answer : parseProposal(answer.text);
    if ('stage' in parsed) {
      await end([], { failed: parsed });
      return refuse(parsed);
    }
    const applied = await applyProposal(workspace, order, parsed.proposal);
    const written = applied.failure ?? (await writtenBy(place, build.state.head, order, applied.touched, io));
    const failed = 'stage' in written;
    await end(applied.touched, failed ? { failed: written } : { written: written.written });
    if (failed) return refuse(written);
    const { unparsed } = written;
    const files = applied.touched.filter((path) => !unparsed.includes(path));
    const plans = await plansFor(workspace, order, { files, probe: probeOf(io) });
    const notParsed = unparsed.length === 0 ? '' : `; not parsed: ${unparsed.join(', ')}`;
    return yes(`${order.id}: wrote ${applied.touched.join(', ')}${notParsed}`, {
      updates: { ...plans, 'order.touched': applied.touched, 'order.stage': '' },
    });
  });

/** What the order wrote, as a checkout has it; refused if a file does not parse. */
async function writtenBy(
  place: Place,
  head: string | null,
  order: WorkOrder,
  touched: readonly string[],
  io: CommandIo,
): Promise<StageFailure | { readonly written: Written; readonly unparsed: readonly string[] }> {
  const written = await whatWasWritten(place, head, touched, io);
  if ('stage' in written) return written;
  const { broken, unparsed } = await parseFiles(place.workspace, touched, {
    notes: order.notes,
    env: withoutGit(io.env),
  });
  return broken.length > 0 ? stageFailure('verify_failed', broken.join('\n')) : { written, unparsed };
}

/** Commits the order's files as they were written, whatever the checks did to them. All else that came into being or
 *  changed since the attempt began is in no commit: it is put back, so that no later order leans on it. */
export const orderCommit = (options: OrderOptions, io: CommandIo): Promise<number> =>
  stepInHand(options, io, async (place, build, hand) => {
    const { workspace } = place;
    const { current, loaded } = hand;
    const { written } = current;
    if (written === null || current.failed !== null) {
      return no('config', `${current.id} has no proposal that was written: run "factory order apply" first`);
    }
    const { head } = build.state;
    const drift = await putBackDrift(
      place,
      { touched: current.touched, written },
      current.snapshot === null ? undefined : await beganWith(place, current.snapshot),
      head,
      io,
    );
    const made = await commitOrder({
      historyDir: place.run.history,
      workspace,
      env: io.env,
      parent: head,
      tree: written.tree,
      order: loaded.order,
      digest: loaded.digest,
      runId: place.runId,
      author: build.start.author,
      date: io.now(),
    });
    const done = { id: current.id, commit: made.commit, subject: made.subject, attempts: current.attempt };
    const state = {
      ...build.state,
      head: made.commit ?? head,
      done: [...build.state.done, done],
      current: null,
    };
    await writeState(place, state);
    const notes =
      made.commit === null
        ? `${made.subject}: no file has changed, so there is nothing to commit`
        : `${made.commit.slice(0, 12)} ${made.subject}`;
    return yes(notes, { updates: { 'build.commits': buildCommits(state), 'order.drift': drift } });
  });

/** The workspace at the start of the attempt. */
async function beganWith(place: Place, snapshot: string): Promise<Before> {
  const snapshots = await openSnapshots({
    workspace: place.workspace,
    dir: place.run.snapshots,
    inStage: true,
  });
  const { id, tree } = await snapshots.load(snapshot);
  return { tree, restore: (only) => snapshots.restore({ id, tree }, only) };
}

/** Undoes the attempt: restores the project, inputs, plan, orders and the git index to the state at its start. Label `again`, or `give_up` when `attempts` are used up or another one could not help. */
export const orderRollback = (
  options: OrderOptions & { readonly attempts: number },
  io: CommandIo,
): Promise<number> =>
  step(options, io, async (place) => {
    const { workspace } = place;
    const read = readState(place);
    if ('problem' in read) return no('config', read.problem);
    const { state } = read;
    const current = state?.current;
    if (state === undefined || current === undefined || current === null) {
      return no('config', 'no work order is in hand: run "factory order next" first');
    }
    if (current.snapshot === null) {
      return no(
        'config',
        `the attempt at ${current.id} has no snapshot to go back to: the prompt stage needs access="run"`,
      );
    }
    const snapshots = await openSnapshots({ workspace, dir: place.run.snapshots, inStage: true });
    await snapshots.restore(await snapshots.load(current.snapshot), isPutBack);
    // A check may have committed, or gone to another branch.
    await moveHead({ historyDir: place.run.history, workspace, env: io.env }, state.head);
    const { brief, hopeless } = await whatFailed(place, current, io);
    await writeState(place, {
      ...state,
      current: { ...current, touched: [], written: null, failed: null, brief },
    });
    const updates = { 'order.stage': brief.stage, 'order.brief': brief };
    const what = `${current.id}, attempt ${current.attempt} of ${options.attempts}, failed at ${brief.stage}`;
    const why = brief.excerpt.split('\n')[0] ?? '';
    return hopeless || current.attempt >= options.attempts
      ? yes(`${what}: ${why}; giving up${hopeless ? ': another attempt could not change that' : ''}`, {
          label: 'give_up',
          updates,
        })
      : yes(`${what}: ${why}; all changes are undone`, { label: 'again', updates });
  });

/** Checks the final commit by itself, outside every repository. */
export const orderProof = (options: OrderOptions, io: CommandIo): Promise<number> =>
  step(options, io, async (place) => {
    const build = await openBuild(place, { allowExempt: false });
    if ('problem' in build) return no('config', build.problem);
    const left = build.orders.filter((one) => !build.state.done.some((done) => done.id === one.order.id));
    if (left.length > 0) return no('config', `not done yet: ${left.map((one) => one.order.id).join(', ')}`);
    const { head } = build.state;
    const outputDir = io.env['FACTORY_NODE_DIR'] ?? join(place.workspace, inWorkspace.order);
    const proof = await prove(io, place, { head, orders: build.orders.map((one) => one.order), outputDir });
    const where = head === null ? 'an empty tree' : `a fresh checkout of ${head.slice(0, 12)}`;
    if (!proof.ok) return no('product', `in ${where}: ${proof.why}`);
    const ran = proof.commands.map(spoken);
    const how =
      proof.commands.length === 0 ? 'every promised file is there, but nothing could be run' : ran.join(', ');
    const needed = proof.needed.length === 0 ? '' : `; needed, but in no commit: ${proof.needed.join(', ')}`;
    return yes(`${where} holds: ${how}${needed}`, {
      updates: {
        'build.head': head,
        'build.commits': buildCommits(build.state),
        'build.needed': proof.needed,
        'build.unchecked': build.orders
          .filter(({ order }) => checksNothing(order))
          .map(({ order }) => order.id),
        'build.proof': ran,
      },
    });
  });

/** Whether its acceptance commands succeed whatever it wrote. */
const checksNothing = ({ acceptance_commands }: WorkOrder): boolean =>
  acceptance_commands.every((command) => /^(?:true|:)$/.test(command.trim()));

function upTo(word: string): number {
  const n = Number(word);
  if (word.trim() === '' || !Number.isSafeInteger(n) || n < 0 || n > 99)
    throw new InvalidArgumentError('a whole number from 0 to 99 is wanted.');
  return n;
}

function count(word: string): number {
  const n = Number(word);
  if (!Number.isSafeInteger(n) || n < 1)
    throw new InvalidArgumentError('a whole number of at least 1 is wanted.');
  return n;
}

/** Registers `order` and its verbs; `io.exit` is given each verb's exit code. */
export function orderCommand(
  program: Command,
  io: CommandIo & { readonly exit: (code: number) => void },
): Command {
  const order = program
    .command('order')
    .description('Build work orders; the steps of a build, as tools of a pipeline');
  const verb = (name: string, what: string): Command =>
    order
      .command(name)
      .description(what)
      .option('--run <dir>', 'run directory (default: the one of the pipeline)')
      .option('--json', 'print the result as JSON');
  verb('next', 'Select the next work order')
    .option('--allow-verify-exempt', 'honor verify_exempt in any work order')
    .addOption(
      new Option('--exempt <whom>', 'honor verify_exempt of orders with provenance, or of any order (allow)')
        .choices(['provenance', 'allow'])
        .default('provenance'),
    )
    .action(async (options) => io.exit(await orderNext(options, io)));
  verb('prompt', 'Start an attempt: check preconditions and write the prompt')
    .option('--template <file>', 'prompt template with {{PLACEHOLDERS}}')
    .action(async (options) => io.exit(await orderPrompt(options, io)));
  verb('apply', 'Check the proposal and write its files').action(async (options) =>
    io.exit(await orderApply(options, io)),
  );
  verb('commit', 'Commit the files of the work order').action(async (options) =>
    io.exit(await orderCommit(options, io)),
  );
  verb('rollback', 'Undo the attempt and decide whether to retry')
    .option('--attempts <n>', 'attempts per work order', count, 5)
    .action(async (options) => io.exit(await orderRollback(options, io)));
  verb('mend', 'Create a work order from failed holdout scenarios')
    .option('--fixes <n>', 'limit of such orders per build', upTo, 2)
    .action(async (options) => io.exit(await orderMend(options, io)));
  verb('proof', 'Verify the final commit in a fresh checkout').action(async (options) =>
    io.exit(await orderProof(options, io)),
  );
  return order;
}
