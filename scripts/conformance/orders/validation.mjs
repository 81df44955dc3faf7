/** A model's raw plan and the expected findings, by the library. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { at, findings, same } from '../compare.mjs';
import { inFolder, put } from '../folders.mjs';

const bare = (list) => list.map(({ code, wo_id, field }) => ({ code, wo_id, field }));

export const checkValidation = (one, setting) =>
  inFolder(setting, async (root) => {
    const { checkPlan, isPlanError, listRepoFiles } = setting.library;
    const text = typeof one.manifest === 'string' ? one.manifest : JSON.stringify(one.manifest);
    const repo = join(root, 'repo');
    mkdirSync(repo);
    put(repo, Object.fromEntries((one.repoFiles ?? []).map((path) => [path, ''])));
    const repoFiles = await listRepoFiles(repo);

    const expected = one.expect;
    const found = findings();
    const { plan, findings: all, parseError } = checkPlan(text, { repoFiles });
    const errors = all.filter(isPlanError);
    const warnings = all.filter((finding) => !isPlanError(finding));
    if (expected.accepted !== undefined) found.equal('accepted', expected.accepted, plan !== undefined);
    if (expected.errors !== undefined) found.equal('errors', expected.errors, bare(errors));
    if (expected.warnings !== undefined) found.equal('warnings', expected.warnings, bare(warnings));
    if (expected.parse_error !== undefined) found.equal('parse_error', expected.parse_error, parseError);
    if (expected.codes_any_of !== undefined) {
      const codes = errors.map(({ code }) => code);
      const some = codes.some((code) => expected.codes_any_of.includes(code));
      found.check('codes', some, `one of ${expected.codes_any_of.join(', ')}`, codes);
    }
    if (plan !== undefined) checkEmission(expected, plan, repoFiles, setting, found);
    else {
      const written = aboutFiles.filter((field) => field in expected && !same(expected[field], {}));
      found.check(
        'work orders',
        written.length === 0,
        `some, for ${written.join(', ')}`,
        'none: the plan is refused',
      );
    }
    return { problems: found.problems };
  });

/** Checks the files of a valid plan. */
const aboutFiles = [
  'verify_exempt',
  'normalized',
  'final',
  'extras_preserved',
  'key_order',
  'manifest_keys',
  'manifest_values',
];

function checkEmission(expected, plan, repoFiles, { library }, found) {
  const { orders, manifest, skipped } = library.emitPlan(plan, repoFiles, {
    plannerRunId: 'run',
    compileHash: '0123456789abcdef',
  });
  const byId = new Map(orders.map((order) => [order.id, order]));
  for (const [id, exempt] of Object.entries(expected.verify_exempt ?? {})) {
    found.equal(`${id} verify_exempt`, exempt, byId.get(id)?.verify_exempt);
    found.equal(`${id} provenance.bootstrap`, exempt, byId.get(id)?.provenance?.bootstrap);
  }
  for (const [id, fields] of Object.entries(expected.normalized ?? {}))
    for (const [field, value] of Object.entries(fields))
      found.equal(`${id} ${field}`, value, byId.get(id)?.[field]);
  for (const [id, keys] of Object.entries(expected.extras_preserved ?? {}))
    for (const key of [keys].flat())
      found.check(`${id} extra`, key in (byId.get(id) ?? {}), key, Object.keys(byId.get(id) ?? {}));
  if (expected.final !== undefined) {
    const got = orders.map(({ id, allowed_files }) => ({ id, allowed_files }));
    found.equal('final', expected.final, got);
  }
  if (expected.bootstrap_skipped !== undefined)
    found.equal('bootstrap_skipped', expected.bootstrap_skipped, skipped.length > 0);
  if (expected.work_order_files !== undefined) {
    const names = orders.map(({ id }) => `${id}.json`);
    found.equal('work_order_files', [...expected.work_order_files].sort(), names.sort());
  }
  for (const [id, keys] of Object.entries(keyOrders(expected.key_order, orders)))
    found.equal(`${id} key_order`, keys, Object.keys(byId.get(id) ?? {}));
  if (expected.manifest_keys !== undefined)
    found.equal('manifest_keys', [...expected.manifest_keys].sort(), Object.keys(manifest).sort());
  for (const [key, value] of Object.entries(expected.manifest_values ?? {}))
    found.equal(`manifest ${key}`, value, key.startsWith('/') ? at(manifest, key) : manifest[key]);
}

/** Expected orders of keys by work order; a list alone is that of the first one. */
const keyOrders = (expected = {}, orders) =>
  Array.isArray(expected) ? { [orders[0]?.id ?? 'the first work order']: expected } : expected;
