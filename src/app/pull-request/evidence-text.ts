/** What a pull request says of the run that made its commits: from the evidence, with what was not checked. Texts of a run are shown as
 *  code, so that none of them mentions a person, closes an issue or shows a picture. Nothing is a text of a scenario. */
import { costWords, countedItems, tokensText } from '../../core/amounts.ts';
import { tokensOf } from '../../core/budget/usage.ts';
import { shortText } from '../../core/diagnostic.ts';
import { ticksAround } from '../../core/fence.ts';
import type { Commit } from '../../core/records/result.ts';
import { strengthWords } from '../../core/strength.ts';
import { markOf } from '../../github/marks.ts';
import type { RunPredicate } from '../attest/predicate.ts';

export type EvidenceFacts = Omit<RunPredicate, 'test_result'> & {
  readonly orders: readonly Commit[];
  /** Number of the issue that the run is for. */
  readonly closes?: number | undefined;
};

const begin = markOf('evidence', 'begin');
const end = markOf('evidence', 'end');

/** The text of a pull request, in place of that of an earlier run; what people wrote around it stays. */
export function withEvidence(body: string, facts: EvidenceFacts): string {
  const text = evidenceText(facts);
  const [from, to] = [body.indexOf(begin), body.indexOf(end)];
  if (from < 0 || to < from) return body.trim() === '' ? text : `${body.trimEnd()}\n\n${text}`;
  return `${body.slice(0, from)}${text}${body.slice(to + end.length)}`;
}

export function evidenceText(facts: EvidenceFacts): string {
  const { run, closes } = facts;
  const sections: readonly (readonly [string, readonly string[]])[] = [
    ['Work orders', facts.orders.map(orderLine)],
    ['Commands', commandLines(facts)],
    ['Scenarios', scenarioLines(facts)],
    ['Accepted by people', acceptedLines(facts)],
    ['Cost', [costLine(facts)]],
    ['Not checked', facts.not_checked.map((why) => inCode(why))],
  ];
  return [
    begin,
    `Made by run ${inCode(run.id)} of factory ${run.factory_version} (${run.status}).${closes === undefined ? '' : ` Closes #${closes}.`}`,
    ...sections.flatMap(([title, lines]) =>
      lines.length === 0 ? [] : ['', `### ${title}`, ...items(lines)],
    ),
    end,
  ].join('\n');
}

/** So many are listed; GitHub takes 65536 characters. */
const mostListed = 60;

function items(lines: readonly string[]): readonly string[] {
  const more = lines.length - mostListed;
  const listed = lines.slice(0, mostListed).map((line) => `- ${line}`);
  return more > 0 ? [...listed, `- … and ${more} more`] : listed;
}

const orderLine = ({ commit, subject, work_order }: Commit): string =>
  commit === null ? `${inCode(work_order)}: no commit` : `${inCode(commit.slice(0, 12))} ${inCode(subject)}`;

/** A command of scenarios is named by their result. */
const commandLines = ({ commands }: EvidenceFacts): readonly string[] =>
  commands
    .filter(({ what }) => what !== 'scenario')
    .map(({ what, command, exit_code, outcome, replayed }) => {
      const place = what === 'proof' ? ', on a clean checkout of the last commit' : '';
      const origin = replayed ? ', from the record of another run' : '';
      const code = exit_code === null ? 'did not end by itself' : `exit code ${exit_code}`;
      return `${inCode(command)}: ${code}${outcome === 'success' ? '' : ` (${outcome})`}${place}${origin}`;
    });

function scenarioLines({ judged, inputs }: EvidenceFacts): readonly string[] {
  if (judged === null) return [];
  const { passed, total, floor, passed_before: before, strength } = judged;
  return [
    `${passed} of ${total} passed${inputs.suite === null ? '' : '; they were hidden from the builder'}`,
    ...(before === null ? [] : [`${before} of ${total} passed before the work`]),
    ...(floor === 'held' ? ['they reject a product that does nothing'] : []),
    // Without a number it is among what was not checked.
    ...(strength?.rate == null ? [] : [strengthWords({ ...strength, left_out: [], why: null })]),
  ];
}

const acceptedLines = ({
  accepted: { overridden, weakness, notes, changes },
}: EvidenceFacts): readonly string[] => [
  ...overridden.map(
    ({ execution, class: kind }) =>
      `the failure of ${inCode(execution)} (${kind}), by the answer to a question`,
  ),
  ...weakness.map(({ who }) => `that the scenarios are too weak, by ${inCode(who)}`),
  ...(notes === 0 ? [] : [`${countedItems(notes, 'note')} to agents`]),
  ...(changes.length === 0 ? [] : [`${countedItems(changes.length, 'change')} of the inputs by a resume`]),
];

function costLine({ cost, agents: { asked } }: EvidenceFacts): string {
  if (cost.calls === 0) return 'no call of a model has a cost';
  const models = [...new Set(asked.map(({ model, agent }) => model ?? agent))];
  const by = models.length === 0 ? '' : `, ${models.map(inCode).join(', ')}`;
  return `${costWords(cost)}: ${countedItems(cost.calls, 'call')}, ${tokensText(tokensOf(cost))} tokens${by}`;
}

/** Inline code of Markdown: between more backticks than the text has in a row. */
export function inCode(text: string): string {
  // Our marks are looked for in the whole text.
  const line = shortText(text.replace(/[\p{C}\s]+/gu, ' ').trim(), 300).replaceAll('<!--', '<!-');
  const ticks = ticksAround(line, 1);
  const space = line.startsWith('`') || line.endsWith('`') ? ' ' : '';
  return `${ticks}${space}${line}${space}${ticks}`;
}
