/** Reads `--auto-answer`: what answers at human gates in place of a person. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { autoAnswersSchema } from '../../core/auto-answer.ts';
import { type Refusal, refused } from '../../core/diagnostic.ts';
import { jsonIn } from '../../core/json.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import { readFailure } from '../../platform/files/write.ts';

const form =
  'a file is a JSON object such as {"review": "Approve", "plan@2": {"choice": "R"}, "notes": {"text": "…"}}';

/** What the flag says; without it the run keeps what it was started with. */
export async function readAutoAnswers(
  given: string | undefined,
  before: Pick<Manifest, 'auto_answers'> = {},
  cwd = '.',
): Promise<Pick<Manifest, 'auto_answers'> | Refusal> {
  if (given === undefined)
    return before.auto_answers === undefined ? {} : { auto_answers: before.auto_answers };
  if (given === 'first' || given === 'default') return { auto_answers: given };
  const path = resolve(cwd, given);
  const text = await readFile(path, 'utf8').catch((error: unknown) => ({ why: readFailure(error) }));
  if (typeof text !== 'string')
    return refused(
      'auto-answer',
      `--auto-answer ${given} is neither first nor default, and no file that can be read: ${text.why}`,
      form,
    );
  const read = autoAnswersSchema().safeParse(jsonIn(text));
  if (!read.success || typeof read.data === 'string')
    return refused('auto-answer', `--auto-answer: ${path} does not have the answers of gates`, form);
  return { auto_answers: read.data };
}
