/** Reads the inputs of a run, which stay fixed for its whole life: variables, prompts, schemas. */
import { basename, dirname, isAbsolute, resolve } from 'node:path';
import type { Diagnostic, Place } from '../core/diagnostic.ts';
import { allNodes, type Graph, graphWith } from '../core/graph.ts';
import { type Json, type JsonObject, mostGivenLevels, own, parseJson } from '../core/json.ts';
import { nearest } from '../core/nearest.ts';
import { inWorkspace } from '../core/records/layout.ts';
import type { Manifest } from '../core/records/manifest.ts';
import type { Attribute } from '../core/settings/types.ts';
import { sha256 } from '../core/sha256.ts';
import { type Variable, variablesOf } from '../core/variables.ts';
import type { Texts } from '../engine/run-context.ts';
import { unusableSchema } from '../nodes/schema.ts';
import { readInputFile, readInputText } from './input-text.ts';

type Frozen = { readonly path: string; readonly text: string; readonly sha256: string };

export type Inputs = {
  readonly variables: Manifest['variables'];
  /** Text of each file variable, by name. */
  readonly files: Readonly<Record<string, string>>;
  /** By reference as written: `@../prompts/plan.md`. */
  readonly prompts: Readonly<Record<string, Frozen>>;
  readonly schemas: Readonly<Record<string, Frozen>>;
};

/** The code of the problem that a run sets no value for a variable without a default. */
export const requiredVariable = 'var-required';

/** Reads everything that the pipeline and the flags name. `given` holds `--var name=value`; its paths are relative to `cwd`,
 *  those in the pipeline to the pipeline file. `kept` has the inputs of an earlier run: its variables count where `given`
 *  does not set them, and its prompts and schemas, if it has any, replace the files. */
export async function readInputs(
  graph: Graph,
  given: Readonly<Record<string, string>>,
  cwd: string,
  kept: Pick<Inputs, 'variables' | 'files'> & {
    readonly [K in 'prompts' | 'schemas']?: Inputs[K] | undefined;
  } = { variables: {}, files: {} },
): Promise<{ readonly inputs: Inputs } | { readonly problems: readonly Diagnostic[] }> {
  const base = dirname(resolve(cwd, graph.file));
  const declared = variablesOf(graph);
  const problems = undeclared(
    Object.keys(given),
    declared.map(({ name }) => name),
  );
  const variables: Record<string, Manifest['variables'][string]> = {};
  const files: Record<string, string> = {};
  const place = placeOf(graph, graph.attrs.get('vars') ?? graph.attrs.get('inputs'));
  for (const variable of declared) {
    const { name } = variable;
    const chosen = own(given, name);
    const inherited = own(kept.variables, name);
    const read =
      chosen === undefined && inherited !== undefined
        ? { variable: inherited, text: own(kept.files, name) }
        : await readVariable(variable, chosen, { base, cwd, place });
    if ('problem' in read) {
      problems.push(read.problem);
      continue;
    }
    variables[name] = read.variable;
    if (read.text !== undefined) files[name] = read.text;
  }
  const prompts = await frozen(graph, 'prompt', base, problems, kept.prompts);
  const schemas = await frozen(graph, 'response_schema', base, problems, kept.schemas);
  for (const [reference, schema] of Object.entries(schemas)) {
    const why = whyNoSchema(schema.text, isChecked(graph, reference));
    if (why !== undefined) problems.push(wrong('schema-file', `response_schema ${reference} ${why}`));
  }
  return problems.length > 0 ? { problems } : { inputs: { variables, files, prompts, schemas } };
}

const wrong = (code: string, message: string, more: Partial<Diagnostic> = {}): Diagnostic => ({
  code,
  severity: 'error',
  message,
  ...more,
});

const undeclared = (given: readonly string[], names: readonly string[]): Diagnostic[] =>
  given
    .filter((name) => !names.includes(name))
    .map((name) =>
      wrong('var-undeclared', `--var ${name}: the pipeline declares no variable "${name}"`, {
        fix:
          names.length === 0
            ? 'declare it on the graph: vars="name=default"'
            : `${near(name, names)}it declares: ${names.join(', ')}`,
      }),
    );

type Read =
  | { readonly variable: Manifest['variables'][string]; readonly text?: string | undefined }
  | { readonly problem: Diagnostic };

/** A declared variable: what `--var` has chosen, else its default; of a file variable the text of the file. */
async function readVariable(
  { name, value: fallback, file }: Variable,
  chosen: string | undefined,
  at: { readonly base: string; readonly cwd: string; readonly place: Pick<Diagnostic, 'place'> },
): Promise<Read> {
  const value = chosen ?? fallback;
  if (value === undefined) {
    const message = `the variable "${name}" has no default, and this run sets none`;
    const fix = `pass one: --var ${name}=VALUE, or --var ${name}=@FILE`;
    return { problem: wrong(requiredVariable, message, { ...at.place, fix }) };
  }
  if (!file && chosen?.startsWith('@') !== true) return { variable: { value } };
  const written = value.replace(/^@/, '');
  if (written.trim() === '') {
    const fix = `pass one: --var ${name}=FILE`;
    return { problem: wrong('var-file', `variable "${name}" names no file`, { fix }) };
  }
  const from = chosen === undefined ? at.base : at.cwd;
  const source = isAbsolute(written) ? written : resolve(from, written);
  const read = await readInputText(source, `variable "${name}"`);
  if ('problem' in read) {
    const place = chosen === undefined ? at.place : {};
    const fix = read.fix ?? `pass another one: --var ${name}=FILE`;
    return { problem: wrong('var-file', read.problem, { ...place, fix }) };
  }
  const stored = `${name}${read.ending}`;
  return {
    variable: {
      value: `${inWorkspace.inputs}/${stored}`,
      file: { source, sha256: sha256(read.text), stored },
    },
    text: read.text,
  };
}

const near = (name: string, names: readonly string[]): string => {
  const meant = nearest(name, names);
  return meant === undefined ? '' : `did you mean "${meant}"? `;
};

/** Whether answers are checked against that schema. */
const isChecked = (graph: Graph, reference: string): boolean =>
  [...allNodes(graph).values()].some(
    ({ settings }) => settings.response_schema === reference && settings.response_check === 'strict',
  );

function whyNoSchema(text: string, checked: boolean): string | undefined {
  let schema: Json;
  try {
    schema = parseJson(text, mostGivenLevels) as Json;
  } catch (error) {
    return `is not JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return 'is not a JSON object';
  const problem = checked ? unusableSchema(schema as JsonObject) : undefined;
  return problem === undefined
    ? undefined
    : `cannot be checked (${problem}): change that in the schema, or leave out response_check=strict`;
}

/** Files named by `key="@file"` on any node, those of called pipelines too, besides those that an earlier run has kept. */
async function frozen(
  graph: Graph,
  key: 'prompt' | 'response_schema',
  base: string,
  problems: Diagnostic[],
  kept: Readonly<Record<string, Frozen>> = {},
): Promise<Record<string, Frozen>> {
  const found: Record<string, Frozen> = { ...kept };
  for (const node of allNodes(graph).values()) {
    const reference = node.settings[key];
    if (reference === undefined || !reference.startsWith('@') || own(found, reference) !== undefined)
      continue;
    const path = resolve(base, reference.slice(1));
    const read = await readInputFile(path, `${key} of node "${node.id}"`);
    if ('problem' in read) {
      problems.push({
        code: `${key.replaceAll('_', '-')}-file`,
        severity: 'error',
        message: read.problem,
        ...placeOf(graphWith(graph, node.id), node.attrs.get(key)),
        fix: read.fix ?? 'the path is relative to the pipeline file',
      });
    } else {
      found[reference] = { path, text: read.text, sha256: sha256(read.text) };
    }
  }
  return found;
}

const placeOf = ({ file }: Graph, attribute: Attribute | undefined): { readonly place?: Place } =>
  attribute === undefined ? {} : { place: { file, span: attribute.valueSpan } };

/** The input texts of a run, by the names that nodes use. */
const texts = (record: Readonly<Record<string, { readonly text: string }>>) =>
  Object.fromEntries(Object.entries(record).map(([name, { text }]) => [name, text]));
const values = (record: Manifest['variables']) =>
  Object.fromEntries(Object.entries(record).map(([name, { value }]) => [name, value]));

const filesOf = (record: Manifest['variables']) =>
  Object.values(record).flatMap(({ value, file }) => (file === undefined ? [] : [value]));

export const textsOf = (inputs: Pick<Inputs, 'variables' | 'prompts' | 'schemas'>): Texts => ({
  variables: values(inputs.variables),
  prompts: texts(inputs.prompts),
  schemas: texts(inputs.schemas),
  inputFiles: filesOf(inputs.variables),
});

/** A response schema by its registered name or by its file. */
export async function schemaOf(
  reference: string,
  files: Readonly<Record<string, string>>,
): Promise<{ name: string; schema: JsonObject } | undefined> {
  if (reference === 'work-plan')
    return { name: reference, schema: (await import('../core/orders/work-order.ts')).workPlanSchema };
  if (reference === 'spec-questions')
    return {
      name: reference,
      schema: (await import('../core/orders/spec-questions.ts')).specQuestionsSchemaOf(),
    };
  if (reference === 'proposal')
    return { name: reference, schema: (await import('../core/orders/proposal.ts')).proposalSchemaOf() };
  const text = files[reference];
  return text === undefined
    ? undefined
    : { name: basename(reference).replace(/\W+/g, '_'), schema: JSON.parse(text) as JsonObject };
}
