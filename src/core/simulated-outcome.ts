/** Outcomes as `factory simulate --outcome` writes them: `fail`, `fail+timeout+broke`, `success+label=again+tests.state=red`. */
import type { WitnessStep } from './diagnostic.ts';
import { nearest } from './nearest.ts';
import {
  emptyReport,
  type FailureClass,
  failed,
  failureClasses,
  type Outcome,
  outcomeWords,
} from './outcome.ts';
import { answeredOutcome, namedLiterals, type OutcomeWords } from './own-words.ts';
import { quoteWord, withoutPercents } from './policy/words.ts';

const isClass = (word: string): word is FailureClass => failureClasses.some((one) => one === word);
/** What separates items and their parts, and the escape itself, may be in a value. */
const escaped = (text: string): string => text.replace(/[%,+\s]/g, (one) => encodeURIComponent(one) || one);

/** An outcome, or why `item` is none. A word that an edge of the node names is a success with that word as preferred label. Parts: a
 *  class of failure, `broke`, `label=…`, `next=…` (a suggested node), and `key=value` for the context. */
export function simulatedOutcome(
  item: string,
  words: OutcomeWords,
): { readonly outcome: Outcome } | { readonly why: string } {
  const [word = '', ...parts] = item.split('+').map((one) => one.trim());
  const answered = answeredOutcome(withoutPercents(word), words);
  if (answered === undefined) {
    const known = [...outcomeWords, ...namedLiterals(words)];
    const meant = nearest(withoutPercents(word), known);
    const hint = meant === undefined ? `there are ${known.join(', ')}` : `did you mean ${meant}?`;
    return { why: `"${word}" is no outcome, and no edge of the node names it; ${hint}` };
  }
  const report = {
    label: answered.label ?? '',
    ...(answered.label === undefined ? {} : { ownWord: true as const }),
    suggested: [] as string[],
    updates: {} as Record<string, string>,
  };
  let failure: FailureClass | undefined;
  let broke = false;
  for (const part of parts) {
    const at = part.indexOf('=');
    const [key, value] = [withoutPercents(part.slice(0, at)), withoutPercents(part.slice(at + 1))];
    if (part === 'broke') broke = true;
    else if (at === -1 && isClass(part)) failure = part;
    else if (at < 1) return { why: `"${part}" is neither a class of failure, nor broke, nor KEY=VALUE` };
    else if (key === 'label') report.label = value;
    else if (key === 'next') report.suggested.push(value);
    else report.updates[key] = value;
  }
  const isFailure = answered.outcome === 'fail';
  if (!isFailure && (failure !== undefined || broke))
    return { why: `only fail has a class or is broke, and "${word}" is ${answered.outcome}` };
  if (isFailure) {
    // `product` that is written is what a node reports itself: an agent may be asked for a fix, whatever files it may write.
    const reports = failure === 'product' ? { classSaid: true } : {};
    return { outcome: failed('simulated failure', failure ?? 'product', { ...report, ...reports, broke }) };
  }
  const all = { ...emptyReport, ...report };
  return answered.outcome === 'retry'
    ? { outcome: { ...all, status: 'retry', reason: 'simulated retry' } }
    : { outcome: { ...all, status: answered.outcome } };
}

/** The command that shows an example run of a pipeline. */
export function simulateLine(file: string, steps: readonly WitnessStep[]): string {
  const items = new Map<string, string[]>();
  for (const step of steps) {
    if (step.exit === true || step.passes === true) continue;
    const attempts = Array<string>(step.attempts ?? 1).fill(itemOf(step));
    items.set(step.node, [...(items.get(step.node) ?? []), ...attempts]);
  }
  const words = [...items].flatMap(([node, all]) => {
    // The last one is repeated.
    while (all.length > 1 && all.at(-1) === all.at(-2)) all.pop();
    return all.length === 1 && all[0] === 'success'
      ? []
      : ['--outcome', quoteWord(`${node}=${all.join(',')}`)];
  });
  return ['factory simulate', quoteWord(file), ...words].join(' ');
}

const itemOf = (step: WitnessStep): string =>
  [
    step.own_word === true ? escaped(step.preferred_label ?? '') : step.outcome,
    ...(step.failure_class === undefined ? [] : [step.failure_class]),
    ...(step.broke === true ? ['broke'] : []),
    ...(step.preferred_label === undefined || step.own_word === true
      ? []
      : [`label=${escaped(step.preferred_label)}`]),
    ...(step.suggested_ids ?? []).map((id) => `next=${escaped(id)}`),
    ...Object.entries(step.sets ?? {}).map(([key, value]) => `${escaped(key)}=${escaped(value)}`),
  ].join('+');
