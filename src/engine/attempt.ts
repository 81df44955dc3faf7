/** One attempt of a node: run it, record what it changed, check that against its scope. */
import type { Usage } from '../agents/agent.ts';
import type { Node } from '../model/graph.ts';
import type { JsonObject } from '../model/json.ts';
import { nodeLayout } from '../model/layout.ts';
import type { Outcome } from '../model/outcome.ts';
import { endedBySignal, failed, reasonOf } from '../model/outcome.ts';
import { own } from '../model/own.ts';
import { sumOfUsages } from '../model/spent.ts';
import type { RanCommand } from '../model/visit-record.ts';
import type { NodeKind } from '../nodes/kind.ts';
import { folderInScope, outsideScope } from '../policy/paths.ts';
import { isDisks } from '../system/disk-trouble.ts';
import { removeNow } from '../system/files.ts';
import { diff } from '../workspace/changes.ts';
import { liesIn, shown as shownName } from '../workspace/names.ts';
import { putBack } from '../workspace/put-back.ts';
import type { TakenOut } from '../workspace/sealed.ts';
import type { Changes, Snapshot, Snapshots, Stray } from '../workspace/snapshot.ts';
import { standing } from '../workspace/standing.ts';
import { StoreTrouble, WorkspaceError } from '../workspace/trouble.ts';
import { keepJson, keepLists } from './artifacts.ts';
import { type FinishedAttempt, HoldoutLeak } from './leaks.ts';
import { maskedObject } from './masked.ts';
import { rerun, wantsRerun } from './rerun.ts';
import type { RunSetting } from './run-context.ts';
import { type Sealing, sealingOf } from './sealing.ts';
import { waitingWithin } from './shared-budget.ts';
import type { Visit } from './site.ts';
import { siteFor } from './site.ts';

export type AttemptRequest = {
  readonly kind: NodeKind;
  readonly visit: Visit;
  readonly before: Snapshot;
};

export type AttemptResult = {
  readonly outcome: Outcome;
  /** The workspace after the attempt, with violations put back. */
  readonly after: Snapshot;
  /** Paths that were written outside the scope. */
  readonly violations: readonly string[];
  /** What the model calls of this attempt used and cost. */
  readonly usage?: Usage;
  /** The programs of tools and checks that it has run. */
  readonly commands?: readonly RanCommand[];
  /** The state of the run's tools, if it changed. */
  readonly toolState?: JsonObject | undefined;
};

/** Runs attempts, or replays them. Never rejects because of what a node does. */
export interface Attempt {
  run(request: AttemptRequest): Promise<AttemptResult>;
}

const unchanged: Pick<Changes, 'created' | 'modified' | 'deleted'> = {
  created: [],
  modified: [],
  deleted: [],
};

/** Runs nodes on this machine, in the run's workspace. */
export function localAttempt(setting: RunSetting, snapshots: Snapshots): Attempt {
  return {
    async run({ kind, visit, before }) {
      let spent: Usage | undefined;
      const site = siteFor(setting, visit, (usage) => {
        spent = sumOfUsages(spent, usage);
      });
      const costs = () => ({
        commands: site.ran,
        toolState: site.newToolState(),
        ...(spent === undefined ? {} : { usage: spent }),
      });
      const at = nodeLayout(site.nodeDir);
      // Output of an earlier attempt must never count as this one's.
      if (visit.attempt > 1) {
        for (const stale of [
          at.output,
          at.toolState,
          at.response,
          at.reasoning,
          at.verificationResults,
          ...at.rerun,
        ])
          removeNow(stale);
      }
      const began = setting.clock.monotonic();
      const sealing = kind.executable ? sealingOf(setting, visit.node, kind.type) : undefined;
      sealing?.place();
      const ended = await waitingWithin(site.nodeDir, await ran(kind, site, setting.workspace));
      const answered = withWholePlan(await explained(ended, site, setting), site.mask, visit.node);
      if (!kind.executable) {
        await keepJson(at.diff, unchanged);
        return { outcome: answered, after: before, violations: [], ...costs() };
      }
      const found = await recorded(snapshots, before, setting.workspace, sealing, site.ran);
      const holdout = site.hidden.sealed;
      holdout.push(...found.taken.broken.filter((path) => !holdout.includes(path)));
      await site.exchange.save(found.unreadable !== undefined ? undefined : { before, after: found.after });
      if (found.strays.length > 0)
        site.log('warn', 'removed sockets, pipes and devices that the node left in the workspace', {
          count: found.strays.length,
        });
      const byAgent = kind.type === 'codergen';
      // A tool's copy of a whole holdout file is a violation: it is undone and reported as one, not as a leak.
      const undone = byAgent ? [] : (sealing?.copies(before, found.after) ?? []);
      const { nodeDir } = site;
      const changes = diff(before, found.after);
      const shown = (paths: readonly string[]) => paths.map(site.mask);
      await keepLists(at.diff, {
        created: shown(changes.created),
        modified: shown(changes.modified),
        deleted: shown(changes.deleted),
      });
      await leakless({ ...visit, before, after: found.after, outcome: answered, nodeDir, byAgent, undone });
      if (found.unreadable !== undefined) {
        const outcome = failed(
          `${site.mask(found.unreadable)}; everything that the node wrote was undone`,
          'guardrail',
          { broke: true },
        );
        return {
          outcome: visit.signal.aborted ? answered : { ...outcome, ...by(answered) },
          after: found.after,
          violations: holdout.map(site.mask),
          ...costs(),
        };
      }
      const reported = await withPartialWork(answered, found.after, before, site);
      const scope = visit.node.settings;
      const allowed =
        scope.allowed_write_paths === undefined ? undefined : implicitScope(visit, scope.allowed_write_paths);
      // Programs that ended leave sockets behind; pipes and devices are created on purpose.
      const strays = found.strays.filter(({ isSocket }) => !isSocket).map(({ path }) => path);
      const hidden = new Set(site.hidden.paths);
      const isHidden = (path: string): boolean => liesIn(hidden, path);
      // Even a node without a scope may not change the input files, which later nodes verify against.
      const given = new Set(
        allowed === undefined ? outsideScope(setting.inputFiles, implicitScope(visit, [])) : [],
      );
      // A changed mode is allowed: `chmod -R` is not aimed at these files.
      const isGone = (path: string, now: Snapshot): boolean =>
        given.has(path) && before.tree.get(path)?.hash !== now.tree.get(path)?.hash;
      const forbidden = (changed: Changes, now: Snapshot): readonly string[] => [
        ...(allowed === undefined ? [] : outside(changed, allowed)),
        ...pathsOf(changed).filter((path) => isHidden(path) || isGone(path, now)),
      ];
      const touched = pathsOf(changes).filter(isHidden);
      const copied = sealing?.copies(before, found.after, holdout.length > 0) ?? [];
      // A node that replaces a folder above a holdout path would decide where the holdout is placed next.
      const lost = found.taken.blocked;
      const violations = [...new Set([...forbidden(changes, found.after), ...copied, ...lost])];
      // Files created in place of hidden or holdout files are removed already, so that no diff has them.
      const made = [
        ...site.hidden.made,
        ...holdout,
        ...(allowed === undefined ? [] : outsideScope(strays, allowed)),
      ];
      if (violations.length + made.length > 0) {
        let { after } = found;
        if (violations.length > 0) {
          const may = (path: string) =>
            !isHidden(path) &&
            !given.has(path) &&
            (allowed === undefined || outsideScope([path], allowed).length === 0);
          const broken = new Set(violations);
          after = await undo(found.after, violations, async (now, paths) => {
            await putBack(snapshots, before, paths, may);
            const then = await snapshots.take(now);
            const left = diff(before, then);
            return [then, [...forbidden(left, then), ...pathsOf(left).filter((path) => broken.has(path))]];
          });
        }
        const named = shown([...new Set([...violations, ...made])].sort());
        // A node that also broke may leave only by an edge whose condition is true.
        const broke = reported.status === 'fail' && reported.broke;
        const also = broke ? ` (the node also failed: ${reasonOf(reported)})` : '';
        const outcome = failed(
          `guardrail_violation: wrote disallowed files: ${named.join(',')}${whereHidden([...new Set([...site.hidden.made, ...touched])])}${whereSealed(holdout, lost, copied)}${whereGiven(violations.filter((path) => given.has(path)))}${also}`,
          'guardrail',
          { broke },
        );
        // A cancelled attempt did not end: resume repeats the execution from the snapshot before it.
        return {
          outcome: visit.signal.aborted ? reported : { ...outcome, ...by(reported) },
          after,
          violations: named,
          ...costs(),
        };
      }
      if (!wantsRerun(setting, visit, reported))
        return { outcome: reported, after: found.after, violations: [], ...costs() };
      const tookMs = setting.clock.monotonic() - began;
      const again = await rerun(setting, snapshots, reported, { kind, visit, before, tookMs });
      return { outcome: masked(again, site.mask), after: found.after, violations: [], ...costs() };
    },
  };

  /** Ends the run if the node shows a holdout line; the workspace is restored to its state before the node. */
  async function leakless(attempt: FinishedAttempt & Pick<Visit, 'signal'>): Promise<void> {
    // Resume repeats a cancelled attempt.
    if (attempt.signal.aborted) return;
    const leak = await setting.leaks?.afterAttempt(attempt);
    if (leak === undefined) return;
    await snapshots.restore(attempt.before);
    throw new HoldoutLeak(leak);
  }
}

const pathsOf = ({ created, modified, deleted }: Changes): readonly string[] => [
  ...created,
  ...modified,
  ...deleted,
];

/** Undoes changes until none is left. Writes of a program that outlived its node count as that node's: otherwise they would
 *  enter the snapshot that later nodes start from. */
async function undo(
  after: Snapshot,
  wrong: readonly string[],
  once: (after: Snapshot, wrong: readonly string[]) => Promise<readonly [Snapshot, readonly string[]]>,
): Promise<Snapshot> {
  let at = after;
  let left = wrong;
  for (let tries = 0; tries < 3 && left.length > 0; tries++) [at, left] = await once(at, left);
  if (left[0] === undefined) return at;
  throw new WorkspaceError(
    `"${shownName(left[0])}" was written again each time it was restored: a program that the node started is still running; end it, then resume`,
  );
}

/** What another outcome of the same attempt keeps of the first one. */
const by = (outcome: Outcome): Pick<Outcome, 'by' | 'denied'> => ({
  ...(outcome.by === undefined ? {} : { by: outcome.by }),
  ...(outcome.denied === undefined ? {} : { denied: outcome.denied }),
});

/** Names the snapshot that holds the partial work of a stalled agent, in the reason and in `stalled.json`. */
async function withPartialWork(
  outcome: Outcome,
  after: Snapshot,
  before: Snapshot,
  site: Pick<ReturnType<typeof siteFor>, 'keep'>,
): Promise<Outcome> {
  if (outcome.status !== 'fail' || outcome.class !== 'stalled') return outcome;
  const { created, modified, deleted } = diff(before, after);
  const partial = {
    reason: outcome.reason,
    snapshot: after.id,
    before: before.id,
    created,
    modified,
    deleted,
  };
  await site.keep('stalled.json', `${JSON.stringify(partial, null, 2)}\n`);
  const files = created.length + modified.length + deleted.length;
  const work = `${files} changed file${files === 1 ? '' : 's'}`;
  return { ...outcome, reason: `${outcome.reason}; its partial work (${work}) is snapshot ${after.id}` };
}

const whereHidden = (paths: readonly string[]): string =>
  paths.length === 0 ? '' : ` (${paths.length} of them at paths hidden from the agent)`;

const whereGiven = (paths: readonly string[]): string =>
  paths.length === 0 ? '' : ` (${paths.length} of them files given to the run as variables)`;

/** The part of a violation that concerns holdout files. */
function whereSealed(broken: readonly string[], lost: readonly string[], copied: readonly string[]): string {
  const counts = [
    ...(broken.length === 0 ? [] : [`${broken.length} of them at sealed paths`]),
    ...(lost.length === 0 ? [] : [`${lost.length} of them in place of a folder above a sealed path`]),
    ...(copied.length === 0 ? [] : [`${copied.length} of them copies of sealed files`]),
  ];
  return counts.length === 0 ? '' : ` (${counts.join(', ')})`;
}

/** A snapshot of the workspace as the node left it, without holdout files. If it cannot be taken, every change is undone,
 *  because it could not be checked. */
async function recorded(
  snapshots: Snapshots,
  before: Snapshot,
  workspace: string,
  sealing: Sealing | undefined,
  ran: readonly RanCommand[],
): Promise<{
  readonly after: Snapshot;
  readonly taken: TakenOut;
  /** Sockets, pipes and devices that it left; they are removed. */
  readonly strays: readonly Stray[];
  readonly unreadable?: string;
}> {
  let taken: TakenOut = { broken: [], blocked: [], linked: false, touched: [] };
  try {
    taken = sealing?.takeOut(ran) ?? taken;
    const after = await snapshots.take(before);
    standing(workspace);
    const strays = snapshots.strays();
    // No snapshot can hold them: a resumed or forked run would be without them.
    const gone = new Set(strays.map(({ path }) => path));
    if (gone.size > 0) await snapshots.restore(after, (path) => gone.has(path));
    return { after, taken, strays };
  } catch (error) {
    if (!(error instanceof WorkspaceError) || error instanceof StoreTrouble || isDisks(error)) throw error;
    // No snapshot has files at holdout paths, so that this removes them as well.
    const after = await undo(before, ['.'], async () => {
      await snapshots.restore(before);
      const then = await snapshots.take(before);
      return [then, pathsOf(diff(before, then))];
    });
    return { after, taken, strays: [], unreadable: error.message };
  }
}

/** Adds hints to a failure: the setting that fixes it if the sandbox seems to be the cause, and whether the system killed
 *  processes for lack of memory. */
async function explained(
  outcome: Outcome,
  site: ReturnType<typeof siteFor>,
  { outOfMemory }: RunSetting,
): Promise<Outcome> {
  const hint = await site.leave(outcome.status === 'fail' && outcome.class !== 'cancelled');
  if (outcome.status !== 'fail') return outcome;
  if (hint !== undefined) return { ...outcome, reason: `${outcome.reason} (${hint})` };
  const { attribution } = outcome;
  const killed = outcome.exitCode === killedInShell || attribution?.why.includes('SIGKILL') === true;
  const count = killed ? (outOfMemory?.since() ?? 0) : 0;
  if (count === 0) return outcome;
  const why = `the system has killed ${count === 1 ? 'a process' : `${count} processes`} meanwhile since no memory was left`;
  // That reason is compared elsewhere and stays unchanged.
  return outcome.reason === endedBySignal && attribution !== undefined
    ? { ...outcome, attribution: { ...attribution, why: `${attribution.why}; ${why}` } }
    : { ...outcome, reason: `${outcome.reason} (${why})` };
}

/** Exit code of a shell whose command was ended by SIGKILL. */
const killedInShell = 137;

/** The node's outcome. Disk errors are thrown: the run stops before this node, and resume repeats it. */
async function ran(kind: NodeKind, site: ReturnType<typeof siteFor>, workspace: string): Promise<Outcome> {
  try {
    return await kind.run(site.node.settings, site);
  } catch (error) {
    if (isWorldTrouble(error) && !isDisks(error, workspace)) {
      return failed(`cannot use the run directory: ${error.message}`, 'infra', { broke: true });
    }
    throw error;
  }
}

/** System errors, such as a missing folder. */
const isWorldTrouble = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && /^E[A-Z]+$/.test(error.code);

/** The response file of a codergen node is always in its scope. */
function implicitScope(visit: Visit, allowed: readonly string[]): readonly string[] {
  const response = visit.node.settings.response_file;
  return response === undefined ? allowed : [...allowed, response];
}

/** Files and links outside the scope, and folders there whose mode was changed. Empty folders do not count. */
function outside(changes: Changes, allowed: readonly string[]): readonly string[] {
  const files = outsideScope([...changes.created, ...changes.modified, ...changes.deleted], allowed);
  const folders = changes.folders.modified.filter((path) => !folderInScope(path, allowed));
  return [...files, ...folders].sort();
}

/** The outcome, masked; a failure if its verification plan holds a secret: with stars it would be a plan of other commands. */
function withWholePlan(outcome: Outcome, mask: (text: string) => string, node: Node): Outcome {
  const clean = masked(outcome, mask);
  const key = node.settings['verification.plan_context_key'];
  const [plan, shown] = [outcome, clean].map(({ updates }) => JSON.stringify(own(updates, key)));
  if (outcome.status === 'fail' || plan === shown) return clean;
  return {
    ...failed(
      `the verification plan ("${key}") holds the value of a secret of the environment, which is masked in every record: use the variable in the command, or unset it`,
      'config',
      { broke: true },
    ),
    ...by(clean),
  };
}

/** Masks secrets in the texts of an outcome. */
function masked(outcome: Outcome, mask: (text: string) => string): Outcome {
  const clean: Outcome = {
    ...outcome,
    label: mask(outcome.label),
    suggested: outcome.suggested.map(mask),
    notes: mask(outcome.notes),
    ...(outcome.denied === undefined ? {} : { denied: outcome.denied.map(mask) }),
    updates: maskedObject(outcome.updates, mask),
  };
  if (clean.status === 'retry') return { ...clean, reason: mask(clean.reason) };
  if (clean.status !== 'fail') return clean;
  const { attribution, command } = clean;
  return {
    ...clean,
    reason: mask(clean.reason),
    ...(command === undefined ? {} : { command: mask(command) }),
    ...(attribution === undefined ? {} : { attribution: { ...attribution, why: mask(attribution.why) } }),
  };
}
