/** A note of a person to the agents of a run. */
import * as z from 'zod';
import { once } from '../once.ts';
import { nodeId } from './names.ts';
import { answerSources } from './question.ts';

/** Characters of a note. */
export const longestNote = 16 * 1024;

/** In its file, and in the journal's line of the execution whose prompt has it. */
export const steeringNoteSchema = once(() =>
  z.object({
    note: z.int().positive().describe('1 for the first note to the run'),
    text: z.string().describe('Secrets masked; in the journal without lines of the holdout'),
    branch: nodeId().exactOptional().describe('Only for agents of this branch'),
    by: z.string(),
    at: z.string(),
    from: z.enum(answerSources),
  }),
);
export type SteeringNote = z.infer<ReturnType<typeof steeringNoteSchema>>;
