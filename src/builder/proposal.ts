/** Reads the model's answer to a work order from the workspace. Nothing that is found there makes reading throw. */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { extractJson, maxAnswerCharacters } from '../core/answer-json.ts';
import { type StageFailure, stageFailure } from '../core/orders/failure-stage.ts';
import { type WriteProposal, writeProposalSchema } from '../core/orders/proposal.ts';
import { normalizePath } from '../core/orders/work-order.ts';
import { inWorkspace } from '../core/records/layout.ts';
import { assertNoLinkAbove } from '../platform/files/inside.ts';
import { isCode, isMissing } from '../platform/files/write.ts';

/** The answer's text, empty if there is no answer. A failure of stage `llm_output_invalid` if it is not a regular UTF-8
 *  file of at most `maxAnswerCharacters`; a file that is certainly too large is not read. */
export async function readProposalAnswer(
  workspace: string,
): Promise<{ readonly text: string } | StageFailure> {
  const invalid = (why: string) => stageFailure('llm_output_invalid', why);
  try {
    // Opening a pipe would block until a writer appears.
    const path = join(workspace, inWorkspace.orderProposal);
    assertNoLinkAbove(workspace, inWorkspace.orderProposal);
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    try {
      const info = await file.stat();
      if (!info.isFile()) return invalid('the answer is not a regular file');
      // UTF-8 takes at most four bytes a character.
      if (info.size > maxAnswerCharacters * 4)
        return invalid(`the answer is larger than ${maxAnswerCharacters} characters`);
      const bytes = await file.readFile();
      return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isMissing(error)) return { text: '' };
    if (isCode(error, 'ERR_ENCODING_INVALID_ENCODED_DATA')) return invalid('the answer is not UTF-8 text');
    if (isCode(error, 'ENXIO', 'ELOOP')) return invalid('the answer is not a regular file');
    throw error;
  }
}

/* Parses a model's answer into a proposal. */

/** Parses a model's answer: one JSON object that fits `WriteProposal`, alone or in one code fence. Paths are normalised. An
 *  invalid answer is a failure of stage `llm_output_invalid`, never an exception. */
export function parseProposal(text: string): { readonly proposal: WriteProposal } | StageFailure {
  const extracted = extractJson(text);
  if ('problem' in extracted) return stageFailure('llm_output_invalid', extracted.problem);
  const parsed = writeProposalSchema().safeParse(extracted.value);
  if (!parsed.success) {
    const issues = parsed.error.issues.slice(0, 10).map((issue) => {
      const where = issue.path.map(String).join('.');
      return where === '' ? issue.message : `${where}: ${issue.message}`;
    });
    return stageFailure('llm_output_invalid', `the answer is not a proposal: ${issues.join('; ')}`);
  }
  const writes = parsed.data.writes.map((write) => ({ ...write, path: normalizePath(write.path) }));
  return { proposal: { summary: parsed.data.summary, writes } };
}
