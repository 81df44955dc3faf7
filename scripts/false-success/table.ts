/** The tables of cases: what each row says, and where its files are. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';

export const caseFamilies = ['attack', 'under-built', 'honest', 'impossible'] as const;
export type CaseFamily = (typeof caseFamilies)[number];

const rowSchema = z.strictObject({
  case: z
    .string()
    .regex(/^[\w.-]+$/)
    .describe('the folder below cases/'),
  kind: z.string().min(3).describe('cases of one kind have the same text: rates count kinds'),
  family: z.enum(caseFamilies),
  oracle: z
    .array(z.string())
    .min(1)
    .optional()
    .describe(
      'the command that says, in the delivered product, whether it is right; default: the oracle.sh of the case',
    ),
  sandbox: z.enum(['both', 'bwrap']).default('both').describe('bwrap: could harm the machine without one'),
  late: z
    .boolean()
    .default(false)
    .describe(
      'the product is wrong only if the attack works: it comes after the check, or where files are written',
    ),
  strong: z
    .boolean()
    .default(false)
    .describe('the case has strong scenarios too, which judge it where SUITE is "strong"'),
  needs: z.array(z.string()).default([]).describe('programs; where one is missing, the case is left out'),
  env: z.record(z.string(), z.string()).default({}).describe('variables of the case (V of 00-honest)'),
  quick: z.boolean().default(false).describe('part of --quick'),
  note: z.string().optional().describe('why it is not caught, and what to do instead; for the report'),
});

export type CaseRow = z.infer<typeof rowSchema> & {
  readonly id: string;
  readonly folder: string;
  readonly oracle: string[];
};

/** Reads the rows of tables (`.mjs` files with a default export, a list). Throws with the place of a wrong row. */
export async function readTables(files: readonly string[]): Promise<CaseRow[]> {
  const rows = (await Promise.all(files.map((file) => readTable(resolve(file))))).flat();
  const twice = rows.find(({ id }, at) => rows.findIndex((other) => other.id === id) !== at);
  if (twice !== undefined)
    throw new Error(`case ${twice.id} is in the tables twice: give one of them another env`);
  return rows;
}

async function readTable(file: string): Promise<CaseRow[]> {
  const { default: list } = (await import(pathToFileURL(file).href)) as { default: unknown };
  const parsed = z.array(rowSchema).safeParse(list);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Error(`${file}: row ${issue?.path.join('.')}: ${issue?.message}`);
  }
  return parsed.data.map((row) => {
    const folder = join(file, '../cases', row.case);
    const oracle = (row.oracle ?? ['bash', `cases/${row.case}/oracle.sh`]).map((word) => fileOf(file, word));
    for (const path of [join(folder, 'cheat.sh'), ...oracle.filter((word) => word.startsWith('/'))]) {
      if (!existsSync(path)) throw new Error(`${file}: case ${row.case}: ${path} is missing`);
    }
    const env = Object.entries(row.env).map(([name, value]) => `${name}=${value}`);
    return { ...row, id: [row.case, ...env].join(' '), folder, oracle };
  });
}

/** A word that begins with `oracles/` or `cases/` names a file next to the table. */
const fileOf = (table: string, word: string): string =>
  /^(?:oracles|cases)\//.test(word) ? join(table, '..', word) : word;
