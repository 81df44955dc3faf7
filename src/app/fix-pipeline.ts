/** `factory validate --fix`: a pipeline with every sure mistake put right. */
import { resolve } from 'node:path';
import type { Diagnostic } from '../core/diagnostic.ts';
import { areAtOdds, withEdits } from '../core/text-edits.ts';
import { type PipelineFindings, pipelineFindings } from './pipeline-findings.ts';
import type { ReadOptions } from './read-pipeline.ts';

export type FixedPipeline = {
  readonly before: string;
  readonly after: string;
  /** The mistakes that are put right in `after`. */
  readonly made: readonly Diagnostic[];
};

// A mistake of the syntax hides others, which the next round finds.
const mostRounds = 20;

/** Undefined where there is nothing to put right. A change is kept only where its finding is gone with it. */
export async function fixedPipeline(
  path: string,
  cwd: string,
  options: Pick<ReadOptions, 'strict'>,
): Promise<FixedPipeline | undefined> {
  const file = resolve(cwd, path);
  const check = (text: string): Promise<PipelineFindings> =>
    pipelineFindings(path, cwd, { ...options, texts: new Map([[file, text]]) });
  let now = await pipelineFindings(path, cwd, options);
  const before = now.text;
  if (before === undefined) return undefined;
  const made: Diagnostic[] = [];
  const unfixed = new Set<string>();
  for (let round = 0; round < mostRounds; round++) {
    const sure = together(
      now.diagnostics.filter(
        (one) => one.sure === true && one.place?.file === path && !unfixed.has(keyOf(one)),
      ),
    );
    if (sure.length === 0) break;
    const next = await check(textAfter(now, sure));
    if (areGone(sure, now, next)) {
      made.push(...sure);
      now = next;
      continue;
    }
    // One of them does not help: each by itself.
    const [first] = sure;
    if (first === undefined) break;
    const alone = sure.length === 1 ? next : await check(textAfter(now, [first]));
    if (sure.length > 1 && areGone([first], now, alone)) {
      made.push(first);
      now = alone;
    } else unfixed.add(keyOf(first));
  }
  return made.length === 0 ? undefined : { before, after: now.text ?? before, made };
}

const keyOf = ({ code, message }: Diagnostic): string => `${code} ${message}`;

const textAfter = ({ text = '' }: PipelineFindings, fixed: readonly Diagnostic[]): string =>
  withEdits(
    text,
    fixed.flatMap(({ edits = [] }) => edits),
  );

/** The findings whose edits can be made at once, the first of those that want the same place. */
function together(found: readonly Diagnostic[]): readonly Diagnostic[] {
  const chosen: Diagnostic[] = [];
  for (const one of found) {
    const before = chosen.flatMap(({ edits = [] }) => edits);
    if ((one.edits ?? []).every((edit) => !before.some((other) => areAtOdds(edit, other)))) chosen.push(one);
  }
  return chosen;
}

function areGone(fixed: readonly Diagnostic[], before: PipelineFindings, after: PipelineFindings): boolean {
  // A text that could be read still can.
  if (before.anyGraph !== undefined && after.anyGraph === undefined) return false;
  const count = ({ diagnostics: found }: PipelineFindings, key: string): number =>
    found.filter((one) => keyOf(one) === key).length;
  // Two wrong names of one list may mean the same.
  const doubles = ({ diagnostics }: PipelineFindings): number =>
    diagnostics.filter(({ code }) => code === 'duplicate-attribute').length;
  if (doubles(after) > doubles(before)) return false;
  return fixed.every((one) => {
    const key = keyOf(one);
    const same = fixed.filter((other) => keyOf(other) === key).length;
    return count(after, key) <= count(before, key) - same;
  });
}
