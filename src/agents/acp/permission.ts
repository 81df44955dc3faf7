/** Requests for permission: the call that one is for, and the answer. */
import * as z from 'zod';
import { once } from '../../core/once.ts';
import { acpCallSchema } from './updates.ts';

const requestSchema = once(() =>
  z.looseObject({
    toolCall: acpCallSchema(),
    options: z.array(z.looseObject({ optionId: z.string(), kind: z.string() })),
  }),
);
type PermissionRequest = z.infer<ReturnType<typeof requestSchema>>;

export const permissionIn = (params: unknown): PermissionRequest | undefined =>
  requestSchema().safeParse(params).data;

/** The option that allows, or refuses, this call alone; undefined where there is none. */
export const choiceOf = (options: PermissionRequest['options'], allows: boolean): string | undefined =>
  options.find(({ kind }) => kind === (allows ? 'allow_once' : 'reject_once'))?.optionId;
