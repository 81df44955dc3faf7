/** What the address selects of the run that is shown. */
import { computed } from '@preact/signals';
import type { ExecutionRow } from '../../app/inspect/execution-shapes.ts';
import { address } from './place.ts';
import { runView } from './store.ts';
import { type Address, type NodeTab, pathOf } from './text/address.ts';

type RunAddress = Extract<Address, { view: 'run' }>;

export const runAddress = (): RunAddress | undefined =>
  address.value.view === 'run' ? address.value : undefined;

/** The execution that the address names; the latest of the node where it names none. */
export const selectedExecution = computed<ExecutionRow | undefined>(() => {
  const node = runAddress()?.node;
  if (node === undefined) return undefined;
  return runView.value?.executions.findLast(
    (one) => one.node === node.id && (node.visit === undefined || one.visit === node.visit),
  );
});

type ExecutionName = Pick<ExecutionRow, 'node' | 'visit'>;

/** Address of the prompt of an execution, below what is shown. */
export const promptPath = (run: string, execution: ExecutionName): string =>
  nodeTabPath(run, execution, 'prompt');

/** Address of what an execution changed, below what is shown. */
export const changesOfPath = (run: string, execution: ExecutionName): string =>
  nodeTabPath(run, execution, 'changes');

function nodeTabPath(run: string, { node, visit }: ExecutionName, tab: NodeTab): string {
  const at = runAddress() ?? { view: 'run', run, tab: 'changes' };
  return pathOf({ ...at, node: { id: node, visit, tab } });
}

/** Address of an execution in the run that is shown, with the tabs unchanged. */
export function executionPath(run: string, node: string, visit?: number): string {
  const at = runAddress();
  const tab = at?.node?.tab;
  return pathOf({
    view: 'run',
    run,
    tab: at?.tab ?? 'graph',
    node: { id: node, ...(visit === undefined ? {} : { visit }), ...(tab === undefined ? {} : { tab }) },
  });
}
