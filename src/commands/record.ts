/** `factory record export`: a run's recorded answers as an agent script. */
import { resolve } from 'node:path';
import { backendOf } from '../engine/casting.ts';
import { exportScript } from '../engine/export-script.ts';
import { storedGraph } from '../factory/fork.ts';
import { damageIn } from '../factory/replay.ts';
import { changedIn } from '../factory/vouched.ts';
import { layout } from '../model/layout.ts';
import { quoteWord } from '../policy/words.ts';
import { DamagedExchange, readExchanges } from '../store/exchanges.ts';
import { readSoFar } from '../store/moment.ts';
import { findRun, readManifest } from '../store/run-store.ts';
import { isCode, writeFileAtomic } from '../system/files.ts';
import { openSnapshots } from '../workspace/snapshots.ts';
import { WorkspaceError } from '../workspace/trouble.ts';
import type { Io } from './io.ts';
import { refuse, wrong } from './refuse.ts';

export type RecordOptions = { readonly output?: string; readonly runsdir?: string };

/** Writes the script to `--output`, or to standard output. Answers with the exit code. */
export async function recordExport(run: string, options: RecordOptions, io: Io): Promise<number> {
  const no = async (code: string, message: string, fix?: string) => {
    await refuse([wrong(code, message, fix)], io, {});
    return 2;
  };
  const found = await findRun(resolve(io.cwd, options.runsdir ?? '.factory/runs'), run);
  if (!found.ok) return no('no-run', found.why);
  const dir = resolve(io.cwd, found.dir);
  const manifest = await readManifest(dir);
  if (!manifest.ok) return no('manifest', manifest.why);
  const soFar = await readSoFar(dir);
  if (!soFar.ok) return no('run-files', soFar.why);
  const at = layout(dir);
  const read = await readExchanges(at.exchanges);
  if (!read.ok)
    return read.missing
      ? no(
          'record-none',
          `run ${found.id} has no record of what its agents answered: its pipeline asks none, or an earlier version made it`,
          'run the pipeline once with this version; that run can be exported',
        )
      : no('record-damaged', read.why);
  const damage = (await changedIn(dir)) ?? (await damageIn(dir, found.id, read.exchanges));
  if (damage !== undefined) {
    await refuse(damage.problems, io, {});
    return 2;
  }
  const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.snapshots });
  try {
    const { script, unanswered } = await exportScript(
      {
        manifest: manifest.manifest,
        records: soFar.records,
        exchanges: read.exchanges,
        exchangesDir: at.exchanges,
      },
      async (snapshot, sha256) => {
        await snapshots.load(snapshot);
        return snapshots.read(sha256);
      },
    );
    const text = `${JSON.stringify(script, null, 2)}\n`;
    if (options.output === undefined) io.out(text);
    else {
      const why = await notWritten(resolve(io.cwd, options.output), text);
      if (why !== undefined)
        return no('usage', `-o ${options.output}: ${why}`, 'name a file that can be made');
    }
    for (const call of unanswered)
      io.err(
        `factory: call ${call.split(' ')[1]} of node "${call.split(' ')[0]}" asked nobody, or has no record: the script fails it\n`,
      );
    for (const node of storedGraph(manifest.manifest)?.nodes.values() ?? []) {
      const backend = backendOf(node);
      if (Object.hasOwn(script.answers, node.id) && backend !== '' && backend !== 'scripted')
        io.err(
          `factory: node "${node.id}" names its agent itself (${backend}), which --agent scripted does not overrule\n`,
        );
    }
    const count = Object.values(script.answers).reduce((sum, list) => sum + list.length, 0);
    const [answers, them] = count === 1 ? ['1 answer', 'it'] : [`${count} answers`, 'them'];
    if (options.output !== undefined)
      io.err(
        `${options.output} has ${answers} of run ${found.id}; play ${them} with --agent scripted --script ${quoteWord(options.output)}\n`,
      );
    return 0;
  } catch (error) {
    if (error instanceof DamagedExchange || error instanceof WorkspaceError)
      return no('record-damaged', error.message, 'put back a copy of that file');
    throw error;
  }
}

/** Writes a file, or says why none can lie there. */
async function notWritten(path: string, text: string): Promise<string | undefined> {
  try {
    await writeFileAtomic(path, text);
    return undefined;
  } catch (error) {
    if (isCode(error, 'EISDIR')) return 'it is a folder';
    if (isCode(error, 'EEXIST', 'ENOTDIR')) return 'a part of the path is no folder';
    throw error;
  }
}
