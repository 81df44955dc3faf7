/** Plans with their expected findings, one file per area. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { checkPlan } from '../../src/planner/compile.ts';
import { emit } from '../../src/planner/emit.ts';
import { toolFolders } from '../../src/planner/files.ts';
import { isError, type PlanFinding } from '../../src/planner/findings.ts';
import { noPython } from '../support/python.ts';

const folder = join(import.meta.dirname, '../vectors/planner');

const finding = z.object({ code: z.string(), wo_id: z.string().nullable(), field: z.string().nullable() });
const vectorCase = z.object({
  name: z.string(),
  tags: z.array(z.string()),
  manifest: z.unknown(),
  repoFiles: z.array(z.string()),
  expect: z.object({
    accepted: z.boolean().optional(),
    errors: z.array(finding).optional(),
    warnings: z.array(finding).optional(),
    parse_error: z.boolean().optional(),
    verify_exempt: z.record(z.string(), z.boolean()).optional(),
    normalized: z.record(z.string(), z.record(z.string(), z.unknown())).optional(),
    final: z.array(z.object({ id: z.string(), allowed_files: z.array(z.string()) })).optional(),
    bootstrap_skipped: z.boolean().optional(),
    extras_preserved: z.record(z.string(), z.array(z.string())).optional(),
    key_order: z.array(z.string()).optional(),
    manifest_keys: z.array(z.string()).optional(),
    manifest_values: z.record(z.string(), z.unknown()).optional(),
    codes_any_of: z.array(z.string()).optional(),
  }),
});
type VectorCase = z.infer<typeof vectorCase>;

/** Vectors whose recorded result is intentionally not ours; separate tests cover them. */
const otherwise = new Set([
  'NaN literal tolerated outside work orders',
  '5000-digit integer is a parse failure',
  'only step: flagged as skipped but kept',
  'a later step promising the script is dropped as well',
]);

const generated = z.object({
  $repeat: z.string(),
  count: z.number(),
  prefix: z.string().default(''),
  suffix: z.string().default(''),
});

/** Expands descriptions of very long strings. */
function expand(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(expand);
  if (typeof value !== 'object' || value === null) return value;
  const made = generated.safeParse(value);
  if (made.success) return made.data.prefix + made.data.$repeat.repeat(made.data.count) + made.data.suffix;
  if ('$concat' in value && Array.isArray(value.$concat)) return value.$concat.map(expand).join('');
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, expand(item)]));
}

const listed = (files: readonly string[]) =>
  files.filter((file) => !file.split('/').some((part) => toolFolders.has(part)));
/** Without the warning about a missing Python. */
const bare = (findings: readonly PlanFinding[]) =>
  findings
    .filter(({ code }) => code !== 'W102' || noPython === '')
    .map(({ code, wo_id, field }) => ({ code, wo_id, field }));

function verify({ manifest, repoFiles: files, expect: expected }: VectorCase): void {
  const answer = expand(manifest);
  const repoFiles = listed(files);
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
  const { plan, findings, parseError } = checkPlan(text, { repoFiles });
  if (expected.accepted !== undefined) expect(plan !== undefined).toBe(expected.accepted);
  if (expected.errors !== undefined) expect(bare(findings.filter(isError))).toEqual(expected.errors);
  if (expected.warnings !== undefined)
    expect(bare(findings.filter((f) => !isError(f)))).toEqual(expected.warnings);
  if (expected.errors !== undefined) expect(parseError).toBe(expected.parse_error ?? false);
  if (expected.codes_any_of !== undefined) {
    expect(findings.some(({ code }) => expected.codes_any_of?.includes(code))).toBe(true);
  }
  if (plan === undefined) return;

  const {
    orders,
    manifest: written,
    skipped,
  } = emit(plan, repoFiles, { plannerRunId: 'run', compileHash: 'hash' });
  const byId = new Map(orders.map((order) => [order['id'], order]));
  for (const [id, exempt] of Object.entries(expected.verify_exempt ?? {})) {
    expect(byId.get(id)).toMatchObject({ verify_exempt: exempt, provenance: { bootstrap: exempt } });
  }
  for (const [id, fields] of Object.entries(expected.normalized ?? {})) {
    for (const [field, value] of Object.entries(fields)) expect(byId.get(id)?.[field]).toEqual(value);
  }
  for (const [id, keys] of Object.entries(expected.extras_preserved ?? {})) {
    expect(Object.keys(byId.get(id) ?? {})).toEqual(expect.arrayContaining(keys));
  }
  if (expected.final !== undefined) {
    expect(orders.map(({ id, allowed_files }) => ({ id, allowed_files }))).toEqual(expected.final);
  }
  if (expected.bootstrap_skipped !== undefined) expect(skipped.length > 0).toBe(expected.bootstrap_skipped);
  if (expected.key_order !== undefined) expect(Object.keys(orders[0] ?? {})).toEqual(expected.key_order);
  if (expected.manifest_keys !== undefined) expect(Object.keys(written)).toEqual(expected.manifest_keys);
  for (const [key, value] of Object.entries(expected.manifest_values ?? {}))
    expect(written[key]).toEqual(value);
}

for (const file of readdirSync(folder).filter((name) => name.endsWith('.json'))) {
  const { about, cases } = z
    .object({ about: z.string(), cases: z.array(vectorCase) })
    .parse(JSON.parse(readFileSync(join(folder, file), 'utf8')));
  const kept = cases.filter(({ name, tags }) => !(tags.includes('quirk') && otherwise.has(name)));
  describe(`${file}: ${about}`, () => {
    test.for(kept)('$name', (one, { skip }) => {
      skip(/E006|W101/.test(JSON.stringify(one.expect)) && noPython !== '', noPython);
      verify(one);
    });
  });
}
