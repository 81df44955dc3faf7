/** The reason of a run that ended since an agent would have seen the holdout. Pure. */

const prefix = 'holdout_leak: ';

/** `where`: what shows the text. */
export const leakReason = (where: string, line: number): string =>
  `${prefix}${where} shows line ${line} of a sealed file`;

export const isLeakReason = (reason: string): boolean => reason.startsWith(prefix);

/** What shows which line, of a reason that says it. */
export function leakIn(reason: string): { readonly where: string; readonly line: string } | undefined {
  const [, where, line] = /^holdout_leak: (.*) shows line (\d+) of a sealed file$/s.exec(reason) ?? [];
  return where === undefined || line === undefined ? undefined : { where, line };
}

/** The node that a failed run is about. One that leaked the holdout has no outcome: there the latest failure is an earlier one. */
export const failedNodeOf = (reason: string, next: string | null, latest: string): string =>
  isLeakReason(reason) && next !== null && next !== '' ? next : latest;
