/** `NODE[@VISIT]`: how users name a finished execution of a node. */

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

/** Reads `check` or `check@2`. Node ids are `[A-Za-z_][A-Za-z0-9_]*`, executions count from 1. */
export function parsePoint(text: string): Point | PointProblem {
  const said = JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
  const [node = '', visit, ...more] = text.split('@');
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(node))
    return { problem: `${said} names no node: an id has letters, digits and "_"`, fix: example };
  if (more.length > 0) return { problem: `${said} has more than one "@"`, fix: example };
  if (visit === undefined) return { node, visit: undefined };
  const number = /^[0-9]+$/.test(visit) ? Number(visit) : 0;
  if (number < 1 || !Number.isSafeInteger(number))
    return { problem: `${said}: a visit is a whole number from 1 on`, fix: example };
  return { node, visit: number };
}

/** `after check@2`, for people. */
export const momentText = (moment: {
  readonly node: string;
  readonly visit: number;
  readonly before: boolean;
}): string => `${moment.before ? 'before' : 'after'} ${moment.node}@${moment.visit}`;

/** `RUN after check@2`: where a run was forked. */
export const forkWords = (from: { readonly run_id: string } & Parameters<typeof momentText>[0]): string =>
  `${from.run_id} ${momentText(from)}`;
