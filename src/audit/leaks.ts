/** What of the judge a text shows, as a finding. */
import type { AuditFinding } from '../model/audit.ts';
import type { SealedFile } from '../model/sealed.ts';
import { type Canaries, chooseCanaries } from '../policy/canaries.ts';
import { type Shingles, shinglesOf } from '../policy/shingles.ts';
import { chooseLiterals, type Literals } from '../policy/special-cases.ts';

export type Judge = {
  readonly canaries: Canaries;
  readonly shingles: Shingles;
  readonly literals: Literals;
};

/** What is looked for: the sealed files without what the builder has had from the beginning. */
export async function judgeOf(files: readonly SealedFile[], known: AsyncIterable<Buffer>): Promise<Judge> {
  const canaries = chooseCanaries(files);
  const shingles = shinglesOf(files);
  const literals = chooseLiterals(files);
  for await (const text of known) {
    canaries.known(text);
    shingles.known(text);
    literals.known(text);
  }
  return { canaries: canaries.chosen(), shingles: shingles.cut(), literals: literals.chosen() };
}

export const leakFix =
  'find out how it got there; then seal another scenario in place of this one: whoever has seen it can pass it';

export type Place = Pick<AuditFinding, 'node' | 'visit' | 'where' | 'path'>;

/** One finding for each sealed file that the text shows something of, and that `before` (what stood there already) did not. */
export function leaksIn(judge: Judge, text: Buffer, place: Place, before?: Buffer): AuditFinding[] {
  const seen = judge.canaries.find(text);
  const copies = judge.shingles.find(text);
  if (seen.length + copies.length === 0) return [];
  const had = before === undefined ? [] : judge.canaries.find(before);
  const copied = before === undefined ? [] : judge.shingles.find(before);
  const isNew = (list: readonly { file: number; line: number }[]) => (one: { file: number; line: number }) =>
    !list.some(({ file, line }) => file === one.file && line === one.line);
  const lines = seen.filter(isNew(had));
  const pieces = copies.filter(isNew(copied));
  const findings: AuditFinding[] = [];
  for (const file of new Set([...lines, ...pieces].map((one) => one.file))) {
    const ofFile = lines.filter((one) => one.file === file);
    const copy = pieces
      .filter((one) => one.file === file)
      .reduce<(typeof pieces)[number] | undefined>(
        (most, one) => (one.lines > (most?.lines ?? 0) ? one : most),
        undefined,
      );
    const [first] = ofFile;
    const at = copy ?? first;
    if (at === undefined) continue;
    findings.push({
      code: copy === undefined ? 'holdout-canary' : 'holdout-copy',
      severity: 'error',
      sure: 'certain',
      ...place,
      line: at.at > 0 ? at.at : null,
      message: `${howMuch(ofFile.length, copy, first?.marked === true)}${inSpelling(at.spelling)}`,
      fix: leakFix,
      sealed: { file: file + 1, line: at.line },
    });
  }
  return findings;
}

function howMuch(
  canaries: number,
  copy: { readonly lines: number; readonly line: number } | undefined,
  marked: boolean,
): string {
  if (copy?.line === 0) return `shows ${copy.lines} bytes of a sealed binary file`;
  if (copy !== undefined) return `copies ${copy.lines} lines of a sealed file`;
  if (marked) return 'shows a line that is marked as a canary in a sealed file';
  return `shows ${canaries === 1 ? 'a line' : `${canaries} lines`} that only a sealed file has`;
}

const inSpelling = (spelling: string): string =>
  spelling === 'plain' ? '' : spelling === 'compressed' ? ', compressed' : `, written in ${spelling}`;
