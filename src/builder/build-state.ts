/** The progress of a build, which its steps keep in the state of the run's tools. */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import type { Json, JsonObject } from '../core/json.ts';
import { notesOf } from '../core/orders/notes.ts';
import type { WorkOrder } from '../core/orders/work-order.ts';
import { type BuildState, buildStateSchema, type CurrentOrder } from '../core/records/build.ts';
import { type HistoryStart, readHistoryStart } from '../git/history.ts';
import { isFolder } from '../platform/files/read.ts';
import { isMissing } from '../platform/files/write.ts';
import type { ToolState } from '../platform/tool-state.ts';
import { type LoadedOrder, loadOrders } from '../run/orders.ts';
import type { StepContext } from './step-context.ts';

/** The state that a step finds; undefined before the first order. */
export function readBuildState({
  state,
}: {
  readonly state: ToolState;
}): { readonly state: BuildState | undefined } | { readonly problem: string } {
  const read = state.read();
  if ('problem' in read) return read;
  if (read.value === undefined) return { state: undefined };
  const parsed = buildStateSchema().safeParse(read.value);
  return parsed.success
    ? { state: parsed.data }
    : { problem: `the state of the build is not valid: ${z.prettifyError(parsed.error)}` };
}

export const writeBuildState = ({ state }: { readonly state: ToolState }, now: BuildState): Promise<void> =>
  state.write(now);

/** The state of a build: its work orders, which one is current, and which are done. */
export type Build = {
  readonly orders: readonly LoadedOrder[];
  readonly state: BuildState;
  readonly start: HistoryStart;
};

/** Reads orders and state; refuses orders that changed since they were first read. */
export async function openBuild(
  place: StepContext,
  options: { readonly allowExempt: boolean },
): Promise<Build | { readonly problem: string }> {
  const start = await readHistoryStart(place.run.history).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (start === undefined)
    return { problem: `${place.run.root} has no git history: it was not started for a build` };
  const read = readBuildState(place);
  if ('problem' in read) return read;
  const state: BuildState = read.state ?? {
    version: 1,
    digests: {},
    allow_exempt: options.allowExempt,
    head: start.first_commit,
    done: [],
    current: null,
  };
  const loaded = await loadOrders(place.workspace, {
    allowExempt: state.allow_exempt || options.allowExempt,
  });
  if ('problem' in loaded) return loaded;
  const known = Object.keys(state.digests);
  if (known.length > 0) {
    const found = new Map(loaded.orders.map((one) => [one.order.id, one.digest]));
    const edited = known.filter((id) => found.get(id) !== state.digests[id]);
    const added = [...found.keys()].filter((id) => state.digests[id] === undefined);
    if (edited.length + added.length > 0) {
      return {
        problem: `work orders changed since the build began: ${[...edited, ...added].join(', ')}; start a new run for another plan`,
      };
    }
  }
  const digests = Object.fromEntries(loaded.orders.map((one) => [one.order.id, one.digest]));
  return { orders: loaded.orders, state: { ...state, digests }, start };
}

/** Marks orders as done if a commit of the workdir carries their digest and their promised files exist. */
export async function skipApplied(place: StepContext, build: Build): Promise<BuildState> {
  const done = [...build.state.done];
  for (const { order, digest } of build.orders) {
    if (done.some((one) => one.id === order.id)) continue;
    const commit = build.start.applied[digest];
    if (commit === undefined || (await missingPromise(place.workspace, order)) !== undefined) continue;
    done.push({ id: order.id, commit, subject: order.title, attempts: 0 });
  }
  return { ...build.state, done };
}

/** The first promised file that does not exist. */
const missingPromise = (workspace: string, order: WorkOrder): Promise<string | undefined> =>
  firstOf(order.postconditions, async ({ path }) => !(await isFile(workspace, path)));

/** The first precondition of an order that does not hold, as a sentence, or the first folder among its context files. Links
 *  are followed. */
export async function preflightProblem(workspace: string, order: WorkOrder): Promise<string | undefined> {
  for (const { kind, path } of order.preconditions) {
    const there = await isFile(workspace, path);
    if (kind === 'file_exists' && !there) return `${path} must exist before ${order.id}, but does not`;
    if (kind === 'file_absent' && there) return `${path} must not exist before ${order.id}, but does`;
  }
  // The prompt would call it a missing file.
  const folder = order.context_files.find((path) => isFolder(join(workspace, path)));
  return folder === undefined
    ? undefined
    : `context_files of ${order.id} names ${folder}, which is a folder: name the files in it`;
}

async function firstOf<T extends { path: string }>(
  all: readonly T[],
  is: (one: T) => Promise<boolean>,
): Promise<string | undefined> {
  for (const one of all) if (await is(one)) return one.path;
  return undefined;
}

async function isFile(workspace: string, path: string): Promise<boolean> {
  try {
    return (await stat(join(workspace, path))).isFile();
  } catch (error) {
    // A cycle of links is not a file either.
    if (isMissing(error) || (error instanceof Error && 'code' in error && error.code === 'ELOOP'))
      return false;
    throw error;
  }
}

/** The current work order, or why there is none. */
export function inHand(
  build: Build,
): { readonly loaded: LoadedOrder; readonly current: CurrentOrder } | { readonly problem: string } {
  const { current } = build.state;
  if (current === null) return { problem: 'there is no current work order: run "factory order next" first' };
  const loaded = build.orders.find((one) => one.order.id === current.id);
  return loaded === undefined
    ? { problem: `${current.id} is the current work order, but no such order exists` }
    : { loaded, current };
}

/** Orders that a model was asked to carry out and whose answers changed no file, although their notes do not allow that. An
 *  order that a commit of the workdir has carried out before is none of them. */
export const unchangedOrders = ({ orders, start }: Build, { done }: BuildState): readonly string[] =>
  orders.flatMap(({ order, digest }) => {
    const is = done.find(({ id }) => id === order.id);
    const isEmpty = is !== undefined && is.commit === null && is.attempts > 0;
    return isEmpty && !notesOf(order).mayBeEmpty && start.applied[digest] === undefined ? [order.id] : [];
  });

/** Commits of this run, for the context. */
export const buildCommits = (state: BuildState): readonly Json[] =>
  state.done
    .filter((one) => one.commit !== null && one.attempts > 0)
    .map(
      (one): JsonObject => ({
        work_order: one.id,
        commit: one.commit,
        subject: one.subject,
        attempts: one.attempts,
      }),
    );
