/** That a person has accepted scenarios that are too weak: a line of `acts.jsonl`, and its words. */
import * as z from 'zod';
import { localTime } from '../amounts.ts';
import { once } from '../once.ts';
import { executionForm } from './names.ts';

export const weaknessAcceptedSchema = once(() =>
  z.object({
    at: z.string().describe('RFC 3339, UTC'),
    who: z.string().describe('The user, or where the request came from'),
    node: z.string().regex(executionForm).describe('`NODE@VISIT` that judged'),
    strength: z.string().describe('The strength that was accepted, in words'),
    head: z.string().describe('The last commit that was delivered'),
  }),
);
export type WeaknessAccepted = z.infer<ReturnType<typeof weaknessAcceptedSchema>>;

/** `weak scenarios, by ada at 12:00: judge@1, strength 72 % (59–83), 60 of 303, required 80 %` */
export const acceptanceWords = ({ at, who, node, strength }: WeaknessAccepted): string =>
  `weak scenarios, by ${who} at ${localTime(at)}: ${node}, ${strength}`;
