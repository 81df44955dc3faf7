/** `factory replay`: repeats a run from its record, and on request compares the two. */
import { replayRun } from '../app/run/index.ts';
import type { Finished } from '../app/types.ts';
import type { Refusal } from '../core/diagnostic.ts';
import type { Manifest } from '../core/records/manifest.ts';
import type { Point } from '../core/records/names.ts';
import { replayNormalForm } from '../run/answers.ts';
import { type ComparedRun, compareRuns, differenceText } from '../run/compare-runs.ts';
import { openRun } from '../run/open-run.ts';
import { usage } from './find-run.ts';
import { flagsOf, hostOf, type RunHost } from './flags.ts';
import { copyTarget, type ForkOptions } from './fork.ts';
import { flagOfOption } from './options.ts';
import { openView } from './report/live.ts';
import { report } from './run.ts';
import { setText } from './set-texts.ts';
import type { VerbResult } from './verb.ts';

export type ReplayOptions = Omit<ForkOptions, 'at' | 'before' | 'pipeline' | 'note'> & {
  readonly from?: Point;
  readonly check?: boolean;
  readonly runTools?: boolean;
};

/** Replays a run as a new run. Answers with the exit code of the run; with `--check` 0 where the two are equal and 1 where
 *  they are not. */
export async function replayCommand(run: string, options: ReplayOptions, io: RunHost): Promise<VerbResult> {
  const view = await openView(options, io);
  const request = await requestOf(options, io.cwd);
  if ('problems' in request) return request;
  const where = await copyTarget(run, options, io);
  if ('problems' in where) return where;
  const ended = await replayRun(where.dir, request, where, flagsOf(options), hostOf(io, view, options));
  if (options.check !== true || 'problems' in ended) return report(ended, options, io);
  return check(where.dir, ended, options, io);
}

async function requestOf(options: ReplayOptions, cwd: string) {
  for (const name of ['agent', 'model', 'effort', 'fidelity', 'agent_script'] as const) {
    const flag = flagOfOption(name);
    if (options.live !== true && options[name] !== undefined)
      return usage(
        `${flag} has no effect without --live: the record answers`,
        `add --live, or leave out ${flag}`,
      );
  }
  const prompts = await promptsOf(options.set ?? [], cwd);
  if ('problems' in prompts) return prompts;
  return { from: options.from, prompts: prompts.texts, runTools: options.runTools === true };
}

/** `prompt.NODE=text` or `prompt.NODE=@file`, as texts by node. */
async function promptsOf(
  pairs: readonly string[],
  cwd: string,
): Promise<{ readonly texts: Readonly<Record<string, string>> } | Refusal> {
  const texts: Record<string, string> = {};
  for (const pair of pairs) {
    const [, node, value = ''] = /^prompt\.([A-Za-z_][\w.]*)=(.*)$/s.exec(pair) ?? [];
    if (node === undefined)
      return usage(
        `--set ${pair.slice(0, 60)} is not prompt.NODE=TEXT or prompt.NODE=@FILE`,
        'for example --set prompt.plan=@new-plan.md; variables are set by --var NAME=VALUE',
      );
    if (Object.hasOwn(texts, node))
      return usage(`--set prompt.${node} is given twice`, 'leave out one of them');
    const given = await setText(`prompt.${node}`, value, cwd);
    if ('problems' in given) return given;
    texts[node] = given.text;
  }
  return { texts };
}

/** Compares the executions of the new run with those of the recorded one and prints the result. */
async function check(dir: string, ended: Finished, options: ReplayOptions, io: RunHost): Promise<number> {
  const { result } = ended;
  const recorded = await manifestOf(dir);
  const replayed = await manifestOf(result.run_dir);
  const { replay_of: of } = replayed;
  if (of === undefined) throw new Error(`Internal: run ${result.run_id} is not a replay`);
  const first = replayed.forked_from?.seq ?? 1;
  const compared = compareRuns(
    await comparedRun(dir, first),
    await comparedRun(result.run_dir, first),
    replayNormalForm({ ...of, changed: [] }, { runId: result.run_id, runDir: result.run_dir }),
  );
  const equal = 'same' in compared;
  if (options.json === true) {
    const report = {
      schema_version: 1,
      equal,
      executions: equal ? compared.same : null,
      difference: equal ? null : compared.difference,
      recorded: recorded.run_id,
      replayed: result.run_id,
      result,
    };
    io.out(`${JSON.stringify(report, null, 2)}\n`);
  } else if (equal)
    io.out(`equal: ${compared.same} executions of ${result.run_id} match those of ${recorded.run_id}\n`);
  else
    io.out(
      `different: ${differenceText(compared.difference)}\n${result.reason === '' ? '' : `${result.reason}\n`}`,
    );
  return equal ? 0 : 1;
}

async function manifestOf(runDir: string): Promise<Manifest> {
  const read = await openRun(runDir).manifest();
  if (!read.ok) throw new Error(read.why);
  return read.manifest;
}

async function comparedRun(runDir: string, first: number): Promise<ComparedRun> {
  const read = openRun(runDir).history();
  if (!read.ok) throw new Error(read.why);
  const { status, ended } = read.checkpoint;
  return { records: read.records.slice(first), end: { status, ended } };
}
