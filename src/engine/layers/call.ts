/** Calls of other pipelines: opens what a call begins, and hands its result to its caller where the pipeline has ended. */
import { callEndedAt, callResult } from '../../core/call-ends.ts';
import { isCallType, openedCall, pipelineOfCall } from '../../core/calls.ts';
import { expansionIn } from '../node-context.ts';
import type { Layer } from './layer.ts';

export const call: Layer = (next) => async (context) => {
  const { run, node, state, before } = context;
  const ended = callEndedAt(state, node.id);
  if (ended !== undefined) {
    const { outcome, origins, failure } = callResult(run.graph, pipelineOfCall(run.graph, ended.node), ended);
    return { outcome, snapshot: before, joined: { origins, failure } };
  }
  const executed = await next(context);
  if (!isCallType(node.type) || executed.outcome.status !== 'success') return executed;
  return { ...executed, opens: openedCall(run.graph, node, expansionIn(run, state)) };
};
