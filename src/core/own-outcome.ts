/** What an own node type answered: an outcome, or a failure that says why it is none. Pure. */
import { isObject, type JsonObject } from './json.ts';
import { failed, failureClasses, type NodeReport, type Outcome, outcomeWords } from './outcome.ts';
import { reservedKeyIn } from './policy/reserved-keys.ts';

/** Characters of the context updates of one outcome. */
const mostUpdates = 1024 * 1024;

/** Only what an own type may say is kept; anything else is a failure of class `config`. */
export function ownOutcome(type: string, answer: unknown, latest?: ReadonlySet<string>): Outcome {
  const no = (why: string): Outcome =>
    failed(`the node type "${type}" answered no outcome: ${why}`, 'config', { broke: true });
  if (!isObject(answer)) return no(`${nameOf(answer)} instead of an object with a status`);
  const { status, reason = '', broke = false, label = '', suggested = [], notes = '' } = answer;
  const word = outcomeWords.find((one) => one === status);
  if (word === undefined)
    return no(
      `its status is ${JSON.stringify(status) ?? 'missing'}, which is none of ${outcomeWords.join(', ')}`,
    );
  if (typeof label !== 'string') return no('its label is no text');
  if (typeof notes !== 'string') return no('its notes are no text');
  if (!Array.isArray(suggested) || suggested.some((id) => typeof id !== 'string'))
    return no('suggested is no list of node ids');
  const updates = updatesOf(answer['updates'] ?? {});
  if (typeof updates === 'string') return no(updates);
  const reserved = reservedKeyIn(updates, latest);
  if (reserved !== undefined) return no(`its updates set "${reserved}", which only the engine sets`);
  const report: NodeReport = { label, notes, updates, suggested: [...suggested] };
  if (word !== 'fail' && word !== 'retry') return { ...report, status: word };
  if (typeof reason !== 'string') return no('its reason is no text');
  if (word === 'retry') return { ...report, status: word, reason };
  const { class: of = 'product' } = answer;
  const failureClass = failureClasses.find((one) => one === of);
  if (failureClass === undefined)
    return no(`its class is ${JSON.stringify(of)}, which is none of ${failureClasses.join(', ')}`);
  if (typeof broke !== 'boolean') return no('broke is neither true nor false');
  return failed(reason, failureClass, { ...report, broke, classSaid: answer['class'] !== undefined });
}

/** A copy of the updates as JSON has them, or why there is none. */
function updatesOf(updates: unknown): JsonObject | string {
  if (!isObject(updates)) return 'its updates are no object';
  try {
    const text = JSON.stringify(updates);
    if (text.length > mostUpdates)
      return `its updates have ${text.length} characters: the most is ${mostUpdates}`;
    return JSON.parse(text) as JsonObject;
  } catch (error) {
    return `its updates are no JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
}

const nameOf = (value: unknown): string =>
  value === undefined || value === null
    ? String(value)
    : `${Array.isArray(value) ? 'a list' : `a ${typeof value}`}`;
