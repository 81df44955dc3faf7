/** Executes a run: takes its lock, opens its snapshots and journals, creates its agents, and runs the loop. */
import { realpathSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createAgents } from '../agents/index.ts';
import type { Caps } from '../core/budget/limits.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import type { Graph } from '../core/graph.ts';
import { unreachable } from '../core/json.ts';
import { backendOf } from '../core/pipeline.ts';
import { quoteWord } from '../core/policy/words.ts';
import type { RunState } from '../core/records/checkpoint.ts';
import { historyLayout, layout } from '../core/records/layout.ts';
import type { RunResult } from '../core/records/result.ts';
import { withFlags } from '../core/settings/typing.ts';
import { allPassed } from '../engine/environment.ts';
import { eventWriter } from '../engine/event-log.ts';
import { executeHere } from '../engine/layers/index.ts';
import { runLoop } from '../engine/loop.ts';
import type { RunContext, Texts } from '../engine/run-context.ts';
import { parkAbove } from '../engine/shared-budget.ts';
import { treesOf } from '../git/history.ts';
import { openHoldout, revealHoldout, revealHoldoutIfPossible, type SealedHoldout } from '../holdout/mount.ts';
import { diskError } from '../platform/files/disk-error.ts';
import { beforeRemaking, beforeWrite, fence, Superseded } from '../platform/files/fence.ts';
import { settleTree } from '../platform/files/flush-tree.ts';
import { removeTree } from '../platform/files/remove.ts';
import { writeFileAtomic } from '../platform/files/write.ts';
import { packageRoot } from '../platform/package.ts';
import { realSpawn } from '../platform/process/spawn.ts';
import { OutOfMemory } from '../platform/process/spawn-error.ts';
import { confining } from '../platform/sandbox/spawn.ts';
import { backgroundFlush } from '../store/background.ts';
import { withOwnHash } from '../store/chain.ts';
import { settleChange } from '../store/inputs.ts';
import { type Closing, closeAll } from '../store/journal.ts';
import { acquireLock, livingOwners, locksIn } from '../store/lock.ts';
import type { FormerOwner } from '../store/lock-file.ts';
import { marksByPath } from '../store/marks.ts';
import { nextCommand, resultOf } from '../store/result.ts';
import { openRunJournal } from '../store/run-journal.ts';
import { listingOf } from '../store/runs.ts';
import { auditOf } from './audit-gate.ts';
import { openRunBudget } from './budget.ts';
import { openRunExtensions } from './extensions.ts';
import {
  diskStop,
  finishedRun,
  flushed,
  openEndRecords,
  releaseLock,
  removeLeftovers,
  settleRun,
} from './finish-run.ts';
import { schemaOf } from './inputs.ts';
import { kinds } from './kinds.ts';
import type { AgentAssignment } from './resolve-agents.ts';
import { restoreWorkspace } from './restore-workspace.ts';
import { prepareResumeChange, type ResumeChange } from './resume-changes.ts';
import { loadRunState, lostTime, processMarker } from './run-state.ts';
import { sandboxOf } from './sandbox.ts';
import { keptSecrets } from './secrets.ts';
import type { Doors, Finished, RunFlags } from './types.ts';
import { endLeftovers } from './unchanged-inputs.ts';
import { writeStart } from './write-start.ts';

/** Milliseconds within which one signal may arrive twice: `npx` passes on the signal that the terminal sends to all processes. */
const oneSignalMs = 100;

const waitFor = (runDir: string, cwd: string): string =>
  `wait for its end, or stop it with Ctrl-C where it runs; ${listingOf(runDir, cwd)} tells how it stands`;

/** Takes the run's lock, restores its workspace to the checkpoint, and runs it to its end. */
export async function executeRun(
  graph: Graph,
  runDir: string,
  given: {
    casting: AgentAssignment;
    inputs: Texts;
    caps: Caps;
    resumed: boolean;
    /** This process has waited out a suspension of the run. */
    waited?: boolean;
    change?: ResumeChange;
  },
  flags: RunFlags,
  doors: Doors,
): Promise<Finished | Refusal> {
  const at = layout(runDir);
  const answer = await acquireLock(runDir, {
    clock: doors.clock,
    takeOver: flags.takeOver === true,
  });
  if (answer.kind === 'refused')
    return refused('run-locked', answer.why, answer.fix ?? answer.takeOver ?? waitFor(runDir, doors.cwd));
  const { lock } = answer;
  const over = new AbortController();
  const signal = AbortSignal.any([doors.signal, lock.lost]);
  // After another process has taken over the run, this one changes nothing in it, not even with calls in progress.
  const folders = new Set([runDir, realpathSync.native(runDir)]);
  const fences = [...folders].map((folder) => fence(folder, lock.assertOwner, lock.successor));
  reportStop(doors, over.signal);
  /** The command that resumes the run. */
  let again: string | undefined;
  let stopped: SealedHoldout | undefined;
  let ending: RunResult | undefined;
  /** Open writers, closed in the end. */
  const open: Closing[] = [];
  try {
    const stands = await loadRunState(runDir);
    if ('problems' in stands) return stands;
    const { history } = stands;
    const manifest = given.change?.manifest ?? stands.manifest;
    const loaded = history.checkpoint;
    const finished = await finishedRun(manifest, loaded, runDir, doors);
    if (finished !== undefined) return finished;
    // Another process may have resumed the run between its creation and our lock.
    const resumed = given.resumed || lock.epoch > 1;
    again = await nextCommand(
      manifest,
      { status: 'interrupted', exitNode: null, failed: undefined, byModel: false },
      runDir,
      doors.cwd,
      doors.called ?? { program: 'factory' },
    );
    doors.parting?.(again);
    const holdout = await openHoldout(runDir, manifest, doors.env);
    if ('problems' in holdout) return holdout;
    const { sealed } = holdout;
    stopped = sealed;
    const sandbox = await sandboxOf(
      graph,
      {
        runsDir: dirname(runDir),
        workdir: manifest.original_workdir,
        holdoutFrom: manifest.holdout?.from,
      },
      flags.sandbox ?? (manifest.sandbox?.by === '--sandbox' ? manifest.sandbox.asked : undefined),
      doors,
    );
    if ('problems' in sandbox) return sandbox;
    const marker = processMarker(runDir, manifest);
    let ended = 0;
    if (resumed) {
      const { takenOver } = lock;
      if (takenOver !== undefined) doors.log('warn', ...takeoverNotice(takenOver));
      ended = await endLeftovers(runDir, manifest, loaded, livingOwners(runDir));
      await removeLeftovers(runDir);
      await settleChange(runDir, history.manifestSha256);
      if (ended > 0)
        doors.log('warn', 'ended processes that an earlier engine left running', { processes: ended });
      beforeWrite(at.scratch);
      await removeTree(at.scratch);
    }
    const { account } = sandbox;
    const enforcing = { ...manifest, sandbox: account, not_enforced: account.missing };
    if (account.asked === 'auto' && account.used !== 'bwrap')
      doors.log('warn', `nodes run without a sandbox: ${account.why}`, { missing: account.missing });
    const change = given.change && { ...given.change, manifest: enforcing };
    const restored = await restoreWorkspace(runDir, loaded, { resumed, change });
    if ('problems' in restored) return restored;
    const { snapshots, snapshot } = restored;
    const { variables } = given.inputs;
    const about = { graph, runDir, manifest, history, variables, snapshots, sealed };
    const extensions = await openRunExtensions(about, doors);
    if ('problems' in extensions) return extensions;
    const { exchanges, replay, leaks } = extensions;
    if (exchanges !== undefined) open.push(exchanges);
    const options = { runId: manifest.run_id, epoch: lock.epoch };
    const { events, trace } = await openEndRecords(runDir, stands, lock.epoch, doors);
    open.push(events, trace);
    const marks = () =>
      marksByPath({ events: events.mark(), trace: trace.mark(), exchanges: exchanges?.mark() });
    const journal = await openRunJournal(runDir, options, history, marks);
    open.push(journal);
    const { calls } = history;
    const money = await openRunBudget(
      runDir,
      journal,
      { manifest, calls, loaded, resumed, caps: given.caps },
      doors,
    );
    open.push(money);
    const { books } = money;
    const agents = await createAgents(given.casting.plans, {
      env: doors.env,
      clock: doors.clock,
      readFile: (path) => readFile(path, 'utf8'),
    });
    const { maxVisits, commandTimeoutMs: modelCallMs } = given.caps;
    const setting: RunContext = {
      graph: withFlags(graph, { maxVisits, modelCallMs }),
      runId: manifest.run_id,
      runDir,
      workspace: at.workspace,
      clock: doors.clock,
      spawn: confining(realSpawn, sandbox.ladder),
      ownSteps: doors.ownSteps,
      confinement: sandbox.confinement,
      env: doors.env,
      envPass: [...manifest.env_pass, ...flags.envPass],
      secrets: keptSecrets(doors.env, manifest).secrets,
      marker: manifest.marker,
      processMarker: marker,
      epoch: lock.epoch,
      factoryBin: join(packageRoot(), 'dist', 'bin'),
      node: process.execPath,
      variables,
      prompts: given.inputs.prompts,
      inputFiles: given.inputs.inputFiles,
      commandTimeoutMs: given.caps.commandTimeoutMs,
      schema: (reference) => schemaOf(reference, given.inputs.schemas),
      agentFor: (node) => agents.get(backendOf(node)),
      historyEnv: manifest.git === undefined ? {} : historyEnvironment(at.history, at.workspace),
      watcher: doors.watcher,
      log: doors.log,
      outOfMemory: new OutOfMemory(),
      exchanges,
      replay,
      leaks,
      sealed,
    };
    for (const passed of allPassed(setting))
      doors.log('warn', 'env_pass="*": all secrets of the environment are passed', passed);
    const { completed_nodes, parked: parkedBefore, ...before } = loaded;
    let state: RunState = { ...before, epoch: lock.epoch, spent: books.run() };
    if (resumed) {
      const owners = locksIn(runDir, loaded.epoch).filter(({ epoch }) => epoch < lock.epoch);
      const lost = lostTime(loaded, owners);
      const cut = (loaded.cut_ms ?? 0) + lost;
      const sha256 = history.manifestSha256;
      const next = change === undefined ? sha256 : await prepareResumeChange(runDir, change, sha256);
      state = await journal.commit(
        {
          schema_version: 1,
          type: 'Resumed',
          at: doors.clock.now().toISOString(),
          elapsed_ms: loaded.elapsed_ms + lost,
          ...(cut === 0 ? {} : { cut_ms: cut }),
          spent: books.run(),
          snapshot: snapshot.id,
          manifest_sha256: next,
        },
        state,
      );
      await settleChange(runDir, next);
    }
    const writer = eventWriter({ setting, events, trace });
    const answers = given.casting.main !== undefined || (replay !== undefined && manifest.agent.name !== '');
    const agent = answers ? manifest.agent.describe : 'none';
    const start = { manifest, workspace: at.workspace, sandbox, agent, loaded, state, resumed, ended };
    await writeStart(writer, { ...start, takenOver: lock.takenOver }, doors.log);
    const flusher = backgroundFlush([events, trace]);
    open.push(flusher);
    const end = await runLoop({
      setting,
      kinds,
      execute: executeHere,
      snapshots,
      state,
      snapshot,
      caps: money.caps,
      books,
      events,
      trace,
      journal: {
        note: (line) => journal.note(line),
        commit: async (line, before) => {
          lock.assertOwner();
          if (!(await lock.stillOwner()))
            throw new Superseded(
              `the lock of run ${manifest.run_id} is gone: ${at.locks} was removed or taken over; this process stops`,
            );
          return journal.commit(line, before);
        },
      },
      flushLater: flusher.add,
      signal,
      parkedBefore,
      waited: given.waited,
      audit: auditOf(graph, runDir, manifest, doors),
      stopAfter: doors.env['ATTRACTION_TEST_STOP_AFTER_NODE'] || undefined,
    });
    beforeWrite(at.scratch);
    await removeTree(at.scratch);
    const { parked } = end;
    if (parked !== undefined) await parkAbove(doors.env, parked);
    const written = marks();
    for (const one of [flusher, events, trace, journal, money]) await one.close();
    exchanges?.close();
    revealHoldout(at.workspace, sealed);
    stopped = undefined; // The files are placed; placing them again on a full disk would lose them.
    // The workspace of an interrupted or suspended run is restored by its resume, so it need not be flushed.
    if (end.interrupted || parked !== undefined)
      await settleTree(runDir, [at.workspace, at.snapshots, at.history]);
    else await settleRun(runDir);
    const result = await resultOf(manifest, runDir, treesOf, end, doors.cwd, doors.called, written);
    await writeFileAtomic(at.result, withOwnHash(result), flushed);
    ending = result;
    return { result, code: end.ending.code };
  } catch (error) {
    // If another process took over the run, that is the cause of any error.
    lock.assertOwner();
    // If the run directory was removed, that is.
    if (!(error instanceof Superseded)) beforeRemaking(at.manifest);
    const trouble = diskError(error);
    if (trouble === undefined) throw error;
    revealHoldoutIfPossible(at.workspace, stopped);
    throw diskStop(runDir, trouble, error, again ?? `factory resume ${quoteWord(runDir)}`);
  } finally {
    over.abort();
    await closeAll(open);
    await releaseLock(lock, ending, doors);
    for (const open of fences) open();
  }
}

/** Logs at the first signal what it does and what a second one would do. */
function reportStop({ signal, clock, log }: Doors, over: AbortSignal): void {
  const report = async () => {
    await clock.sleep(oneSignalMs, over);
    if (!over.aborted)
      log('warn', 'stopping: ending the node and saving the run; a second signal stops at once', {
        signal: String(signal.reason),
      });
  };
  if (signal.aborted) return;
  signal.addEventListener('abort', () => void report(), { once: true, signal: over });
}

function takeoverNotice({
  pid,
  host,
  how,
  heartbeat,
}: FormerOwner): [string, Record<string, string | number>] {
  const facts = { pid, host, heartbeat };
  switch (how) {
    case 'gone':
      return ['took the run over: its previous owner has ended', facts];
    case 'silent':
      return ['took the run over: its previous owner missed its heartbeat', facts];
    case 'stopped':
      return [
        'took the run over: its previous owner is stopped, and changes nothing when it continues',
        facts,
      ];
    default:
      return unreachable(how);
  }
}

const historyEnvironment = (history: string, workspace: string): Readonly<Record<string, string>> => ({
  GIT_DIR: history,
  GIT_WORK_TREE: workspace,
  GIT_INDEX_FILE: historyLayout(history).index,
});
