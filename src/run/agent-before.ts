/** Which agent had done the work that a node found wanting: the one that a fork gives a hint. */
import { isAgentType } from '../core/graph.ts';
import type { RunRecord, VisitRecord } from '../core/records/visit.ts';

type VisitStory = Pick<VisitRecord, 'node' | 'node_type' | 'visit' | 'outcome' | 'branch'>;

/** Keeps, of each node that has failed, the latest execution of an agent up to then. */
export class AgentBefore {
  #latest: string | undefined;
  /** Of branches, by their ids. */
  readonly #own = new Map<string, string>();
  readonly #failed = new Map<string, string | undefined>();

  add({ node, node_type, visit, outcome, branch }: VisitStory): void {
    if (isAgentType(node_type)) {
      this.#latest = `${node}@${visit}`;
      if (branch !== undefined) this.#own.set(branch, this.#latest);
    }
    if (outcome.status !== 'fail') return;
    // Another branch may have run meanwhile.
    this.#failed.set(node, (branch === undefined ? undefined : this.#own.get(branch)) ?? this.#latest);
  }

  /** Up to the latest failure of `node` (`NODE` or `NODE@VISIT`), else up to now; `NODE@VISIT`. */
  of(node: string): string | undefined {
    const id = node.replace(/@\d+$/, '');
    return this.#failed.has(id) ? this.#failed.get(id) : this.#latest;
  }
}

/** The same of a journal. */
export function agentBefore(records: readonly RunRecord[], failed: string): string | undefined {
  const agents = new AgentBefore();
  for (const record of records) if (record.type === 'Visit') agents.add(record);
  return agents.of(failed);
}
