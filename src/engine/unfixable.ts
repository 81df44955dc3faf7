import type { NodeOutcome } from '../model/checkpoint.ts';
import { own } from '../model/own.ts';

/** Why a success of a node with a truth gate does not count, or undefined. */
export function truthGate(
  wanted: {
    readonly requires_tool_success: boolean | undefined;
    readonly required_tool_node: string | undefined;
  },
  outcomes: Readonly<Record<string, NodeOutcome>>,
): string | undefined {
  if (wanted.requires_tool_success !== true || wanted.required_tool_node === undefined) return undefined;
  const required = wanted.required_tool_node;
  return own(outcomes, required)?.status === 'success'
    ? undefined
    : `required tool node not successful: ${required}`;
}
