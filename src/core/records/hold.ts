/** A hold: an account at a provider that takes no calls until the reset of a quota. No part of a run, and no evidence. */
import * as z from 'zod';
import { once } from '../once.ts';

export const holdSchema = once(() =>
  z.object({
    schema_version: z.literal(1),
    id: z.string().describe('Hash of agent, endpoint, model, and key or login'),
    agent: z.string(),
    endpoint: z.string(),
    model: z.string().describe('Empty: the one that the agent chooses'),
    until: z.iso.datetime().describe('The reset that the provider has named'),
    since: z.iso.datetime().describe('When a run met the limit first'),
    reason: z.string().describe('What the provider said, as the reason of a failed call'),
    by: z.string().describe('Id of the run that met the limit last'),
  }),
);
export type Hold = z.infer<ReturnType<typeof holdSchema>>;

/** The call that goes first when the reset has come; the others wait for what becomes of it. */
export const holdTrialSchema = once(() =>
  z.object({
    schema_version: z.literal(1),
    run: z.string().describe('The run directory, relative to the runs directory'),
    epoch: z.int().positive().describe('Of the owner of the run that makes the call'),
    at: z.string(),
  }),
);
export type HoldTrial = z.infer<ReturnType<typeof holdTrialSchema>>;
