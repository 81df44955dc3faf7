/** Whether two runs of one pipeline tell the same story: their traces but for run id, process ids, places and times. */
import { sortedKeys } from '../model/canonical.ts';
import type { Json, JsonObject } from '../model/json.ts';
import { fullTrace } from './full-trace.ts';
import { type Place, spellings, withoutCommits, withoutTimes } from './normal.ts';

export type Told = {
  readonly place: Place;
  /** The records of `trace.jsonl`, in order. */
  readonly records: readonly JsonObject[];
};

export type TraceDifference = {
  /** 1-based among the records that are compared. */
  readonly index: number;
  /** `NodeOutputCaptured check@2`; empty where there is none. */
  readonly recorded: string;
  readonly replayed: string;
  /** Dotted path of the first field that differs; empty where a record is missing. */
  readonly field: string;
  /** The two values as JSON, shortened. */
  readonly was: string;
  readonly is: string;
};

/** Says nothing of what happens, only that and how an engine went on. */
const aboutEngines: ReadonlySet<Json | undefined> = new Set([
  'ResumeLoaded',
  'PipelineInterrupted',
  'PipelineParked',
]);
/** Records of one stage: a crash may lose as many. */
const mostLost = 4;

/** The first difference, or how many records are the same. What a kill left of a visit that was made again is passed
 *  over, and so is what the story lost at a kill. `ancestors` are the runs that the recorded one was made from; `from` is
 *  the visit at which the comparison begins in both. */
export function compareTraces(
  recorded: Told,
  replayed: Told,
  ancestors: readonly Place[],
  from?: { readonly node: string; readonly visit: number },
): { readonly same: number } | { readonly difference: TraceDifference } {
  const was = storyOf(recorded, from);
  const is = storyOf(replayed, from);
  const spelling = spellings(recorded.place, replayed.place, ancestors);
  const theirs = was.map((item) => spell(item.record, spelling.was));
  const ours = is.map((item) => spell(item.record, spelling.is));
  let [a, b] = [0, 0];
  for (; a < was.length || b < is.length; a++, b++) {
    if (theirs[a] === ours[b]) continue;
    const lostThere = was[a]?.afterCut === true ? skip(ours, b, theirs[a]) : undefined;
    if (lostThere !== undefined) {
      b = lostThere;
      continue;
    }
    const lostHere = is[b]?.afterCut === true ? skip(theirs, a, ours[b]) : undefined;
    if (lostHere !== undefined) {
      a = lostHere;
      continue;
    }
    return { difference: differenceOf(a, was[a]?.record, is[b]?.record, theirs[a], ours[b]) };
  }
  return { same: a };
}

/** Where, a few records on, a spelling stands. */
function skip(spelled: readonly string[], at: number, wanted: string | undefined): number | undefined {
  if (wanted === undefined) return undefined;
  const found = spelled.indexOf(wanted, at);
  return found >= 0 && found - at <= mostLost ? found : undefined;
}

type Item = { readonly record: JsonObject; readonly afterCut: boolean };

/** The records that tell of finished visits. */
function storyOf(
  { records }: Told,
  from: { readonly node: string; readonly visit: number } | undefined,
): Item[] {
  const whole = [...fullTrace(records)] as JsonObject[];
  const items: Item[] = [];
  let afterCut = false;
  let begun = false;
  for (const record of whole) {
    const type = record['type'];
    if (type === 'SessionInitialized' || type === 'PipelineStarted') {
      if (type === 'SessionInitialized' && begun) {
        // The visit that was under way is made again.
        if (items.at(-1)?.record['type'] === 'NodeInputCaptured') items.pop();
        afterCut = true;
      }
      if (type === 'SessionInitialized' ? begun : afterCut) continue;
      begun = true;
    } else if (aboutEngines.has(type)) continue;
    items.push({ record, afterCut });
    afterCut = false;
  }
  if (from === undefined) return items;
  const at = items.findIndex(
    ({ record }) =>
      record['type'] === 'NodeInputCaptured' &&
      record['node_id'] === from.node &&
      record['visit'] === from.visit,
  );
  return at < 0 ? [] : items.slice(at);
}

/** A record as one text, without what is another run's by its nature. */
function spell(record: JsonObject, spelling: (text: string) => string): string {
  const { run_id: _, seq: __, epoch: ___, at: ____, replayed: _____, ...told } = record;
  // A kill can come before the first engine has told of itself: then the first that did was a resume's.
  const rest = told['type'] === 'SessionInitialized' ? { ...told, resume: false } : told;
  return withoutCommits(withoutTimes(spelling(JSON.stringify(sortedKeys(rest)))));
}

const nameOf = (record: JsonObject | undefined): string => {
  if (record === undefined) return '';
  const node = record['node_id'] ?? record['from_node'];
  const visit = record['visit'];
  return `${String(record['type'])}${node === undefined ? '' : ` ${String(node)}`}${visit === undefined ? '' : `@${String(visit)}`}`;
};

const shown = (value: Json | undefined): string => {
  const text = value === undefined ? '(nothing)' : JSON.stringify(value);
  return text.length > 300 ? `${text.slice(0, 299)}…` : text;
};

function differenceOf(
  index: number,
  was: JsonObject | undefined,
  is: JsonObject | undefined,
  theirs: string | undefined,
  ours: string | undefined,
): TraceDifference {
  const named = { index: index + 1, recorded: nameOf(was), replayed: nameOf(is) };
  if (theirs === undefined || ours === undefined || named.recorded !== named.replayed)
    return { ...named, field: '', was: named.recorded || 'the end', is: named.replayed || 'the end' };
  const [path, old, fresh] = firstField(JSON.parse(theirs), JSON.parse(ours), []);
  return { ...named, field: path.join('.'), was: shown(old), is: shown(fresh) };
}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function firstField(
  was: Json | undefined,
  is: Json | undefined,
  path: readonly string[],
): [readonly string[], Json | undefined, Json | undefined] {
  const [a, b] = [Array.isArray(was) ? { ...was } : was, Array.isArray(is) ? { ...is } : is];
  if (!isObject(a) || !isObject(b)) return [path, was, is];
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    if (JSON.stringify(a[key]) !== JSON.stringify(b[key])) return firstField(a[key], b[key], [...path, key]);
  }
  return [path, was, is];
}

/** The difference in words. */
export const differenceWords = ({ index, recorded, field, was, is }: TraceDifference): string =>
  field === ''
    ? `record ${index}: the recorded run has ${was}, the replay ${is}`
    : `record ${index} (${recorded}): ${field} was ${was} and is ${is}`;
