/** Finds holdout text in a text. */
import type { AuditFinding } from '../model/audit.ts';
import type { SealedFile } from '../model/sealed.ts';
import { type Canaries, chooseCanaries, type Sighting } from '../policy/canaries.ts';

/** The canaries of the sealed files, without lines that agents had from the start. */
export async function canariesIn(
  files: readonly SealedFile[],
  known: AsyncIterable<Buffer>,
): Promise<Canaries> {
  const choice = chooseCanaries(files);
  for await (const text of known) choice.known(text);
  return choice.chosen();
}

export const leakFix =
  'find out how it got there, then replace this scenario: an agent that has seen it can pass it without doing the work';

export type Place = Pick<AuditFinding, 'node' | 'visit' | 'where' | 'path'>;

/** One finding for each sealed file with a canary in the text that is not in `before`, the earlier content of the file. */
export function leaksIn(canaries: Canaries, text: Buffer, place: Place, before?: Buffer): AuditFinding[] {
  const all = canaries.find(text);
  if (all.length === 0) return [];
  const seen = newSightings(all, before === undefined ? [] : canaries.find(before));
  return [...new Set(seen.map(({ file }) => file))].flatMap((file) => {
    const ofFile = seen.filter((one) => one.file === file);
    const [first] = ofFile;
    if (first === undefined) return [];
    return {
      code: 'holdout-canary',
      severity: 'error',
      sure: 'certain',
      ...place,
      line: first.at > 0 ? first.at : null,
      message: `shows ${howMany(ofFile)}`,
      fix: leakFix,
      sealed: { file: file + 1, line: first.line },
    };
  });
}

/** The sightings whose canaries are not in `earlier`. */
export function newSightings(seen: readonly Sighting[], earlier: readonly Sighting[]): readonly Sighting[] {
  const key = ({ file, line }: Sighting) => `${file}:${line}`;
  const had = new Set(earlier.map(key));
  return seen.filter((sighting) => !had.has(key(sighting)));
}

function howMany(seen: readonly Sighting[]): string {
  if (seen[0]?.marked === true) return 'a line that is marked as a canary in a sealed file';
  return seen.length === 1
    ? 'a line that only a sealed file has'
    : `${seen.length} lines that only a sealed file has`;
}
