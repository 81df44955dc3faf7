/** The change of a pipeline with which a failed run, or a fork of it, can end otherwise. Pure. */
import { commandToFork, type NextAction, type StoodRun, type TypedRun } from './action-commands.ts';
import { isLeakReason } from './leak-reason.ts';
import { quoteWord } from './policy/words.ts';

/** What has to be changed where: `do` as an order, `after` as what was done. */
type Change = { readonly node: string; readonly do: string; readonly after: string };

/** The change of the pipeline after which a failed run that is resumed can end otherwise. */
export function changeIn({
  reason,
  cause,
  failedNode,
  failureClass,
}: StoodRun): ((file: string) => Change) | undefined {
  if (cause?.kind === 'no_route') {
    const { node, outcome, config } = cause;
    const edge = `an edge from ${node} for outcome=${outcome}`;
    if (config)
      return (file) => ({
        node,
        do: `Fix ${node} in ${file}`,
        after: `fixing ${node} in ${file}, or what it needs`,
      });
    if (failureClass === 'timeout')
      return (file) => ({
        node,
        do: `Raise timeout of ${node} in ${file}, or add ${edge}`,
        after: `raising timeout of ${node} in ${file}`,
      });
    return (file) => ({
      node,
      do: `Change ${node} in ${file}, or add ${edge}`,
      after: `adding ${edge} to ${file}`,
    });
  }
  if (cause?.kind === 'loop_stopped')
    return (file) => ({
      node: failedNode,
      do: `Change ${failedNode} in ${file}, or what fixes it`,
      after: `a change of ${failedNode}, or of what fixes it, in ${file}`,
    });
  const [, own, limit] =
    /^max_\w+: node "([\w.]+)".*\(((?:manager\.)?max_\w+)(?: on the node)?\)$/.exec(reason) ?? [];
  if (own !== undefined)
    return (file) => ({
      node: own,
      do: `Raise ${limit} of ${own} in ${file}`,
      after: `raising ${limit} of ${own} in ${file}`,
    });
  const [, scripts, agent] =
    /^unfixable_failure_source: .* references (\S+) outside allowed_write_paths for (\S+)$/.exec(reason) ??
    [];
  if (agent !== undefined)
    return (file) => ({
      node: agent,
      do: `Add ${scripts} to allowed_write_paths of ${agent} in ${file}`,
      after: `adding ${scripts} to allowed_write_paths of ${agent} in ${file}`,
    });
  if (!isLeakReason(reason) || failedNode === '') return undefined;
  return (file) => ({
    node: failedNode,
    do: `Keep the holdout out of what ${failedNode} reads, in ${file}`,
    after: `a change of ${failedNode} in ${file}`,
  });
}

/** The change of the user's pipeline with which the run, or a fork of it, can end otherwise. */
export function editOf(stood: StoodRun, typed: TypedRun): NextAction | undefined {
  const { pipeline, resumable, failedNode, failureClass, placeOf } = stood;
  if (pipeline === undefined) return undefined;
  const file = quoteWord(pipeline);
  const placed = (node: string): string => placeOf?.(node) ?? file;
  if (resumable) {
    const change = changeIn(stood);
    if (change === undefined) return undefined;
    return {
      kind: 'edit',
      words: `${change(placed(change(file).node)).do}, then continue`,
      command: `${typed.program} resume ${typed.run} --accept-changes`,
      after: change(file).after,
    };
  }
  if (failedNode === '') return undefined;
  const changed = failedNode.replace(/@\d+$/, '');
  return {
    kind: 'edit',
    words: `${failureClass === 'infra' ? `Fix what ${changed} needs, or change it` : `Change ${changed}`} in ${placed(changed)}, then execute it again in a fork`,
    command: `${commandToFork(typed, failedNode)} --pipeline ${file}`,
    after: `a change of ${changed} in ${file}`,
  };
}
