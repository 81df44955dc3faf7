/** The mutants that the scenarios of a run did not notice: they are sealed with its holdout, and only people with its key get them. */
import { join } from 'node:path';
import * as z from 'zod';
import type { Environment } from '../core/contracts/process.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { own } from '../core/json.ts';
import { headRef, layout, nodeLayout } from '../core/records/layout.ts';
import type { Manifest } from '../core/records/manifest.ts';
import {
  reportedStrength,
  type Strength,
  type StrengthSurvivor,
  strengthSurvivorSchema,
} from '../core/records/strength.ts';
import { sha256 } from '../core/sha256.ts';
import { ForeignHistory } from '../git/guard.ts';
import { historyGit } from '../git/history.ts';
import { openText, readHoldoutKey } from '../holdout/vault.ts';
import { isFolder, readPlainBytes } from '../platform/files/read.ts';
import { GitError } from '../platform/git.ts';
import { descendsFrom } from '../platform/process/table.ts';
import { openRun } from '../run/open-run.ts';
import { ordersIn } from '../scenarios/strength/subject.ts';
import { isInsideRun } from './given.ts';
import { folderOf } from './inspect/folder.ts';

export type SurvivorsOfRun = {
  readonly run_id: string;
  readonly node: string;
  readonly visit: number;
  /** What was measured then. */
  readonly strength: Strength;
  readonly survivors: readonly StrengthSurvivor[];
};

const no = (message: string, fix: string): Refusal => refused('survivors', message, fix);

/** Of the latest execution that measured the strength of its scenarios. A process of a run gets none, of whatever run. */
export async function survivorsOfRun(runDir: string, env: Environment): Promise<SurvivorsOfRun | Refusal> {
  const recorded = await openRun(runDir).stored();
  if ('problems' in recorded) return recorded;
  const { manifest, history } = recorded;
  const isOfARun = (env['FACTORY_RUN_MARKER'] ?? '') !== '' || descendsFrom(['FACTORY_RUN_MARKER=']);
  if (isOfARun || isInsideRun(runDir, manifest))
    return no(
      'this is a process of a run: what the scenarios do not notice is hidden from it, as they are',
      'use a terminal of your own',
    );
  const byHand = 'factory scenario strength DIR --app APP measures by hand and prints them';
  if (manifest.holdout === undefined)
    return no(`run ${manifest.run_id} has no holdout, and so no key to keep them with`, byHand);
  const name = nodeLayout('').survivors.slice(1);
  const visits = history.records.flatMap((record) => {
    const strength = record.type === 'Visit' ? reportedStrength(record.outcome.updates) : undefined;
    const hash = record.type === 'Visit' ? own(record.artifacts ?? {}, name) : undefined;
    return record.type !== 'Visit' || strength === undefined || hash === undefined
      ? []
      : [{ node: record.node, visit: record.visit, strength, hash }];
  });
  const latest = visits.at(-1);
  if (latest === undefined)
    return no(
      `no execution of run ${manifest.run_id} has measured the strength of its scenarios`,
      `set strength=60 or min_strength=0.8 on the node that runs them; or ${byHand}`,
    );
  const key = readHoldoutKey(manifest.holdout, env);
  if ('problem' in key) return { problems: [key.problem] };
  const { hash, ...found } = latest;
  const opened = openedList(join(await folderOf(runDir, found), name), hash, manifest, key.key);
  if ('problems' in opened) return opened;
  const survivors = await withOrders(opened.survivors, runDir, env);
  return { run_id: manifest.run_id, ...found, survivors };
}

/** With the work orders that wrote their lines, which the node that measured did not know. */
async function withOrders(
  survivors: readonly StrengthSurvivor[],
  runDir: string,
  env: Environment,
): Promise<readonly StrengthSurvivor[]> {
  const { history } = layout(runDir);
  if (survivors.length === 0 || !isFolder(history)) return survivors;
  const orderOf = ordersIn(historyGit(history, env), headRef);
  const named: StrengthSurvivor[] = [];
  try {
    for (const one of survivors) named.push({ ...one, order: await orderOf(one.file, one.line) });
    return named;
  } catch (error) {
    // Without git, or with a history that is not the run's, nothing is known of orders.
    if (error instanceof GitError || error instanceof ForeignHistory) return survivors;
    throw error;
  }
}

function openedList(
  path: string,
  hash: string,
  { forked_from: from, run_id: id }: Manifest,
  key: Buffer,
): { readonly survivors: readonly StrengthSurvivor[] } | Refusal {
  const read = readPlainBytes(path);
  if (read.kind !== 'text' || sha256(read.text) !== hash)
    return no(`${path} is not what run ${id} has written`, `factory verify ${id} shows what was changed`);
  const text = openText(read.text, key);
  if (text !== undefined) return { survivors: listSchema().parse(JSON.parse(text)).survivors };
  return from === undefined
    ? no(
        `${path} was sealed with another key than that of run ${id}`,
        `factory verify ${id} shows what was changed`,
      )
    : no(
        `the latest measurement of run ${id} is one of the run that it was forked from, with that run's key`,
        `factory scenario survivors ${from.run_id}`,
      );
}

const listSchema = () => z.object({ survivors: z.array(strengthSurvivorSchema()) });
