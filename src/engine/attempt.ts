/** One node, once: run it, see what it changed, hold that against its scope. */
import { rm } from 'node:fs/promises';
import type { AttributeValues } from '../model/attribute.ts';
import { present, readAttributes } from '../model/attribute.ts';
import { nodeLayout } from '../model/layout.ts';
import type { Outcome } from '../model/outcome.ts';
import { failed } from '../model/outcome.ts';
import type { NodeKind } from '../nodes/kind.ts';
import { executableAttributes } from '../nodes/kind.ts';
import { folderInScope, outsideScope } from '../policy/paths.ts';
import { writeJson } from '../system/files.ts';
import { diff } from '../workspace/changes.ts';
import { putBack } from '../workspace/restore.ts';
import type { Changes, Snapshot, Snapshots } from '../workspace/snapshot.ts';
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
      const site = siteFor(setting, visit);
      const at = nodeLayout(site.nodeDir);
      // What an earlier attempt said must never be taken for this one's word.
      for (const stale of [at.output, at.response, at.reasoning, at.verificationResults])
        await rm(stale, { force: true });
      const { values, bad } = readAttributes(visit.node.attrs, kind.attributes);
      if (bad[0] !== undefined)
        throw new Error(`Internal: attribute ${bad[0].attribute.key} of a linted node ${bad[0].why}`);
      const reported = masked(await ran(kind, values, site), site.mask);
      if (!kind.executable) {
        await writeJson(at.diff, unchanged);
        return { outcome: reported, after: before, violations: [] };
      }
      const found = await snapshots.take(before);
      const changes = diff(before, found);
      await writeJson(at.diff, {
        created: changes.created,
        modified: changes.modified,
        deleted: changes.deleted,
      });
      const scope = readAttributes(visit.node.attrs, executableAttributes).values;
      const violations =
        scope.allowed_write_paths === undefined
          ? []
          : outside(changes, implicitScope(visit, scope.allowed_write_paths));
      if (scope.allowed_write_paths !== undefined && violations.length > 0) {
        const allowed = implicitScope(visit, scope.allowed_write_paths);
        await putBack(snapshots, before, violations, (path) => outsideScope([path], allowed).length === 0);
        const after = await snapshots.take(found);
        const outcome = failed(
          `guardrail_violation: wrote disallowed files: ${violations.join(',')}`,
          'guardrail',
        );
        // A cancelled stage did not end: its visit is made again, from the snapshot before it.
        return { outcome: cancelled(reported) ? reported : outcome, after, violations };
      }
      const gate = reported.status === 'success' ? truthGate(scope, visit.state.outcomes) : undefined;
      const outcome = gate === undefined ? reported : failed(gate, 'guardrail');
      return { outcome, after: found, violations: [] };
    },
  };
}

const cancelled = (outcome: Outcome): boolean => outcome.status === 'fail' && outcome.class === 'cancelled';

/** The kind's verdict; whatever it throws is our fault and fails the stage as such. */
async function ran(
  kind: NodeKind,
  values: AttributeValues<NodeKind['attributes']>,
  site: ReturnType<typeof siteFor>,
): Promise<Outcome> {
  try {
    return await kind.run(values, site);
  } catch (error) {
    if (isWorldTrouble(error)) {
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

/** Secrets taken out of whatever the outcome says. */
function masked(outcome: Outcome, mask: (text: string) => string): Outcome {
  const text = JSON.stringify(outcome);
  const clean = mask(text);
  return clean === text ? outcome : (JSON.parse(clean) as Outcome);
}
