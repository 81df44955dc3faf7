/** Creates runs: the directory of a run that begins with a seed. */
import { join, resolve } from 'node:path';
import type { Diagnostic, Refusal } from '../../core/diagnostic.ts';
import { inWorkspace, type Layout, layout } from '../../core/records/layout.ts';
import type { Holdout, Manifest, SealedFile } from '../../core/records/manifest.ts';
import { sha256 } from '../../core/sha256.ts';
import { copyNotes } from '../../holdout/seal.ts';
import { WorkspaceError } from '../../platform/files/workspace-error.ts';
import { writeFileAtomic, writeJson } from '../../platform/files/write.ts';
import { packageVersion } from '../../platform/package.ts';
import { immutableFiles, textsByName } from '../../run/inputs.ts';
import type { RunHistory } from '../../run/run-journal.ts';
import type { Snapshot, Snapshots } from '../../workspace/snapshot.ts';
import type { Inputs } from '../inputs.ts';
import { setupFor, setupNow } from '../project-setup.ts';
import { scriptProblem, usesScript } from '../resolve-agents.ts';
import { type Sandbox, sandboxOfRun } from '../sandbox.ts';
import { type Host, keptScript, type RunFlags, type Where } from '../types.ts';
import { createAtomically, InterruptedCreation } from './run-directory.ts';
import { type RunTerms, type TermsRequest, termsOf } from './terms.ts';

type Problem = { readonly problem: Diagnostic };

/** What a run begins with: a workdir, or the beginning of another run. */
export type RunSeed = TermsRequest & {
  readonly inputs: Inputs;
  /** Code of a refusal for its files. */
  readonly code: 'workdir' | 'snapshots';
  /** Absolute; empty if the run begins with an empty tree. */
  readonly workdir: string;
  /** Where the holdout comes from, if there is one. */
  readonly holdout: { readonly from: string } | undefined;
  /** Texts that the run keeps, by name, besides those of variables. */
  readonly keep: Readonly<Record<string, string>>;
  /** Whether the text of a variable is to be written to the workspace too, by the name of its file. */
  readonly isNew: (stored: string) => boolean;
  /** Stores `texts`, and fills the workspace and the history of the new run; `goOn` throws once the run is cancelled. */
  workspace(
    at: Layout,
    terms: RunTerms,
    texts: readonly string[],
    goOn: () => void,
  ): Promise<SeedWorkspace | Problem>;
  /** Seals the holdout, of which the workspace has no file then. `files` are those that were sealed. */
  seal(at: Layout): Promise<
    | {
        readonly holdout: Holdout | undefined;
        readonly files: readonly SealedFile[];
        readonly notes: readonly string[];
      }
    | Problem
  >;
  /** Writes the journal, and what the executions in it left; `final` is the run's directory to be. Answers the state of the run,
   *  where that need not be read. */
  journal(
    building: string,
    manifest: Manifest,
    start: { readonly at: string; readonly snapshot: string; readonly final: string },
  ): Promise<{ readonly history: RunHistory | undefined; readonly notes: readonly string[] }>;
};

export type SeedWorkspace = {
  readonly snapshots: Snapshots;
  /** The snapshot of which the workspace is a copy. */
  readonly before: Snapshot | undefined;
  readonly notes: readonly string[];
  /** Where the run comes from. */
  readonly origin: Pick<
    Manifest,
    | 'pipeline_path'
    | 'pipeline_file'
    | 'original_workdir'
    | 'base_commit'
    | 'workdir_kind'
    | 'git'
    | 'forked_from'
    | 'replay_of'
    | 'changes'
  >;
};

/** A run that this process has just created. */
export type NewRun = {
  readonly runDir: string;
  readonly terms: RunTerms;
  readonly sandbox: Sandbox;
  /** Its state, where that need not be read; its snapshots were opened before the folder had its name. */
  readonly state: NewState | undefined;
};

export type NewState = {
  readonly manifest: Manifest;
  readonly history: RunHistory;
  readonly snapshots: Snapshots;
  readonly snapshot: Snapshot;
};

/** Why the script of a run cannot answer for its inputs. */
export const scriptMismatch = (
  { script: { script }, agents }: Pick<RunTerms, 'script' | 'agents'>,
  inputs: Inputs,
): Refusal | undefined => {
  const problem =
    script !== undefined && usesScript(agents) ? scriptProblem(script.script, inputs) : undefined;
  return problem && { problems: [problem] };
};

/** Creates the run directory. Nothing is left behind when it refuses or fails. */
export async function create(
  { runsDir, runId }: Where,
  seed: RunSeed,
  flags: RunFlags,
  host: Host,
): Promise<NewRun | Refusal> {
  const terms = await termsOf(seed, flags, host);
  if ('problems' in terms) return terms;
  const mismatch = scriptMismatch(terms, seed.inputs);
  if (mismatch !== undefined) return mismatch;
  const { former, workdir: original_workdir, holdout } = seed;
  const setup = setupOf(seed, flags, host);
  if (setup !== undefined && 'problems' in setup) return setup;
  const before = { original_workdir, holdout, sandbox: former?.manifest.sandbox };
  const sandbox = await sandboxOfRun(seed.graph, before, runsDir, flags.sandbox, host);
  if ('problems' in sandbox) return sandbox;
  const { env, clock, signal } = host;
  const startedAt = clock.now().toISOString();
  // A word that no other process uses.
  const unique = sha256(`${runsDir}\0${startedAt}\0${clock.monotonic()}`).slice(0, 16);
  const request = { runId, unique, runsDir, startedAt, env, signal };
  const begins = { seed, terms, sandbox, setup, request };
  const made = await createAtomically(request, seed.code, (building, final) =>
    fill(begins, building, final).catch((error: unknown) => {
      // The folder that is being filled is removed; the same file is in the forked run.
      if (error instanceof WorkspaceError && former !== undefined)
        error.message = error.message.replaceAll(building, () => resolve(former.runDir));
      throw error;
    }),
  );
  if ('problems' in made) return made;
  for (const note of made.notes) host.log('warn', note);
  return { runDir: made.runDir, terms, sandbox, state: made.state };
}

type Begins = {
  readonly seed: RunSeed;
  readonly terms: RunTerms;
  readonly sandbox: Sandbox;
  readonly setup: Manifest['setup'];
  readonly request: Parameters<typeof createAtomically>[0];
};

async function fill(begins: Begins, building: string, final: string) {
  const { seed, terms, request } = begins;
  const at = layout(building);
  const goOn = (): void => {
    if (request.signal.aborted) throw new InterruptedCreation();
  };
  const keep = textsToKeep(seed, terms);
  const texts = [...Object.values(seed.inputs.files), ...Object.values(keep)];
  const filled = await seed.workspace(at, terms, texts, goOn);
  if ('problem' in filled) return filled;
  await writeInputs(seed, at);
  const sealed = await seed.seal(at);
  if ('problem' in sealed) return sealed;
  const { snapshots } = filled;
  const snapshot = await snapshots.take(filled.before, goOn);
  // If the runs directory lies inside a package, that package's `type` must not apply to the product's files.
  await writeJson(at.barrier, { private: true });
  const manifest: Manifest = {
    ...manifestOf(begins, layout(final).workspace, filled.origin),
    ...(sealed.holdout === undefined ? {} : { holdout: sealed.holdout }),
    ...textsByName(keep),
    files: await immutableFiles(building),
  };
  await writeJson(at.manifest, manifest);
  const start = { at: request.startedAt, snapshot: snapshot.id, final };
  const { history, notes } = await seed.journal(building, manifest, start);
  return {
    notes: [...filled.notes, ...sealed.notes, ...copyNotes(snapshot.tree, sealed.files), ...notes],
    state: history && { manifest, history, snapshots, snapshot },
  };
}

const manifestOf = (
  { seed, terms, sandbox: { account }, setup, request: { runId, unique, startedAt } }: Begins,
  workspace: string,
  origin: SeedWorkspace['origin'],
): Manifest => ({
  schema_version: 1,
  run_id: runId,
  ...origin,
  workspace_path: workspace,
  started_at: startedAt,
  factory_version: packageVersion(),
  node_version: process.version,
  ...terms.facts,
  ...(setup === undefined ? {} : { setup }),
  ...(origin.forked_from && { forked_from: withSetup(origin.forked_from, seed.former, setup) }),
  marker: `${runId}.${unique}`,
  sandbox: account,
  not_enforced: account.missing,
});

/** A fork has the setup of its run, unless it accepts what the workdir has now. */
function setupOf({ former, workdir }: RunSeed, { acceptChanges }: RunFlags, { env }: Host) {
  if (former === undefined) return setupFor(workdir, env);
  return acceptChanges ? setupNow(former.manifest, env) : former.manifest.setup;
}

/** A fork that has other setup commands says it. */
const withSetup = (
  from: NonNullable<Manifest['forked_from']>,
  former: RunSeed['former'],
  setup: Manifest['setup'],
): typeof from =>
  former?.manifest.setup?.sha256 === setup?.sha256 ? from : { ...from, changed: [...from.changed, 'setup'] };

async function writeInputs({ inputs, isNew }: RunSeed, at: Layout): Promise<void> {
  for (const [name, { file }] of Object.entries(inputs.variables)) {
    const text = inputs.files[name];
    if (file !== undefined && text !== undefined && isNew(file.stored))
      await writeFileAtomic(join(at.workspace, inWorkspace.inputs, file.stored), text);
  }
}

/** Texts that the run keeps, by name: those of the seed, and the answers of its agent. */
function textsToKeep({ former, keep }: RunSeed, { script: { text, script } }: RunTerms) {
  const kept = former?.manifest.agent.script;
  const answers = text ?? (kept === undefined ? undefined : script?.text);
  return answers === undefined ? keep : { ...keep, [kept?.stored ?? keptScript]: answers };
}
