/** From the text of an answer to a proposal that may be checked against its work order. */
import { extractJson } from '../model/json-text.ts';
import { WriteProposal } from '../model/proposal.ts';
import { normalizePath } from '../model/work-order.ts';
import { type StageFailure, stageFailure } from './stage.ts';

/** Reads a model's answer: one JSON object as `WriteProposal` says, alone or in one code fence. Paths come back in their
 *  normal form. Whatever is wrong with it is a failure of stage `llm_output_invalid`, never an exception. */
export function parseProposal(text: string): { readonly proposal: WriteProposal } | StageFailure {
  const extracted = extractJson(text);
  if ('problem' in extracted) return stageFailure('llm_output_invalid', extracted.problem);
  const parsed = WriteProposal.safeParse(extracted.value);
  if (!parsed.success) {
    const issues = parsed.error.issues.slice(0, 10).map((issue) => {
      const where = issue.path.map(String).join('.');
      return where === '' ? issue.message : `${where}: ${issue.message}`;
    });
    return stageFailure('llm_output_invalid', `the answer is no proposal: ${issues.join('; ')}`);
  }
  const writes = parsed.data.writes.map((write) => ({ ...write, path: normalizePath(write.path) }));
  return { proposal: { summary: parsed.data.summary, writes } };
}
