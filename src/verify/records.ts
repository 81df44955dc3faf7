/** Checks the records of a run against its journal. */
import { statSync } from 'node:fs';
import { canonicalHash, type Json, parseJson } from '../core/json.ts';
import type { Mark } from '../core/records/checkpoint.ts';
import { layout } from '../core/records/layout.ts';
import type { Manifest } from '../core/records/manifest.ts';
import { readPlain } from '../platform/files/read.ts';
import { checkpointFileSchema, checkpointText, completedNodes } from '../run/checkpoint.ts';
import type { RunReader } from '../run/open-run.ts';
import type { RunHistory } from '../run/run-journal.ts';
import { type Findings, shortJson } from './report.ts';
import { checkViews } from './views.ts';

/** The journal of the run; undefined if it cannot be read. */
export function checkJournal(reader: RunReader, found: Findings): RunHistory | undefined {
  const history = reader.history();
  if (!history.ok) {
    found.add(history.missing ? 'missing' : 'changed', 'journal.jsonl', history.why);
    return undefined;
  }
  found.count('files');
  found.count('visits', history.records.length - 1);
  found.count('records', history.whole.records);
  const late = history.late.length;
  if (late > 0)
    found.cannot(
      `${late} ${late === 1 ? 'line' : 'lines'} of journal.jsonl that an owner wrote while a later one had the run`,
    );
  checkCheckpoint(reader.dir, history, found);
  return history;
}

/** Compares the checkpoint with the text that the journal gives. */
function checkCheckpoint(runDir: string, history: RunHistory, found: Findings): void {
  const where = 'checkpoint.json';
  const file = readPlain(layout(runDir).checkpoint);
  const late = 'a resume writes it from the journal';
  if (file.kind !== 'text') {
    found.add('missing', where, `there is none: it was removed, or lost in a power cut; ${late}`);
    return;
  }
  found.count('files');
  const says = jsonIn(file.text);
  const read = checkpointFileSchema().safeParse(says);
  if (!read.success) {
    found.add('unreadable', where, `it is not the JSON of a checkpoint; ${late}`);
    return;
  }
  const { committed } = history;
  if (read.data.journal.records < committed.records) {
    // A process that is killed between the two leaves the older one.
    found.cannot(`${where}: the journal has more lines; ${late}`);
    return;
  }
  const { completed_nodes, ...state } = history.checkpoint;
  const should = checkpointText(state, completedNodes(completed_nodes).now(), committed);
  if (should === file.text) return;
  const wrong = Object.entries(JSON.parse(should) as Record<string, Json>).filter(
    ([key, value]) => canonicalHash((says as Record<string, Json>)[key] ?? null) !== canonicalHash(value),
  );
  for (const [key, value] of wrong)
    found.add('contradiction', where, `"${key}" is not the value that the journal gives`, {
      should: shortJson(value),
      is: shortJson((says as Record<string, Json>)[key] ?? null),
    });
  if (wrong.length === 0) found.add('changed', where, 'it is not the text that the journal gives');
}

function jsonIn(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Compares the journal with its length and hash in `counted`, the result of the latest end, and the views with what the journal
 *  gives. */
export async function checkJournals(
  reader: RunReader,
  manifest: Manifest,
  history: RunHistory,
  counted: Readonly<Record<string, Mark>> | undefined,
  found: Findings,
): Promise<void> {
  const { dir: runDir } = reader;
  const { whole, checkpoint } = history;
  const isOver = counted !== undefined && checkpoint.status !== 'running';
  const { records, sha256 } = counted?.['journal.jsonl'] ?? { records: 0, sha256: '' };
  if (isOver) {
    if (whole.records < records || (whole.records === records && whole.sha256 !== sha256))
      found.add('changed', 'journal.jsonl', 'it is not the journal that result.json was written from', {
        should: sha256,
        is: whole.sha256,
      });
    checkEnd(runDir, history, records, found);
  }
  // A full disk has no room for the records of its suspension.
  const areWhole = isOver && whole.records === records && checkpoint.status !== 'paused_disk';
  await checkViews({ reader, manifest, history, areWhole }, found);
  if (counted === undefined)
    found.cannot('the end of the records: the process ended before it wrote result.json');
}

/** No record may follow the end of a run, except what a resume that was killed at once has left. */
function checkEnd(runDir: string, { whole, checkpoint }: RunHistory, records: number, found: Findings): void {
  const where = 'journal.jsonl';
  // A run that has reached an exit is not resumed.
  const mayResume = checkpoint.status !== 'completed' && checkpoint.ended?.exit_node == null;
  if (whole.records > records && !mayResume)
    found.add('added', where, 'there are more records than the run had written at its end', {
      should: `${records} records`,
      is: `${whole.records} records`,
    });
  const torn = statSync(layout(runDir).journal).size - whole.bytes;
  if (torn === 0) return;
  const what = `the last ${torn} bytes are no whole line`;
  if (mayResume) found.cannot(`the end of ${where}: ${what}, as a resume that was killed leaves them`);
  else found.add('added', where, `${what}, and the run was not interrupted`);
}
