/** Parses a model's answer into a proposal. */
import { extractJson } from '../model/json-text.ts';
import { type WriteProposal, writeProposalSchema } from '../model/proposal.ts';
import { normalizePath } from '../model/work-order.ts';
import { type StageFailure, stageFailure } from './stage.ts';

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
