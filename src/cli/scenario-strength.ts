/** How strong scenarios are that have accepted a product, where the node of a run that runs them asks for it. */
import { writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import type { Strength } from '../core/records/strength.ts';
import { isTooWeak } from '../core/strength.ts';
import { filesOfHead } from '../git/history.ts';
import { removeTree } from '../platform/files/remove.ts';
import { makeTemporary, temporaryOf } from '../platform/files/temporary.ts';
import { GitError } from '../platform/git.ts';
import type { Scenario } from '../scenarios/discover.ts';
import type { PhaseHost } from '../scenarios/launch/product.ts';
import type { ScenarioReport } from '../scenarios/result.ts';
import { noStrengthCache } from '../scenarios/strength/cache.ts';
import { type MeasuredStrength, measureStrength } from '../scenarios/strength/measure.ts';
import { subjectInRun } from '../scenarios/strength/subject-in-run.ts';
import { unknownStrength } from '../scenarios/strength/tally.ts';
import type { StrengthRequest } from './strength-request.ts';

/** The report of scenarios that have passed, with their strength; one that is not reached fails. Undefined if the signal fired
 *  meanwhile. `began`: when this process began, on the monotonic clock. */
export async function withStrength(
  report: ScenarioReport,
  request: StrengthRequest,
  about: {
    readonly scenarios: readonly Scenario[];
    readonly app: string;
    /** The workspace. */
    readonly cwd: string;
    readonly jobs: number | undefined;
    readonly timeoutMs: number;
    readonly began: number;
  },
  host: PhaseHost,
): Promise<ScenarioReport | undefined> {
  const { strength: found, survivors, end } = await measured(request, about, host);
  if (host.signal.aborted) return undefined;
  const strength = decidedStrength(found);
  // Without a number there were no judgements that count.
  const isMeasured = strength.rate !== null && end !== 'interrupted';
  if (request.survivors !== undefined && isMeasured)
    await writeFile(request.survivors, JSON.stringify({ schema_version: 1, survivors }), { mode: 0o600 });
  return withMeasured(report, strength);
}

/** A report of scenarios none of which has run on the product: what is required of their strength is not reached. */
export const withoutStrength = (report: ScenarioReport, why: string, required: number): ScenarioReport =>
  withMeasured(report, decidedStrength(unknownStrength(why, { required })));

/** A requirement of which nothing is known is not met. */
const decidedStrength = (found: Strength): Strength =>
  found.state === 'unknown' && found.required !== null ? { ...found, state: 'undecided' } : found;

const withMeasured = (report: ScenarioReport, strength: Strength): ScenarioReport =>
  isTooWeak(strength)
    ? { ...report, status: 'fail', exit_code: 1, failure_class: 'scenario', strength }
    : { ...report, strength };

async function measured(
  request: StrengthRequest,
  { scenarios, app, cwd, jobs, timeoutMs, began }: Parameters<typeof withStrength>[2],
  host: PhaseHost,
): Promise<MeasuredStrength> {
  const { sample, required, build, isolation, base, history } = request;
  const unknown = (why: string): MeasuredStrength => ({
    strength: unknownStrength(why, { required }),
    survivors: [],
    end: 'unknown',
  });
  if (base === undefined) return unknown('the tree with which the run began cannot be read');
  const place = relative(cwd, app);
  if (place.split('/')[0] === '..') return unknown('the product is not in the workspace');
  const scratch = await makeTemporary(temporaryOf(host.env), 'strength');
  try {
    const committed = history === undefined ? [] : await filesOfHead(history, host.env);
    const below = place === '' ? '' : `${place}/`;
    const subject = await subjectInRun(app, {
      ...{ base: join(base, place), scratch, env: host.env },
      committed: committed.filter((path) => path.startsWith(below)).map((path) => path.slice(below.length)),
    });
    const cores = host.sandbox?.openNetwork === undefined ? 1 : availableParallelism();
    return await measureStrength(
      subject,
      {
        ...{ scenarios, sample, required, build, isolation, timeoutMs, jobs: jobs ?? cores },
        budgetMs: budgetOf(request, host.clock.monotonic() - began),
        // A cache outside of the run would say which mutants nothing noticed.
        cache: noStrengthCache,
      },
      host,
    );
  } catch (error) {
    if (error instanceof GitError) return unknown(`git cannot compare the product: ${error.message}`);
    throw error;
  } finally {
    await removeTree(scratch);
  }
}

/** Part of the time left that is kept for the last judgements, which a spent budget does not end. */
const reserve = 0.15;

const budgetOf = ({ budgetMs, leftMs }: StrengthRequest, tookMs: number): number | undefined => {
  const most = leftMs === undefined ? undefined : Math.max(0, (leftMs - tookMs) * (1 - reserve));
  return budgetMs === undefined || most === undefined ? (budgetMs ?? most) : Math.min(budgetMs, most);
};
