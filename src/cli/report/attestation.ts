/** An attestation in words. */
import type { RunPredicate } from '../../app/attest/predicate.ts';
import type { AttestedProduct } from '../../app/attest/statement.ts';
import { countedItems } from '../../core/amounts.ts';
import { strengthWords } from '../../core/strength.ts';
import { oneLine, type Paint } from './run.ts';

type Attested = AttestedProduct & {
  readonly predicate: RunPredicate;
  /** Of its checks; undefined where nothing was checked. */
  readonly result: string | undefined;
};

/** Gaps shown; the file has all. */
const mostGaps = 12;

/** A row for each fact that decides how much the attestation is worth. */
export function attestedRows(
  { commit, tree, predicate, result }: Attested,
  signer: string,
  paint: Paint,
): readonly string[] {
  const row = (name: string, text: string) => `  ${paint.dim(name.padEnd(11))} ${oneLine(text, 300)}`;
  const { judged, not_checked: gaps, run } = predicate;
  const more = gaps.length - mostGaps;
  const open = (text: string) => `  ${paint.yellow('not checked')} ${oneLine(text, 300)}`;
  return [
    row('signer', signer),
    ...(commit === null ? [] : [row('commit', commit)]),
    row('tree', tree),
    row('tests', `${result ?? 'none'}: ${testWords(predicate)}`),
    ...(judged === null ? [] : [row('scenarios', scenarioWords(judged))]),
    ...(run.failed_node === null
      ? []
      : [row('failed', `${run.failed_node} (${run.failure_class ?? 'unknown'})`)]),
    ...originWords(predicate).map((text) => row('origin', text)),
    ...acceptedWords(predicate.accepted).map(
      (text) => `  ${paint.yellow('accepted'.padEnd(11))} ${oneLine(text, 300)}`,
    ),
    row('sandbox', sandboxWords(predicate.sandbox)),
    ...gaps.slice(0, mostGaps).map(open),
    ...(more > 0 ? [open(`and ${more} more, in the file`)] : []),
  ];
}

const testWords = ({ commands }: RunPredicate): string => {
  const failed = commands.filter(({ exit_code }) => exit_code !== 0).length;
  const all = countedItems(commands.length, 'command');
  return failed === 0 ? all : `${all}, ${failed} failed`;
};

function scenarioWords({ passed, total, floor, strength }: NonNullable<RunPredicate['judged']>): string {
  const held = floor === 'held' ? ', a product that does nothing fails' : '';
  const measured =
    strength?.rate == null ? '' : `, ${strengthWords({ ...strength, left_out: [], why: null })}`;
  return `${passed} of ${total} passed${held}${measured}`;
}

function originWords({ forked_from: from, replay_of: of }: RunPredicate): readonly string[] {
  return [
    ...(from === null
      ? []
      : [
          `forked from run ${from.run_id} at ${from.node}@${from.visit}${from.changed.length === 0 ? '' : `, with other ${from.changed.join(', ')}`}`,
        ]),
    ...(of === null ? [] : [`replay of run ${of.run_id}${of.diverged ? ', from which it diverged' : ''}`]),
  ];
}

function acceptedWords({ changes, answers, overridden, weakness, notes }: RunPredicate['accepted']) {
  return [
    ...changes.map(
      ({ at, changed }) => `at ${at} other ${changed.map(({ what }) => what).join(', ') || 'settings'}`,
    ),
    ...overridden.map(
      (one) => `the failure of ${one.execution} (${one.class}), by the answer to ${one.question}`,
    ),
    ...weakness.map(({ at, who }) => `a suite that is too weak, by ${who} at ${at}`),
    ...answers.map(({ question, answer, by }) => `${question}: ${answer ?? 'a text'}, by ${by}`),
    ...(notes === 0 ? [] : [`${countedItems(notes, 'note')} to agents`]),
  ];
}

function sandboxWords({ used, not_enforced, nodes }: RunPredicate['sandbox']): string {
  const own = Object.entries(nodes).map(([node, word]) => `${node}: ${word}`);
  return [
    used ?? 'unknown',
    ...(not_enforced.length === 0 ? [] : [`not enforced: ${not_enforced.join('; ')}`]),
    ...own,
  ].join('; ');
}
