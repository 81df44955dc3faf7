/** The model's answer to an order, as it lies in the workspace: whatever lies there, reading it never breaks. */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { maxAnswerCharacters } from '../model/json-text.ts';
import { inWorkspace } from '../model/layout.ts';
import { isCode, isMissing } from '../system/files.ts';
import { type StageFailure, stageFailure } from './stage.ts';

/** Its text, empty where there is none; a failure of stage `llm_output_invalid` for what is no text file of a sensible
 *  size. An answer that is certainly too large is not read. */
export async function readAnswer(workspace: string): Promise<{ readonly text: string } | StageFailure> {
  const invalid = (why: string) => stageFailure('llm_output_invalid', why);
  try {
    // A pipe would wait for a writer for ever.
    const path = join(workspace, inWorkspace.orderProposal);
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const is = await file.stat();
      if (!is.isFile()) return invalid('the answer is no regular file');
      // UTF-8 takes at most four bytes a character.
      if (is.size > maxAnswerCharacters * 4)
        return invalid(`the answer is larger than ${maxAnswerCharacters} characters`);
      const bytes = await file.readFile();
      return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isMissing(error)) return { text: '' };
    if (isCode(error, 'ERR_ENCODING_INVALID_ENCODED_DATA')) return invalid('the answer is not UTF-8 text');
    if (isCode(error, 'ENXIO', 'ELOOP')) return invalid('the answer is no regular file');
    throw error;
  }
}
