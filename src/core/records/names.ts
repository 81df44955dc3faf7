/** `NODE[@VISIT]`: how users name a finished execution of a node. */
import * as z from 'zod';
import { changeWords, forkChanges } from '../fork-words.ts';
import { once } from '../once.ts';

export type Point = {
  readonly node: string;
  /** 1-based; undefined for the latest finished execution of the node. */
  readonly visit?: number | undefined;
};

/** Why the text is invalid, and what to type instead. */
export type PointProblem = { readonly problem: string; readonly fix: string };

/** Whether it is the name of a snapshot, as in the reason and `stalled.json` of a stalled node. */
export const isSnapshotName = (text: string): boolean => /^[0-9a-f]{64}$/.test(text);

const example = 'write NODE or NODE@VISIT, for example --at check@2';

/** Reads `check` or `check@2`. Executions count from 1. */
export function parsePoint(text: string): Point | PointProblem {
  const shown = JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
  const [node = '', visit, ...more] = text.split('@');
  if (!nodeIdForm.test(node))
    return { problem: `${shown} names no node: an id has letters, digits and "_"`, fix: example };
  if (more.length > 0) return { problem: `${shown} has more than one "@"`, fix: example };
  if (visit === undefined) return { node, visit: undefined };
  const number = /^[0-9]+$/.test(visit) ? Number(visit) : 0;
  if (number < 1 || !Number.isSafeInteger(number))
    return { problem: `${shown}: a visit is a whole number from 1 on`, fix: example };
  return { node, visit: number };
}

/** `after check@2`, for people. */
export const momentText = (moment: {
  readonly node: string;
  readonly visit: number;
  readonly before: boolean;
}): string => `${moment.before ? 'before' : 'after'} ${moment.node}@${moment.visit}`;

/** `RUN after check@2, with other check.tool_command`: where a run was forked, and that it is not judged as that one was. */
export function forkWords(
  from: { readonly run_id: string } & Partial<Parameters<typeof forkChanges>[0]> &
    Parameters<typeof momentText>[0],
): string {
  const { run_id, changed = [], set = [] } = from;
  const words = changeWords(forkChanges({ changed, set }));
  return `${run_id} ${momentText(from)}${words === '' ? '' : `, ${words}`}`;
}

/** Ids of nodes in a run: `NODE` as in the text; `CALL.NODE` in a pipeline that a node calls; `NODE.1` for the first item of a list. */
const idForm = String.raw`[A-Za-z_]\w*(?:\.(?:[A-Za-z_]\w*|[0-9]+))*`;
const nodeIdForm = new RegExp(`^${idForm}$`);
/** `NODE@VISIT`, with the number of an execution. */
export const executionForm = new RegExp(`^${idForm}@[1-9][0-9]*$`);

/** Names and paths in a run's records that become paths or words of commands that users copy. A run directory may come
 *  from an untrusted source: no path may lead out of its folder. */
export const nodeId = once(() => z.string().regex(nodeIdForm, 'is not a node id'));

/** A run id is the name of its folder and a word of suggested commands. */
export const runIdForm = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
export const runId = once(() => z.string().regex(runIdForm, 'is not a run id'));

/** Folders of the runs directory that its runs share: no new run can have such an id. */
export const sharedFolders = {
  queue: 'queue',
  holds: 'holds',
  spend: 'spend',
  schedules: 'schedules',
  github: 'github',
} as const;

/** The name of a file in a known folder. */
export const fileName = once(() => z.string().regex(/^(?!\.{1,2}$)[^/\0]+$/, 'is not a file name'));

/** A path below a known folder: not absolute and without `..`. */
export const innerPath = once(() =>
  z.string().refine((path) => !/^$|^\/|(?:^|\/)\.\.(?:\/|$)|\0/.test(path), 'is not a path below the folder'),
);

/** A key that is equal for all spellings that such a file system treats as one. */
export const folded = (path: string): string =>
  path.normalize('NFD').toUpperCase().toLowerCase().normalize('NFD');
