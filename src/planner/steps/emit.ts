/** `factory plan emit`: writes the work orders of the checked plan. */
import { join } from 'node:path';
import { levelsWords } from '../../core/ahead-words.ts';
import { countedItems } from '../../core/amounts.ts';
import { type StepVerdict, yes } from '../../core/contracts/step.ts';
import { verifyFactsIn } from '../../core/orders/verify-deciders.ts';
import { orderLevels } from '../../core/orders/waits.ts';
import { workOrderSchema } from '../../core/orders/work-order.ts';
import { levelsToRecord } from '../../core/records/ahead.ts';
import { inWorkspace } from '../../core/records/layout.ts';
import type { CommandIo } from '../../platform/command-io.ts';
import { filesInside } from '../../platform/files/inside.ts';
import { namesIn } from '../../platform/files/read.ts';
import { checkPlan } from '../compile.ts';
import { emit, fileText, manifestFile } from '../emit.ts';
import { filesOf, readIfThere } from '../files.ts';
import { isError } from '../findings.ts';
import { readPlanState, unbegun, writePlanState } from '../state.ts';
import { drawFinding, errorsReason, refusedAnswer, textOf } from './answers.ts';

/** Writes the checked plan's work orders, the manifest last; those of an earlier plan are removed. Nothing is written when
 *  there is no plan or it does not (any longer) fit the workspace. */
export async function planEmit(_options: unknown, io: CommandIo): Promise<StepVerdict> {
  const workspace = filesInside(io.cwd);
  const checked = workspace.read(inWorkspace.planChecked);
  if (checked.kind !== 'text') {
    return refusedAnswer(
      `there is no checked plan (${inWorkspace.planChecked}): run factory plan check first`,
    );
  }
  const state = readPlanState(io) ?? unbegun(io.now());
  if ('problem' in state) return refusedAnswer(`${state.problem}; begin again with factory plan prompt`);
  const repo = state.repo ?? io.cwd;
  const files = await filesOf(repo, io.env);
  if ('problem' in files) return refusedAnswer(files.problem);
  // The plan or the workspace may have been edited since the check.
  const { plan, findings } = checkPlan(checked.text, {
    repoFiles: files.list,
  });
  if (plan === undefined) {
    const why = errorsReason(findings.filter(isError));
    return refusedAnswer(
      `${inWorkspace.planChecked} does not fit the workspace (${why}): run factory plan check again`,
      findings.map((finding) => drawFinding(finding)).join(''),
    );
  }

  const plannerRunId = io.env['FACTORY_RUN_ID'] || 'manual';
  const emission = emit(plan, files.list, { plannerRunId, compileHash: state.compile_hash });
  const written = emission.orders.map((order) => ({ name: `${String(order['id'])}.json`, order }));
  // A manifest exists only with a complete set of orders. An agent may have created anything with these names.
  workspace.remove(`${inWorkspace.orders}/${manifestFile}`);
  for (const name of namesIn(join(io.cwd, inWorkspace.orders)))
    if (/^(WO|FIX)-.*\.json$/i.test(name)) workspace.remove(`${inWorkspace.orders}/${name}`);
  for (const { name, order } of written)
    await workspace.write(`${inWorkspace.orders}/${name}`, fileText(order));
  await workspace.write(`${inWorkspace.orders}/${manifestFile}`, fileText(emission.manifest));
  await workspace.write(inWorkspace.planNormalized, fileText(emission.normalized));
  await writePlanState(io, { ...state, skipped: [...emission.skipped] });

  const levels = await levelsOf(emission.orders, repo, files.list);
  const skipped = emission.skipped.map(
    (id) => `left out ${id} of the plan: the repository has the verify script already\n`,
  );
  const listed = emission.orders.map((order) => `${textOf(order['id'])}  ${textOf(order['title'])}\n`);
  const wrote = `wrote ${countedItems(written.length, 'work order')} and ${manifestFile} to ${inWorkspace.orders}\n`;
  const orders = emission.orders.map(({ id = null, title = null, verify_exempt = null }) => ({
    ...{ id, title, verify_exempt },
  }));
  return yes(`wrote ${countedItems(written.length, 'work order')}`, {
    updates: { 'plan.orders': written.length, ...levelsToRecord(levels) },
    shown: {
      out: [...skipped, ...listed, ...levelsWords(levels).map((line) => `${line}\n`), wrote].join(''),
      json: {
        ...{ outcome: 'success', folder: inWorkspace.orders, manifest_sha256: emission.manifestSha256 },
        ...{ skipped: [...emission.skipped], orders, levels },
      },
    },
  });
}

async function levelsOf(
  orders: readonly unknown[],
  repo: string,
  files: readonly string[],
): Promise<ReturnType<typeof orderLevels>> {
  const parsed = orders.map((order) => workOrderSchema().parse(order));
  const packageText = (await readIfThere(join(repo, 'package.json'))) ?? '';
  return orderLevels(parsed, verifyFactsIn(files, packageText));
}
