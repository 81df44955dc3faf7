/** The run's context: merging, looking up, and what changed. */
import type { Json, JsonObject } from '../model/json.ts';
import type { Context, Outcome } from '../model/outcome.ts';
import { own, put } from '../model/own.ts';
import type { ContextDelta } from '../model/trace.ts';

/** A value as text in a condition or a prompt: strings unchanged, a missing value as the empty string, the rest as JSON. */
export function asText(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The value of a condition's key after a node: `outcome`, `preferred_label`, `failure_class`, `context.x` or any context key;
 *  a missing key is the empty string. */
export function conditionLookup(context: Context, outcome: Outcome): (key: string) => string {
  return (key) => {
    switch (key) {
      case 'outcome':
        return outcome.status;
      case 'preferred_label':
        return outcome.label;
      case 'failure_class':
        return outcome.status === 'fail' ? outcome.class : '';
    }
    const value = own(context, key);
    if (value !== undefined) return asText(value);
    return key.startsWith('context.') ? asText(own(context, key.slice('context.'.length))) : '';
  };
}

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
