/** The input texts of a run, by the names that nodes use. */
import { basename } from 'node:path';
import type { JsonObject } from '../model/json.ts';
import type { Manifest } from '../model/manifest.ts';
import type { Inputs } from './inputs.ts';

export type Texts = {
  readonly variables: Readonly<Record<string, string>>;
  readonly prompts: Readonly<Record<string, string>>;
  readonly schemas: Readonly<Record<string, string>>;
  /** Paths of file variables in the workspace. */
  readonly inputFiles: readonly string[];
};

const texts = (record: Readonly<Record<string, { readonly text: string }>>) =>
  Object.fromEntries(Object.entries(record).map(([name, { text }]) => [name, text]));
const values = (record: Manifest['variables']) =>
  Object.fromEntries(Object.entries(record).map(([name, { value }]) => [name, value]));

const filesOf = (record: Manifest['variables']) =>
  Object.values(record).flatMap(({ value, file }) => (file === undefined ? [] : [value]));

export const textsOf = (inputs: Inputs): Texts => ({
  variables: values(inputs.variables),
  prompts: texts(inputs.prompts),
  schemas: texts(inputs.schemas),
  inputFiles: filesOf(inputs.variables),
});

export const textsOfManifest = (manifest: Manifest): Texts => ({
  variables: values(manifest.variables),
  prompts: texts(manifest.prompts),
  schemas: texts(manifest.schemas ?? {}),
  inputFiles: filesOf(manifest.variables),
});

/** A response schema by its registered name or by its file. */
export async function schemaOf(
  reference: string,
  files: Readonly<Record<string, string>>,
): Promise<{ name: string; schema: JsonObject } | undefined> {
  if (reference === 'work-plan')
    return { name: reference, schema: (await import('../model/work-order.ts')).workPlanSchema };
  if (reference === 'proposal')
    return { name: reference, schema: (await import('../model/proposal.ts')).proposalSchemaOf() };
  const text = files[reference];
  return text === undefined
    ? undefined
    : { name: basename(reference).replace(/\W+/g, '_'), schema: JSON.parse(text) as JsonObject };
}
