/** `factory replay`: a run made again from what it recorded, compared with it on request. */
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { placesOf } from '../engine/replay.ts';
import { compareTraces, differenceWords } from '../engine/same-trace.ts';
import type { Finished, Refusal } from '../factory.ts';
import { replayRun } from '../factory.ts';
import { layout } from '../model/layout.ts';
import type { Point } from '../model/point.ts';
import { parsePoint } from '../model/point.ts';
import { readRecords } from '../store/journal.ts';
import { findRun, newRunId, readManifest } from '../store/run-store.ts';
import { isMissing, systemWords } from '../system/files.ts';
import { realOf } from '../workspace/dirs.ts';
import { placeProblem } from './fork.ts';
import { wrong } from './refuse.ts';
import type { RunDoors, RunOptions } from './run.ts';
import { doorsOf, flagsOf, settle, usage } from './run.ts';
import { openView } from './view.ts';

export type ReplayOptions = Omit<
  RunOptions,
  'resume' | 'workdir' | 'allowDirty' | 'holdout' | 'acceptChanges'
> & {
  readonly from?: string;
  readonly set?: readonly string[];
  readonly check?: boolean;
  readonly runTools?: boolean;
};

/** Replays a run into a new directory. Answers with the exit code: that of the run, with `--check` 0 when the two tell
 *  the same and 1 when they do not. */
export async function replayCommand(run: string, options: ReplayOptions, io: RunDoors): Promise<number> {
  const view = await openView(options, io);
  const wanted = await wantedOf(run, options, io);
  if ('problems' in wanted) return settle(wanted, options, io);
  const { dir, from, runsDir, runId, flags, prompts } = wanted;
  const ended = await replayRun(
    dir,
    { from, prompts, runTools: options.runTools === true },
    { runsDir, runId },
    flags,
    doorsOf(io, view),
  );
  if (options.check !== true || 'problems' in ended) return settle(ended, options, io);
  return check(dir, ended, options, io);
}

async function wantedOf(run: string, options: ReplayOptions, io: RunDoors) {
  const flags = flagsOf(options);
  if ('problems' in flags) return flags;
  const live = options.live === true;
  for (const name of ['agent', 'model', 'effort', 'script'] as const)
    if (!live && options[name] !== undefined)
      return usage(
        `--${name} says who answers live, and nobody does without --live`,
        `add --live, or leave out --${name}`,
      );
  const from = options.from === undefined ? undefined : parsePoint(options.from);
  if (from !== undefined && 'problem' in from)
    return usage(`--from ${from.problem}`, from.fix.replace('--at', '--from'));
  const prompts = await promptsOf(options.set ?? [], io.cwd);
  if ('problems' in prompts) return prompts;
  const usual = resolve(io.cwd, '.factory/runs');
  const given = options.runsdir === undefined ? usual : resolve(io.cwd, options.runsdir);
  // `--runsdir` is where the new run goes; the one to replay may lie there too, or in the usual place.
  let found = await findRun(given, run);
  if (!found.ok && given !== usual) {
    const elsewhere = await findRun(usual, run);
    if (elsewhere.ok) found = elsewhere;
  }
  if (!found.ok) return noRun(found.why);
  const dir = resolve(io.cwd, found.dir);
  const runsDir = options.runsdir === undefined ? dirname(dir) : given;
  const runId = options.runId ?? newRunId(io.clock);
  const wrong = await placeProblem(runsDir, runId, dir, io.cwd);
  if (wrong !== undefined) return wrong;
  return { dir, from: from satisfies Point | undefined, runsDir, runId, flags, prompts: prompts.texts };
}

const noRun = (message: string): Refusal => ({ problems: [wrong('no-run', message)] });

/** `prompt.NODE=text` or `prompt.NODE=@file`, as texts by node. */
async function promptsOf(
  pairs: readonly string[],
  cwd: string,
): Promise<{ readonly texts: Readonly<Record<string, string>> } | Refusal> {
  const texts: Record<string, string> = {};
  for (const pair of pairs) {
    const [, node, value = ''] = /^prompt\.([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s.exec(pair) ?? [];
    if (node === undefined)
      return usage(
        `--set ${pair.slice(0, 60)} is not prompt.NODE=TEXT or prompt.NODE=@FILE`,
        'for example --set prompt.plan=@new-plan.md; variables are set by --var NAME=VALUE',
      );
    if (Object.hasOwn(texts, node))
      return usage(`--set prompt.${node} is given twice`, 'leave out one of them');
    if (!value.startsWith('@')) {
      texts[node] = value;
      continue;
    }
    const path = resolve(cwd, value.slice(1));
    try {
      const text = new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path));
      texts[node] = text.replace(/\r?\n$/, '');
    } catch (error) {
      const why = isMissing(error)
        ? 'there is no such file'
        : error instanceof TypeError
          ? 'it is not UTF-8 text'
          : systemWords(error);
      return usage(
        `--set prompt.${node}: ${path} cannot be read: ${why}`,
        'the path is relative to where you are',
      );
    }
  }
  return { texts };
}

/** Holds the trace of the new run against that of the recorded one, and says how they compare. */
async function check(dir: string, ended: Finished, options: ReplayOptions, io: RunDoors): Promise<number> {
  const { result } = ended;
  const side = async (runDir: string) => {
    const read = await readManifest(runDir);
    if (!read.ok) throw new Error(read.why);
    const { manifest } = read;
    const dirs = [...new Set([runDir, realOf(runDir), dirname(manifest.workspace_path)])];
    const { records } = await readRecords(layout(runDir).trace);
    return { manifest, told: { place: { runId: manifest.run_id, dirs }, records } };
  };
  const [was, is] = [await side(dir), await side(result.run_dir)];
  const point = options.from === undefined ? undefined : is.manifest.forked_from;
  const { replay_of: of } = is.manifest;
  const compared = compareTraces(was.told, is.told, of === undefined ? [] : placesOf(of), point);
  const equal = 'same' in compared;
  if (options.json === true)
    io.out(
      `${JSON.stringify(
        {
          schema_version: 1,
          equal,
          records: equal ? compared.same : null,
          difference: equal ? null : compared.difference,
          recorded: was.manifest.run_id,
          replayed: result.run_id,
          result,
        },
        null,
        2,
      )}\n`,
    );
  else if (equal)
    io.out(
      `equal: ${compared.same} records of the trace of ${result.run_id} are those of ${was.manifest.run_id}\n`,
    );
  else
    io.out(
      `different: ${differenceWords(compared.difference)}\n${result.reason === '' ? '' : `${result.reason}\n`}`,
    );
  return equal ? 0 : 1;
}
