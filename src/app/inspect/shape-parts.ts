/** Parts of the shapes of runs: times, lengths of time, what is waited for. */
import * as z from 'zod';
import { once } from '../../core/once.ts';
import { waitSchema } from './wait.ts';

export const time = once(() => z.string().describe('RFC 3339, UTC'));
export const ms = once(() => z.number().describe('Milliseconds'));

export const waiting = once(() =>
  waitSchema().nullable().describe('What it waits for, also while it is suspended; null if it does not'),
);
