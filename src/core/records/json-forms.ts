/** The JSON form of parts of records whose schemas only look at what they need: an older record may have more or less. For the files
 *  in `schemas/`. */
import * as z from 'zod';
import { once } from '../once.ts';
import { failureClasses, outcomeWords } from '../outcome.ts';

/** `$schema` of a file that people write. It is for editors; the file's format is what counts. */
export const schemaOfFile = once(() =>
  z.string().exactOptional().describe('The JSON schema of this file, for editors'),
);

const text = { type: 'string' } as const;
const whole = { type: 'integer' } as const;

export const objectForm = { type: 'object' } as const;

/** Of an `Outcome`. */
export const outcomeForm = () => ({
  type: 'object' as const,
  required: ['status', 'label', 'suggested', 'updates', 'notes'],
  properties: {
    status: { enum: [...outcomeWords] },
    label: text,
    suggested: { type: 'array' as const, items: text },
    updates: objectForm,
    notes: text,
    reason: { ...text, description: 'Of a failure or a retry' },
    class: { enum: [...failureClasses], description: 'Of a failure' },
    broke: { type: 'boolean' as const, description: 'The node broke instead of reporting a failure' },
    denied: { type: 'array' as const, items: text, description: 'What permissions did not allow' },
  },
});

/** Of a `Fork`. */
export const forkForm = () => ({
  type: 'object' as const,
  required: ['node', 'join', 'base', 'step', 'branches'],
  properties: {
    node: { ...text, description: 'That opened it' },
    join: { ...text, description: 'Where the branches meet' },
    base: { ...text, description: 'The snapshot with which they began' },
    step: whole,
    items: { type: 'array' as const },
    branches: { type: 'object' as const, additionalProperties: objectForm },
  },
});

/** Of a `RecordedRoute`. */
export const routeForm = () => ({
  type: 'object' as const,
  required: ['next', 'how', 'candidates'],
  properties: {
    next: text,
    how: text,
    candidates: {
      type: 'array' as const,
      items: {
        type: 'object' as const,
        required: ['to', 'weight', 'condition', 'matched'],
        properties: {
          to: text,
          weight: { type: 'number' as const },
          condition: text,
          matched: { type: 'boolean' as const },
          unset: { type: 'array' as const, items: text },
          lost: { ...text, description: 'Why another edge was taken' },
        },
      },
    },
  },
});
