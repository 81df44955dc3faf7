/** A model's proposal for one work order: whole files, each with the hash of the content that it replaces. */
import * as z from 'zod';
import type { JsonObject } from '../json.ts';
import { once } from '../once.ts';
import { relativePathProblem } from './work-order.ts';

/** UTF-8 bytes of one file's content, and of all of them together. */
export const fileLimit = 204_800;
export const totalLimit = 512_000;

/** The hash for a file that does not exist yet or is empty: SHA-256 of no bytes. */
export const emptySha256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

// Half of a surrogate pair cannot be written as UTF-8; it would become another character on disk.
const text = once(() =>
  z.string().refine((value) => !/\p{Surrogate}/u.test(value), 'contains half of a surrogate pair'),
);

export const fileWriteSchema = once(() =>
  z.object({
    path: text()
      .superRefine((path, context) => {
        const problem = relativePathProblem(path);
        if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
      })
      .describe('Path relative to the root of the project, one of the allowed files'),
    base_sha256: text().describe(`SHA-256 (hex) of the current file; ${emptySha256} for a new file`),
    content: text()
      .refine((value) => Buffer.byteLength(value) <= fileLimit, `is larger than ${fileLimit} bytes`)
      .describe('The whole new content of the file'),
  }),
);
export type FileWrite = z.infer<ReturnType<typeof fileWriteSchema>>;

export const writeProposalSchema = once(() =>
  z.object({
    summary: text().describe('What was done, in a sentence'),
    writes: z
      .array(fileWriteSchema())
      .min(1, 'has no writes')
      .refine(
        (writes) => writes.reduce((sum, write) => sum + Buffer.byteLength(write.content), 0) <= totalLimit,
        `is larger than ${totalLimit} bytes in total`,
      ),
  }),
);
export type WriteProposal = z.infer<ReturnType<typeof writeProposalSchema>>;

/** The same as a JSON schema, for structured output. Registered as `proposal`. Created on demand: most runs do not need
 *  it. */
export const proposalSchemaOf = (): JsonObject => {
  const { $schema: _, ...schema } = z.toJSONSchema(writeProposalSchema());
  // zod's output is plain JSON.
  return schema as JsonObject;
};

/** The JSON schema of proposals. */
export const proposalSchema: JsonObject = proposalSchemaOf();
