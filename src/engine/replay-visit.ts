/** Answers a tool's or a check's visit from the record of another run, where everything that it could see is the same. */
import { chmodSync, constants, copyFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { present } from '../model/attribute.ts';
import { sortedKeys } from '../model/canonical.ts';
import type { RunState } from '../model/checkpoint.ts';
import type { Node } from '../model/graph.ts';
import type { Json } from '../model/json.ts';
import { nodeLayout } from '../model/layout.ts';
import type { ReplayOf } from '../model/manifest.ts';
import type { Context, Outcome } from '../model/outcome.ts';
import { own } from '../model/own.ts';
import { sha256 } from '../model/sha256.ts';
import type { RanCommand, RunRecord, VisitRecord } from '../model/visit-record.ts';
import { hashFile } from '../store/artifact-hashes.ts';
import { statesOf } from '../store/visits.ts';
import { beforeWrite } from '../system/fence.ts';
import { GitError } from '../system/git.ts';
import { diff, isNothing } from '../workspace/changes.ts';
import type { Snapshot, Snapshots } from '../workspace/snapshot.ts';
import { StoreTrouble, WorkspaceError } from '../workspace/trouble.ts';
import { firstDifference } from './difference.ts';
import { withoutFolders, withoutTimes } from './normal.ts';

/** A visit that is about to run. */
export type Asking = {
  readonly node: Node;
  readonly state: RunState;
  readonly snapshot: Snapshot;
  readonly nodeDir: string;
};

/** A visit as the record has it. */
export type Taken = {
  readonly outcome: Outcome;
  readonly context: Context;
  readonly counts: { readonly retries: number; readonly calls: number };
  readonly snapshot: Snapshot;
  readonly usage: undefined;
  readonly commands: readonly RanCommand[];
  /** Number of the record. */
  readonly replayed: number;
};

type Unlike = { readonly unlike: string };

/** Commands that have the run's directory and change nothing there but the history, which their state file tells. */
const ours = /^\s*factory order (?:next|prompt|apply|commit|rollback|proof|mend)(?:\s[^;&|<>`$()\n]*)?$/;

/** When a failure was noted: by the engine, whatever the stages do. */
const ownTime = 'last_failure.at';

/** Paths that are named where something differs. */
const mostNamed = 3;

/** SHA-256 of what a stage is told to do: its attributes, and the variables that they name (all of them where it may read
 *  the run's directory). */
export function askedOf(node: Node, variables: Readonly<Record<string, string>>): string {
  const attrs = [...node.attrs.values()].map(({ key, value }) => [key, value.text]);
  const text = JSON.stringify(attrs);
  const named = Object.entries(variables).filter(
    ([name]) => isForTheRun(node) || text.includes(`\${var.${name}}`),
  );
  return sha256(JSON.stringify([attrs, named.sort()]));
}

/** Takes visits over, one after the other. */
export function takerOf(
  from: {
    readonly replayOf: ReplayOf;
    readonly records: readonly RunRecord[];
    readonly artifact: (sha256: string) => string;
    readonly bringHistory: ((command: string) => Promise<void>) | undefined;
  },
  here: {
    readonly runDir: string;
    readonly variables: Readonly<Record<string, string>>;
    readonly snapshots: Snapshots;
    readonly spelling: { readonly was: (text: string) => string; readonly is: (text: string) => string };
  },
): (at: Asking, was: VisitRecord) => Promise<Taken | Unlike> {
  const { replayOf: of } = from;
  const { snapshots, spelling } = here;
  const stateAfter = statesOf(from.records);
  const dirs = [of.run_dir, ...of.aliases].sort((a, b) => b.length - a.length);
  const moved = (value: unknown): unknown => {
    if (typeof value === 'string') return withoutFolders(value, dirs, here.runDir);
    if (Array.isArray(value)) return value.map(moved);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, moved(one)]));
  };

  return async (at, was) => {
    const { node, state, snapshot, nodeDir } = at;
    const then = stateAfter(was.seq - 1);
    const differs =
      unfit(of, node, was) ??
      (was.asked_sha256 === undefined || was.asked_sha256 === askedOf(node, here.variables)
        ? undefined
        : 'its attributes, or the variables that they name, are other ones') ??
      (await otherFiles(was, snapshot)) ??
      otherState(node.id, then, state);
    if (differs !== undefined) return { unlike: differs };
    const damaged = await damagedArtifact(was);
    if (damaged !== undefined) return { unlike: damaged };
    let after = snapshot;
    try {
      if (was.after !== snapshot.id) {
        const wanted = await snapshots.load(was.after);
        // As if the stage had written that now.
        await snapshots.restore(wanted, undefined, { times: 'now' });
        after = await snapshots.take(snapshot);
        if (after.id !== was.after && !isNothing(diff(wanted, after)))
          throw new WorkspaceError('the workspace cannot be made as it was recorded');
      }
      if (isForTheRun(node)) await from.bringHistory?.(commandOf(node));
    } catch (error) {
      const isTheirs = error instanceof WorkspaceError || error instanceof GitError;
      if (!isTheirs || error instanceof StoreTrouble) throw error;
      await snapshots.restore(snapshot);
      return { unlike: error.message };
    }
    await bringArtifacts(was, nodeDir);
    const more = was.retries - (own(then.retry_counts, node.id) ?? 0);
    const retries = (own(state.retry_counts, node.id) ?? 0) + more;
    return {
      outcome: moved(was.outcome) as Outcome,
      context: more > 0 ? { ...state.context, [`internal.retry_count.${node.id}`]: retries } : state.context,
      counts: { retries, calls: own(state.calls, node.id) ?? 0 },
      snapshot: after,
      usage: undefined,
      commands: was.commands ?? [],
      replayed: was.seq,
    };
  };

  /** Which files of the workspace are not as they were, in words. */
  async function otherFiles(was: VisitRecord, now: Snapshot): Promise<string | undefined> {
    if (was.before === now.id) return undefined;
    try {
      const changes = diff(await snapshots.load(was.before), now);
      if (isNothing(changes)) return undefined;
      const { created, modified, deleted } = changes;
      const paths = [...modified, ...created, ...deleted];
      const more = paths.length - mostNamed;
      const named = paths.slice(0, mostNamed).join(', ') || 'modes or folders';
      return `the workspace before it is another one: ${named}${more > 0 ? ` and ${more} more` : ''}`;
    } catch (error) {
      if (!(error instanceof WorkspaceError)) throw error;
      return 'the workspace before it is another one';
    }
  }

  /** What of the run's state, as a stage may see it, is not as it was, in words. */
  function otherState(id: string, then: RunState, now: RunState): string | undefined {
    const asItWas = !of.changed.some((what) => /^(?:var|prompt) /.test(what));
    const clean = (text: string) => (asItWas ? withoutTimes(text) : text);
    const spelled = (value: unknown, spell: (text: string) => string) =>
      clean(spell(JSON.stringify(value === undefined ? null : sortedKeys(value as Json))));
    const parts: [string, unknown, unknown][] = [
      ['context key', { ...then.context, current_node: id }, now.context],
      ['who set context key', then.origins, now.origins],
      ['the outcome of', then.outcomes, now.outcomes],
      ['the last', { outcome: then.last_outcome, failure: then.last_failure }, lastOf(now)],
    ];
    for (const [what, old, fresh] of parts) {
      if (spelled(old, spelling.was) === spelled(fresh, spelling.is)) continue;
      const [a, b] = [old as Record<string, unknown>, fresh as Record<string, unknown>];
      for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
        if (key === ownTime) continue;
        const [one, other] = [spelled(own(a, key), spelling.was), spelled(own(b, key), spelling.is)];
        if (one !== other) return `${what} ${key} is not as it was: ${firstDifference(one, other).inWords}`;
      }
    }
    return undefined;
  }

  async function damagedArtifact(was: VisitRecord): Promise<string | undefined> {
    for (const [name, hash] of Object.entries(was.artifacts ?? {})) {
      const is = await hashFile(from.artifact(hash));
      if (is !== hash) return `its recorded artifact ${name} is ${is === undefined ? 'gone' : 'damaged'}`;
    }
    return undefined;
  }

  /** Puts into the node's folder what the visit left there. */
  async function bringArtifacts(was: VisitRecord, nodeDir: string): Promise<void> {
    for (const [name, hash] of Object.entries(was.artifacts ?? {})) {
      const target = join(nodeDir, name);
      beforeWrite(target);
      mkdirSync(dirname(target), { recursive: true });
      copyFileSync(from.artifact(hash), target, constants.COPYFILE_FICLONE);
      if (target === nodeLayout(nodeDir).context) chmodSync(target, 0o444);
    }
  }
}

const lastOf = ({ last_outcome, last_failure }: RunState) => ({
  outcome: last_outcome,
  failure: last_failure,
});

const commandOf = (node: Node): string => present(node.attrs, 'tool_command')?.value.text ?? '';
const isForTheRun = (node: Node): boolean => present(node.attrs, 'access') !== undefined;

/** Why no record of this node can answer, whatever the workspace holds; or undefined. */
function unfit(of: ReplayOf, node: Node, was: VisitRecord): string | undefined {
  if (was.artifacts === undefined || was.artifacts_more !== undefined)
    return 'the record does not have all that it left in its folder';
  const forTheRun = isForTheRun(node);
  if (forTheRun && !ours.test(commandOf(node).replace(/\$\{var\.[A-Za-z0-9_.-]+\}/g, '')))
    return 'it has access to the run’s own directory, and no record says what it did there';
  const texts = [...node.attrs.values()].map(({ value }) => value.text);
  const changed = of.changed.find((what) => {
    const [, name] = /^var (.*)$/s.exec(what) ?? [];
    if (name !== undefined) return forTheRun || texts.some((text) => text.includes(`\${var.${name}}`));
    return what === 'env_pass' || what === 'pipeline' || (forTheRun && /^prompt/.test(what));
  });
  return changed === undefined ? undefined : `it may see what is another now: ${changed}`;
}
