/** Looks up the values that a pipeline's texts may refer to: parameters, context, outcomes of earlier nodes. */
import { own } from '../core/json.ts';
import type { RunState } from '../core/records/checkpoint.ts';
import type { nodeKeys } from '../core/references.ts';
import { asText } from '../core/step.ts';
import type { Run } from './run-context.ts';

/** The value of `${var.x}`, `${ctx.key}` or `${node.id.key}`; undefined if there is none. */
export function known(
  run: Pick<Run, 'variables'>,
  state: RunState,
  kind: 'var' | 'ctx' | 'node',
  key: string,
): string | undefined {
  switch (kind) {
    case 'var':
      return own(run.variables, key);
    case 'ctx': {
      const value = own(state.context, key);
      return value === undefined ? undefined : asText(value);
    }
    case 'node': {
      const dot = key.indexOf('.');
      const outcome = own(state.outcomes, key.slice(0, dot));
      if (dot < 0 || outcome === undefined) return undefined;
      const named = key.slice(dot + 1) as (typeof nodeKeys)[number]; // any other word is the default's
      switch (named) {
        case 'outcome':
          return outcome.status;
        case 'label':
        case 'preferred_label':
          return outcome.label;
        case 'notes':
          return outcome.notes;
        case 'failure_reason':
          return outcome.reason;
        case 'failure_class':
          return outcome.class ?? '';
        case 'visits':
          return String(own(state.visits, key.slice(0, dot)) ?? 0);
        default:
          return undefined;
      }
    }
  }
}
