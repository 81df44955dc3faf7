/** One node, once: run it, see what it changed, hold that against its scope. */
import type { Usage } from '../agents/agent.ts';
import type { AttributeValues } from '../model/attribute.ts';
import { present, readAttributes } from '../model/attribute.ts';
import { nodeLayout } from '../model/layout.ts';
import type { Outcome } from '../model/outcome.ts';
import { endedBySignal, failed, reasonOf } from '../model/outcome.ts';
import { sumOfUsages } from '../model/spent.ts';
import type { RanCommand } from '../model/visit-record.ts';
import type { NodeKind } from '../nodes/kind.ts';
import { executableAttributes } from '../nodes/kind.ts';
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
import { HoldoutLeak, type Stage } from './leaks.ts';
import { maskedObject } from './masked.ts';
import { rerun, wantsRerun } from './rerun.ts';
import { type Sealing, sealingOf } from './sealing.ts';
import { waitingWithin } from './shared-budget.ts';
import type { RunSetting, Visit } from './site.ts';
import { siteFor } from './site.ts';
import { truthGate } from './unfixable.ts';

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
};

/** Where a node runs: here, in a sandbox, on another machine, replayed. Never rejects for what the node does. */
export interface Attempt {
  run(request: AttemptRequest): Promise<AttemptResult>;
}

const unchanged: Pick<Changes, 'created' | 'modified' | 'deleted'> = {
  created: [],
  modified: [],
  deleted: [],
};

/** Runs nodes in this process's machine, in the run's own workspace. */
export function localAttempt(setting: RunSetting, snapshots: Snapshots): Attempt {
  return {
    async run({ kind, visit, before }) {
      let spent: Usage | undefined;
      const site = siteFor(setting, visit, (usage) => {
        spent = sumOfUsages(spent, usage);
      });
      const costs = () => ({ commands: site.ran, ...(spent === undefined ? {} : { usage: spent }) });
      const at = nodeLayout(site.nodeDir);
      // What an earlier attempt said must never be taken for this one's word. Before the first there is nothing.
      if (visit.attempt > 1) {
        for (const stale of [at.output, at.response, at.reasoning, at.verificationResults, ...at.rerun])
          removeNow(stale);
      }
      const { values, bad } = readAttributes(visit.node.attrs, kind.attributes);
      if (bad[0] !== undefined)
        throw new Error(`Internal: attribute ${bad[0].attribute.key} of a linted node ${bad[0].why}`);
      const began = setting.clock.monotonic();
      const sealing = kind.executable ? sealingOf(setting, visit.node, kind.type) : undefined;
      sealing?.place();
      const own = await waitingWithin(site.nodeDir, await ran(kind, values, site, setting.workspace));
      const said = masked(await explained(own, site, setting), site.mask);
      if (!kind.executable) {
        await keepJson(at.diff, unchanged);
        return { outcome: said, after: before, violations: [], ...costs() };
      }
      const found = await recorded(snapshots, before, setting.workspace, sealing, site.ran);
      const judge = site.hidden.sealed;
      judge.push(...found.taken.broken.filter((path) => !judge.includes(path)));
      await site.exchange.save(found.unreadable !== undefined ? undefined : { before, after: found.after });
      if (found.strays.length > 0)
        site.log('warn', 'sockets, pipes and devices that the stage left in the workspace were removed', {
          count: found.strays.length,
        });
      const byAgent = kind.type === 'codergen';
      // A tool's copy of a whole sealed file is a violation, which is put back and told as such.
      const undone = byAgent ? [] : (sealing?.copies(before, found.after) ?? []);
      const { nodeDir } = site;
      const changes = diff(before, found.after);
      const shown = (paths: readonly string[]) => paths.map(site.mask);
      await keepLists(at.diff, {
        created: shown(changes.created),
        modified: shown(changes.modified),
        deleted: shown(changes.deleted),
      });
      await leakless({ ...visit, before, after: found.after, outcome: said, nodeDir, byAgent, undone });
      if (found.unreadable !== undefined) {
        const outcome = failed(
          `${site.mask(found.unreadable)}; all that the stage wrote was put back`,
          'guardrail',
          { broke: true },
        );
        return {
          outcome: visit.signal.aborted ? said : { ...outcome, ...by(said) },
          after: found.after,
          violations: judge.map(site.mask),
          ...costs(),
        };
      }
      const reported = await withPartialWork(said, found.after, before, site);
      const scope = readAttributes(visit.node.attrs, executableAttributes).values;
      const allowed =
        scope.allowed_write_paths === undefined ? undefined : implicitScope(visit, scope.allowed_write_paths);
      // A program that has ended leaves its sockets behind; pipes and devices are made.
      const strays = found.strays.filter(({ isSocket }) => !isSocket).map(({ path }) => path);
      const hidden = new Set(site.hidden.paths);
      const isHidden = (path: string): boolean => liesIn(hidden, path);
      // Whoever may write anywhere may not change what the run was given, which later stages judge by.
      const given = new Set(
        allowed === undefined ? outsideScope(setting.inputFiles, implicitScope(visit, [])) : [],
      );
      // Modes may be: `chmod -R` means no file of its own.
      const isGone = (path: string, now: Snapshot): boolean =>
        given.has(path) && before.tree.get(path)?.hash !== now.tree.get(path)?.hash;
      const forbidden = (changed: Changes, now: Snapshot): readonly string[] => [
        ...(allowed === undefined ? [] : outside(changed, allowed)),
        ...pathsOf(changed).filter((path) => isHidden(path) || isGone(path, now)),
      ];
      // Whoever was not to read a file cannot have changed it either, wherever it was found.
      const touched = pathsOf(changes).filter(isHidden);
      const copied = sealing?.copies(before, found.after, judge.length > 0) ?? [];
      // Where a folder on the way to the judge was replaced, whoever did it would say where the judge is put.
      const lost = found.taken.blocked;
      const violations = [...new Set([...forbidden(changes, found.after), ...copied, ...lost])];
      // What was made in a hidden or sealed file's place is gone already, so that no diff has it.
      const made = [
        ...site.hidden.made,
        ...judge,
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
        // What else was wrong with the stage still decides how it may leave.
        const broke = reported.status === 'fail' && reported.broke;
        const also = broke ? ` (the stage also broke: ${reasonOf(reported)})` : '';
        const outcome = failed(
          `guardrail_violation: wrote disallowed files: ${named.join(',')}${whereHidden([...new Set([...site.hidden.made, ...touched])])}${whereSealed(judge, lost, copied)}${whereGiven(violations.filter((path) => given.has(path)))}${also}`,
          'guardrail',
          { broke },
        );
        // A cancelled stage did not end: its visit is made again, from the snapshot before it.
        return {
          outcome: visit.signal.aborted ? reported : { ...outcome, ...by(reported) },
          after,
          violations: named,
          ...costs(),
        };
      }
      const gate = reported.status === 'success' ? truthGate(scope, visit.state.outcomes) : undefined;
      const outcome = gate === undefined ? reported : { ...failed(gate, 'guardrail'), ...by(reported) };
      if (!wantsRerun(setting, visit, outcome))
        return { outcome, after: found.after, violations: [], ...costs() };
      const tookMs = setting.clock.monotonic() - began;
      const again = await rerun(setting, snapshots, outcome, { kind, values, visit, before, tookMs });
      return { outcome: masked(again, site.mask), after: found.after, violations: [], ...costs() };
    },
  };

  /** Ends the run where the stage shows a sealed line, with the workspace as it was before. */
  async function leakless(stage: Stage & Pick<Visit, 'signal'>): Promise<void> {
    // A cancelled stage is made again.
    if (stage.signal.aborted) return;
    const leak = await setting.leaks?.afterStage(stage);
    if (leak === undefined) return;
    await snapshots.restore(stage.before);
    throw new HoldoutLeak(leak);
  }
}

const pathsOf = ({ created, modified, deleted }: Changes): readonly string[] => [
  ...created,
  ...modified,
  ...deleted,
];

/** Undoes until nothing is left to undo. What a program that outlived its stage wrote meanwhile is that stage's, too: in a
 *  snapshot that others go on from it would be nobody's. */
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
    `"${shownName(left[0])}" was written again each time it was put back: a program that the stage has left behind is still at work; end it, then resume`,
  );
}

const by = (outcome: Outcome): Pick<Outcome, 'by'> => (outcome.by === undefined ? {} : { by: outcome.by });

/** What an agent that was stopped had done by then: the snapshot that holds it is named where people look. */
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
  paths.length === 0 ? '' : ` (${paths.length} of them where files are hidden from the agent)`;

const whereGiven = (paths: readonly string[]): string =>
  paths.length === 0 ? '' : ` (${paths.length} of them what the run was given as variables)`;

/** What of a violation concerns the judge. */
function whereSealed(broken: readonly string[], lost: readonly string[], copied: readonly string[]): string {
  const said = [
    ...(broken.length === 0 ? [] : [`${broken.length} of them at sealed paths`]),
    ...(lost.length === 0 ? [] : [`${lost.length} of them in place of a folder above a sealed path`]),
    ...(copied.length === 0 ? [] : [`${copied.length} of them copies of sealed files`]),
  ];
  return said.length === 0 ? '' : ` (${said.join(', ')})`;
}

/** The workspace as the stage left it, without what is sealed. What cannot be recorded cannot be judged: then everything is
 *  put back. */
async function recorded(
  snapshots: Snapshots,
  before: Snapshot,
  workspace: string,
  sealing: Sealing | undefined,
  ran: readonly RanCommand[],
): Promise<{
  readonly after: Snapshot;
  readonly taken: TakenOut;
  /** Sockets, pipes and devices that it left; they are gone. */
  readonly strays: readonly Stray[];
  readonly unreadable?: string;
}> {
  let taken: TakenOut = { broken: [], blocked: [], linked: false, touched: [] };
  try {
    taken = sealing?.takeOut(ran) ?? taken;
    const after = await snapshots.take(before);
    standing(workspace);
    const strays = snapshots.strays();
    // No snapshot has them: a run that goes on after a cut, or at another place, would be without them.
    const gone = new Set(strays.map(({ path }) => path));
    if (gone.size > 0) await snapshots.restore(after, (path) => gone.has(path));
    return { after, taken, strays };
  } catch (error) {
    if (!(error instanceof WorkspaceError) || error instanceof StoreTrouble || isDisks(error)) throw error;
    // No snapshot has anything at sealed paths, so that this takes it away as well.
    const after = await undo(before, ['.'], async () => {
      await snapshots.restore(before);
      const then = await snapshots.take(before);
      return [then, pathsOf(diff(before, then))];
    });
    return { after, taken, strays: [], unreadable: error.message };
  }
}

/** A failure that smells of the stage's confinement names the setting that mends it, and one of a killed program what may
 *  have killed it. */
async function explained(
  outcome: Outcome,
  site: ReturnType<typeof siteFor>,
  { outOfMemory }: RunSetting,
): Promise<Outcome> {
  const smell = await site.leave(outcome.status === 'fail' && outcome.class !== 'cancelled');
  if (outcome.status !== 'fail') return outcome;
  if (smell !== undefined) return { ...outcome, reason: `${outcome.reason} (${smell})` };
  const { attribution } = outcome;
  const killed = outcome.exitCode === killedInShell || attribution?.why.includes('SIGKILL') === true;
  const count = killed ? (outOfMemory?.since() ?? 0) : 0;
  if (count === 0) return outcome;
  const why = `the system has killed ${count === 1 ? 'a process' : `${count} processes`} meanwhile since no memory was left`;
  // That reason stays as it is; what it stands for is told beside it.
  return outcome.reason === endedBySignal && attribution !== undefined
    ? { ...outcome, attribution: { ...attribution, why: `${attribution.why}; ${why}` } }
    : { ...outcome, reason: `${outcome.reason} (${why})` };
}

/** How a shell tells that SIGKILL has ended its command. */
const killedInShell = 137;

/** The kind's verdict. Trouble with the disk is thrown: the run stops before this stage, and the stage is made again when
 *  the run goes on. */
async function ran(
  kind: NodeKind,
  values: AttributeValues<NodeKind['attributes']>,
  site: ReturnType<typeof siteFor>,
  workspace: string,
): Promise<Outcome> {
  try {
    return await kind.run(values, site);
  } catch (error) {
    if (isWorldTrouble(error) && !isDisks(error, workspace)) {
      return failed(`cannot use the run directory: ${error.message}`, 'infra', { broke: true });
    }
    throw error;
  }
}

/** A disk that is full or a folder that went away is the world's doing. */
const isWorldTrouble = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && /^E[A-Z]+$/.test(error.code);

/** The answer file of a codergen node is its own to write. */
function implicitScope(visit: Visit, allowed: readonly string[]): readonly string[] {
  const response = present(visit.node.attrs, 'response_file')?.value.text.trim();
  return response === undefined ? allowed : [...allowed, response];
}

/** Files and links outside the scope, and folders whose mode was changed there. An empty folder is no file. */
function outside(changes: Changes, allowed: readonly string[]): readonly string[] {
  const files = outsideScope([...changes.created, ...changes.modified, ...changes.deleted], allowed);
  const folders = changes.folders.modified.filter((path) => !folderInScope(path, allowed));
  return [...files, ...folders].sort();
}

/** Secrets taken out of whatever the outcome says: out of its words, never out of its structure. */
function masked(outcome: Outcome, mask: (text: string) => string): Outcome {
  const clean: Outcome = {
    ...outcome,
    label: mask(outcome.label),
    suggested: outcome.suggested.map(mask),
    notes: mask(outcome.notes),
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
