/** The files of `schemas/`: JSON schemas of what people write for factory and of what it records. */
import * as z from 'zod';
import { agentScriptSchema } from '../../src/agents/script.ts';
import { storedEventSchema } from '../../src/app/answers.ts';
import { routesSchema } from '../../src/app/routes.ts';
import { autoAnswersSchema } from '../../src/core/auto-answer.ts';
import { writtenPricesSchema } from '../../src/core/budget/prices.ts';
import { writeProposalSchema } from '../../src/core/orders/proposal.ts';
import { workOrderSchema, workPlanSchema } from '../../src/core/orders/work-order.ts';
import { journalLineSchema } from '../../src/core/records/journal.ts';
import { manifestSchema } from '../../src/core/records/manifest.ts';
import { projectSchema } from '../../src/core/records/project.ts';
import { runResultSchema } from '../../src/core/records/result.ts';
import { queueSettingsSchema } from '../../src/core/settings/queue.ts';
import { checkpointFileSchema } from '../../src/run/checkpoint.ts';

type SchemaFile = {
  readonly title: string;
  /** Whether such a file may name its schema. */
  readonly namesIt?: true;
  readonly schema: () => z.ZodType | Readonly<Record<string, unknown>>;
};

/** By the name of the file in `schemas/`. */
export const schemaFiles: Readonly<Record<string, SchemaFile>> = {
  'agent-script': {
    title: 'Prepared answers (`--script FILE`)',
    namesIt: true,
    schema: agentScriptSchema,
  },
  prices: { title: 'Prices of models (`--prices FILE`)', namesIt: true, schema: writtenPricesSchema },
  project: {
    title: '`factory.json` of a project, and your own',
    namesIt: true,
    schema: projectSchema,
  },
  routes: { title: 'Ways of a pipeline (`NAME.routes.json`)', namesIt: true, schema: () => routesSchema },
  'auto-answers': {
    title: 'Answers at human gates (`--auto-answer FILE`)',
    schema: () => autoAnswersSchema().options[1],
  },
  'work-plan': { title: 'A plan, as a model gives it', schema: () => workPlanSchema },
  'work-order': { title: 'A work order (`--work-order FILE`)', namesIt: true, schema: workOrderSchema },
  'write-proposal': { title: 'A proposal of files, as a model gives it', schema: writeProposalSchema },
  'queue-settings': { title: '`queue/settings.json` of a runs directory', schema: queueSettingsSchema },
  manifest: { title: '`manifest.json` of a run', schema: manifestSchema },
  result: { title: '`result.json` of a run', schema: runResultSchema },
  checkpoint: { title: '`checkpoint.json` of a run', schema: checkpointFileSchema },
  'journal-line': { title: 'A line of `journal.jsonl` of a run', schema: journalLineSchema },
  event: { title: 'A line of `events.jsonl` of a run', schema: storedEventSchema },
};

/** The text of a file. Fields are only ever added: what a record has more than its schema is valid. */
export function schemaText({ title, schema }: SchemaFile): string {
  const made = schema();
  // Of a type with a condition in code, its form says what JSON can say.
  const body =
    made instanceof z.ZodType ? z.toJSONSchema(made, { io: 'input', unrepresentable: 'any' }) : made;
  const { $schema = 'https://json-schema.org/draft/2020-12/schema', ...rest } = body as Record<
    string,
    unknown
  >;
  return `${JSON.stringify({ $schema, title: title.replaceAll('`', ''), ...rest }, null, 1)}\n`;
}
