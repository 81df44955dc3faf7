/** What changes can be looked at: those of the whole run, and of each work order. */
import type { RunView } from '../../../app/inspect/shapes.ts';

export interface ChangeScope {
  /** In the address; empty for the whole run. */
  readonly id: string;
  readonly name: string;
  /** What the diff is between, as the API takes it. */
  readonly query: Readonly<Record<string, string>>;
  readonly commit: string | null;
  readonly attempts: number;
}

/** The whole run, and each work order that was begun: from before its last attempt to after it. */
export function changeScopes({
  executions,
  groups,
}: Pick<RunView, 'executions' | 'groups'>): readonly ChangeScope[] {
  const names = executions.map(({ node, visit }) => `${node}@${visit}`);
  const orders = groups.flatMap((group): ChangeScope[] => {
    const last = group.attempts.at(-1);
    const [first] = last?.executions ?? [];
    const to = last?.executions.at(-1);
    if (group.kind !== 'order' || first === undefined || to === undefined) return [];
    const from = names[names.indexOf(first) - 1];
    const name = group.title === group.id ? group.id : `${group.id} ${group.title}`;
    const query = { to, ...(from === undefined ? {} : { from }) };
    return [{ id: group.id, name, query, commit: group.commit, attempts: group.attempts.length }];
  });
  return [{ id: '', name: 'Whole run', query: {}, commit: null, attempts: 0 }, ...orders];
}
