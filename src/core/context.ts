/** The context of a run as conditions and prompts read it, and how it has changed. Pure. */
import { type Json, type JsonObject, own, put } from './json.ts';
import type { Context, Outcome } from './outcome.ts';
import { reservedKeyIn } from './policy/reserved-keys.ts';
import type { ContextDelta } from './records/trace.ts';
import type { ConditionLookup } from './routing.ts';

/** The key under which the context of a called pipeline has one of its variables. */
export const inputKey = (variable: string): string => `var.${variable}`;

/** The keys under which conditions find what the latest tool has printed. */
export const outputKeys = ['tool.output', 'tool_stdout'] as const;

/** A value as text in a condition or a prompt: strings unchanged, a missing value as the empty string, the rest as JSON. */
export function asText(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The value of a condition's key after a node: `outcome`, `preferred_label`, `failure_class`, one of `counts`, `context.x` or any
 *  context key; undefined for a key that nothing has set. A key that only the engine sets is empty meanwhile, not unset. */
export function conditionLookup(
  context: Context,
  outcome: Outcome,
  counts: Readonly<Record<string, number>> = {},
): ConditionLookup {
  return (key) => {
    switch (key) {
      case 'outcome':
      case 'context.outcome':
        return outcome.status;
      case 'preferred_label':
      case 'context.preferred_label':
        return outcome.label;
      case 'failure_class':
      case 'context.failure_class':
        return outcome.status === 'fail' ? outcome.class : '';
    }
    const bare = key.startsWith('context.') ? key.slice('context.'.length) : key;
    const value =
      own(counts, bare) ?? own(context, key) ?? own(context, bare) ?? own(context, inputKey(bare));
    if (value !== undefined) return asText(value);
    return setByEngine(bare) ? '' : undefined;
  };
}

/** Whether the engine alone sets a key, or the output of the latest tool does. */
export const setByEngine = (key: string): boolean =>
  outputKeys.some((one) => one === key) || reservedKeyIn({ [key]: true }) !== undefined;

const same = (a: Json | undefined, b: Json | undefined): boolean =>
  a === b || JSON.stringify(a) === JSON.stringify(b);

/** The keys that were added, changed and removed between two contexts. */
export function delta(before: Context, after: Context): ContextDelta {
  const added: Record<string, Json> = {};
  const updated: Record<string, JsonObject> = {};
  for (const [key, value] of Object.entries(after)) {
    const was = own(before, key);
    if (was === undefined) put(added, key, value);
    else if (!same(was, value)) put(updated, key, { before: was, after: value });
  }
  return { added, updated, removed: Object.keys(before).filter((key) => own(after, key) === undefined) };
}
