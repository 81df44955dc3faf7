/** A human gate: a person chooses the edge by which the run continues, or answers in words. */

import { conditionLookup } from '../core/context.ts';
import { kind, type NodeContext } from '../core/contracts/node-kind.ts';
import {
  choicesOf,
  defaultsNamed,
  type GateChoices,
  type GateOption,
  type gateKeys,
  humanGate,
  isChosenAt,
  outcomeOfChoice,
  questionKeys,
  timeoutActionOf,
} from '../core/human-gate.ts';
import { type Context, failed, type Outcome, succeeded } from '../core/outcome.ts';
import { labelAsAsked } from '../core/own-words.ts';
import type { QuestionDraft, TakenAnswer } from '../core/records/question.ts';
import { route } from '../core/routing.ts';
import { humanAttributes } from '../core/settings/human.ts';
import { commonAttributes } from '../core/settings/node.ts';
import type { Settings } from '../core/settings/types.ts';
import { describeMs } from './command-failure.ts';
import { gateCodes, gateFindings, gateOutcomes } from './gate-findings.ts';

const attributes = { ...commonAttributes, ...humanAttributes };
type GateSettings = Settings<typeof attributes>;

export const waitHuman = kind({
  type: humanGate,
  does: 'Asks a person: the outgoing edges are the options. The run is suspended, without any process, until the answer is there.',
  shapes: ['hexagon'],
  ids: [],
  executable: false,
  attributes,
  outcomes: gateOutcomes,
  codes: gateCodes,
  check: gateFindings,
  async run(settings, context) {
    const text = questionText(settings, context);
    if (typeof text !== 'string') return text;
    const choices = choicesOf(context.graph, context.node);
    const options = choices.options.flatMap((option) => {
      const outcome = chosenOutcome(option, noPerson, context);
      return outcome === undefined ? [] : [option];
    });
    if (options.length === 0 && choices.text === undefined)
      return failed(`no edge of "${context.node.id}" can be taken: all its conditions are false`, 'config', {
        broke: true,
      });
    const answer = await context.ask(draftOf(settings, context, text, { ...choices, options }));
    return answeredOutcome(answer, { ...choices, options }, settings, context);
  },
});

/** In place of a person where it is only asked whether an option can be chosen at all. */
const noPerson: Pick<TakenAnswer, 'by' | 'at'> = { by: '', at: '' };

/** The question with its references expanded, or why it cannot be asked. */
function questionText(settings: GateSettings, { inputs, node }: NodeContext): string | Outcome {
  const written = questionKeys
    .map((key) => settings[key])
    .find((text) => text !== undefined && text.trim() !== '');
  const whole =
    written?.startsWith('@') === true ? (inputs.prompt(written) ?? written) : (written ?? node.id);
  const expanded = inputs.expand(whole, 'prompt');
  return 'text' in expanded
    ? expanded.text.trim()
    : failed(`the question names ${expanded.unknown}, which has no value`, 'config', { broke: true });
}

/** Milliseconds that it waits for an answer. */
const patienceOf = (settings: GateSettings): number | undefined =>
  settings['human.timeout'] ?? settings.timeout;

function draftOf(
  settings: GateSettings,
  { node }: NodeContext,
  text: string,
  { options, text: words }: GateChoices,
): QuestionDraft {
  const choice = settings['human.default_choice'];
  const [otherwise] = choice === undefined ? [] : defaultsNamed({ options, text: words }, choice);
  return {
    mode: settings.mode,
    text,
    options: options.map(({ key, label, to }) => ({ key, label, to })),
    text_to: words?.to ?? null,
    default: otherwise?.to ?? null,
    timeout_action: otherwise === undefined ? 'fail' : timeoutActionOf(node.settings),
    timeoutMs: patienceOf(settings),
  };
}

function answeredOutcome(
  answer: TakenAnswer,
  { options, text }: GateChoices,
  settings: GateSettings,
  context: NodeContext,
): Outcome {
  const { choice, label } = answer;
  const option =
    options.find((one) => one.to === choice && one.label === label) ??
    options.find((one) => one.to === choice);
  const chosen = option && chosenOutcome(option, answer, context);
  if (chosen !== undefined) return chosen;
  if (text !== undefined && (choice === undefined ? answer.text !== undefined : choice === text.to))
    return wordsOutcome(text, answer, context);
  const waited = patienceOf(settings);
  return failed(waited === undefined ? 'no answer' : `no answer within ${describeMs(waited)}`, 'timeout', {
    broke: true,
    updates: updatesFor({ key: '', label: '' }, '', answer),
  });
}

/** The outcome with which the run leaves by the edge of the option: a success, or a failure for No and where only that makes the
 *  condition of the edge true. Undefined where neither does. */
function chosenOutcome(
  option: GateOption,
  by: Pick<TakenAnswer, 'by' | 'at'>,
  { graph, node, inputs }: NodeContext,
): Outcome | undefined {
  const updates = updatesFor(option, option.label, by);
  const asked = labelAsAsked(graph, node.id, option.label);
  const report = { label: asked, suggested: [option.to], updates };
  const outcomes = (option.isNo ? [true] : [false, true]).map((fails) =>
    outcomeOfChoice(option, fails, report),
  );
  return outcomes.find((outcome) => {
    const context: Context = { ...inputs.values, ...updates, current_node: node.id, outcome: outcome.status };
    const { edge } = route(graph, node.id, outcome, conditionLookup(context, outcome));
    return (
      edge !== undefined && (edge === option.edge || isChosenAt(graph, node.id, outcome)?.(edge) === true)
    );
  });
}

/** The edges decide about words: a condition may ask for them. */
function wordsOutcome(
  { to, label }: NonNullable<GateChoices['text']>,
  answer: TakenAnswer,
  { graph, node }: NodeContext,
): Outcome {
  const updates = updatesFor({ key: '', label: '' }, answer.text ?? '', answer);
  return succeeded({
    label: labelAsAsked(graph, node.id, label.trim()),
    suggested: [to],
    updates,
    notes: 'answered in words',
  });
}

/** What later nodes and conditions see. All keys each time: nothing of an earlier answer is left. */
const updatesFor = (
  { key, label }: Pick<GateOption, 'key' | 'label'>,
  response: string,
  { by, at }: Pick<TakenAnswer, 'by' | 'at'>,
): Record<(typeof gateKeys)[number], string> => ({
  'human.gate.selected': key,
  'human.gate.label': label,
  'human.gate.text': label === '' ? response : '',
  'human.gate.by': by,
  'human.gate.at': at,
  human_response: response,
});
