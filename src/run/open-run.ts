/** The reader of a run directory. */
import { type Refusal, refused } from '../core/diagnostic.ts';
import { quoteWord } from '../core/policy/words.ts';
import { type JournalMark, journalMarkSchema } from '../core/records/checkpoint.ts';
import { layout } from '../core/records/layout.ts';
import type { Manifest } from '../core/records/manifest.ts';
import { type CountedLines, JournalLines, linesNearEnd } from './journal-lines.ts';
import { type JournalEntry, type JournalPosition, readJournal } from './journal-read.ts';
import { historyIn, historyOfEnd, type ReadRun, type RunHistory } from './run-journal.ts';
import { jsonOf, type ReadManifest, readManifest } from './runs.ts';
import type { Unreadable } from './unreadable.ts';

/** A run as its records have it. */
export type StoredRun = { readonly manifest: Manifest; readonly history: RunHistory };

/** Answers what a run directory says now. Each question looks at the files again, and reads what was appended to them since the
 *  last one: a process that asks often keeps its reader. Answers are shared: who changes one takes a copy. */
export class RunReader {
  private readonly lines: JournalLines;
  private answered: { readonly lines: CountedLines | Unreadable; readonly history: ReadRun } | undefined;
  private named: ReadManifest | undefined;

  constructor(
    readonly dir: string,
    checks: 'what is new' | 'each line',
  ) {
    this.lines = new JournalLines(
      layout(dir).journal,
      checks === 'each line' ? () => undefined : () => this.mark(),
    );
  }

  /** Of the journal when the checkpoint was written. */
  private mark(): JournalMark | undefined {
    const checkpoint = jsonOf(layout(this.dir).checkpoint) as { journal?: unknown } | undefined;
    return journalMarkSchema().safeParse(checkpoint?.journal).data;
  }

  /** What the journal says, or why it cannot be read. */
  history(): ReadRun {
    const lines = this.lines.read();
    // A missing journal depends on other files.
    if (this.answered?.lines !== lines || !this.answered.history.ok)
      this.answered = { lines, history: historyIn(this.dir, lines) };
    return this.answered.history;
  }

  /** What the last lines of a journal of more than `bytes` say, as if the run had begun with them: those up to the line that the
   *  checkpoint names are what the engine wrote. Undefined where only the whole journal can tell: for branches, too. */
  historyNearEnd(bytes: number): RunHistory | undefined {
    const mark = this.mark();
    const lines = mark && linesNearEnd(layout(this.dir).journal, bytes, mark);
    return lines && historyOfEnd(this.dir, lines);
  }

  /** The manifest: once the journal was read, the one that it names. Rejects only if it may not be read. */
  async manifest(): Promise<ReadManifest | Unreadable> {
    const history = this.answered === undefined ? undefined : this.history();
    if (history?.ok === true && history.manifestSha256 === this.named?.sha256) return this.named;
    const read = await readManifest(this.dir);
    this.named = read.ok ? read : undefined;
    return read;
  }

  /** The manifest and what the journal says; or why the run cannot be resumed from them: a file is damaged or was changed. */
  async stored(): Promise<StoredRun | Refusal> {
    const history = this.history();
    if (!history.ok) return refused(history.missing ? 'run-files' : 'records-changed', history.why);
    const read = await this.manifest();
    if (!read.ok) return refused('manifest', read.why);
    if (read.sha256 === history.manifestSha256) return { manifest: read.manifest, history };
    const run = quoteWord(this.dir);
    return refused(
      'records-changed',
      `${this.dir}/manifest.json was changed after the engine wrote it, so run ${read.manifest.run_id} cannot be resumed; nothing was changed`,
      `restore a copy of the run directory (factory verify ${run} shows more), or fork the run from an execution that you trust: factory fork ${run} --at NODE@VISIT`,
    );
  }

  /** The records of a view from a cursor on, one in memory at a time; `late`: see `readJournal`. */
  view(
    name: 'events' | 'trace',
    from?: JournalPosition,
    late?: (line: JournalPosition) => void,
  ): AsyncGenerator<JournalEntry> {
    return readJournal(layout(this.dir)[name], from, late);
  }
}

/** Opens a run for reading; reads nothing yet. Of the journal, lines whose hash the checkpoint has are what the engine wrote; a
 *  check of the records checks each line. */
export const openRun = (dir: string, checks: 'what is new' | 'each line' = 'what is new'): RunReader =>
  new RunReader(dir, checks);
