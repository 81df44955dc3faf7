/** Opens the state of a run and its workspace, after it has removed what an earlier owner left. */
import { dirname } from 'node:path';
import { openHoldout } from '../../holdout/mount.ts';
import { nextCommand } from '../../run/next-command.ts';
import { titleOf } from '../inspect/title.ts';
import { type Sandbox, sandboxOfRun } from '../sandbox.ts';
import { clearLeftovers } from './leftovers.ts';
import type { LoadedRun, OwnRun } from './own-run.ts';
import { restoreWorkspace } from './restore-workspace.ts';
import { finishedRun } from './run-end.ts';
import { processMarker } from './run-state.ts';

/** The run as its records have it; `manifest` has the changes of this resume. Ends here if the run has finished. */
export async function recordedState(run: OwnRun) {
  const { runDir, task, reader, lock, host } = run;
  const resumes = 'change' in task;
  // With a later epoch another process has had the run between its creation and our lock.
  const created = resumes || lock.epoch > 1 ? undefined : task.state;
  const recorded = created ?? (await reader.stored());
  if ('problems' in recorded) return recorded;
  const manifest = resumes ? task.change.manifest : recorded.manifest;
  const finished = await finishedRun(manifest, recorded.history, runDir, host);
  if (finished !== undefined) return finished;
  const interrupted = { status: 'interrupted', exitNode: null, failed: undefined, byModel: false } as const;
  const called = host.called ?? { program: 'factory' };
  run.again = await nextCommand(manifest, interrupted, runDir, host.cwd, called);
  host.parting?.(run.again);
  host.watcher.opened?.({ dir: runDir, title: await titleOf(runDir, manifest) });
  return { value: { recorded, created, manifest, resumed: resumes || lock.epoch > 1 } };
}

export async function holdoutOfRun({ runDir, manifest, host }: LoadedRun) {
  const opened = await openHoldout(runDir, manifest, host.env);
  return 'problems' in opened ? opened : { value: { sealed: opened.sealed } };
}

export async function sandboxOfNodes({ runDir, task, manifest, flags, host }: LoadedRun) {
  const sandbox =
    'sandbox' in task
      ? task.sandbox
      : await sandboxOfRun(task.terms.graph, manifest, dirname(runDir), flags.sandbox, host);
  return 'problems' in sandbox ? sandbox : { value: { sandbox } };
}

/** Ends processes and removes files of an earlier owner. */
export async function leftovers(run: LoadedRun & { readonly sandbox: Sandbox }) {
  const { runDir, manifest, resumed, host } = run;
  const { asked, used, why, missing } = run.sandbox.account;
  const marker = processMarker(runDir, manifest);
  const processesEnded = resumed ? await clearLeftovers(run) : 0;
  if (asked === 'auto' && used !== 'bwrap')
    host.log('warn', `nodes run without a sandbox: ${why}`, { missing });
  return { value: { processMarker: marker, processesEnded } };
}

/** The snapshots, and the workspace as the checkpoint has it. `change` has the sandbox of this resume. */
export async function workspaceOfRun(
  run: LoadedRun & { readonly created: Parameters<typeof restoreWorkspace>[3]; readonly sandbox: Sandbox },
) {
  const { runDir, task, recorded, created, resumed } = run;
  const { account } = run.sandbox;
  const manifest = { ...run.manifest, sandbox: account, not_enforced: account.missing };
  const change = 'change' in task ? { ...task.change, manifest } : undefined;
  const restored = await restoreWorkspace(runDir, recorded.history.checkpoint, { resumed, change }, created);
  return 'problems' in restored ? restored : { value: { ...restored, change } };
}
