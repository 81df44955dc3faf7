/** `auto_status`: an agent that ended in order, with prose for an answer, has succeeded. */
import { agentWord, bareOutcome, spokenIn, wordsFor } from './agent-answer.ts';
import { bareAnswer, objectsIn } from './answer-json.ts';
import type { AgentReport, AgentTask } from './contracts/agent.ts';
import { nearest } from './nearest.ts';
import type { OutcomeWords } from './own-words.ts';
import { isGoalGate } from './settings/node.ts';

/** The success of an answer that was to say how the work went, and does not try to; undefined where the node does not ask for that, at
 *  a goal gate, and for any answer that may mean something else. */
export function proseSuccess(
  task: Pick<AgentTask, 'settings' | 'named'>,
  text: string,
): AgentReport | undefined {
  const { settings } = task;
  if (settings.auto_status !== true || isGoalGate(settings)) return undefined;
  if (!isProse(bareAnswer(text).trim(), wordsFor(task))) return undefined;
  return {
    kind: 'finished',
    ...bareOutcome('success', 'auto_status: the answer does not say how the work went'),
    response: text,
  };
}

function isProse(bare: string, words: OutcomeWords): boolean {
  if (bare === '' || /^[{[]/.test(bare) || triesInObject(bare)) return false;
  const spoken = spokenIn(bare, words, true);
  if ('problem' in spoken) return false;
  if ('answer' in spoken) return isPlainSuccess(spoken.answer);
  const lines = bare.split('\n');
  return [lines[0] ?? '', lines.at(-1) ?? ''].every((line) => {
    const word = agentWord(beginning(line), words);
    return word === undefined || isPlainSuccess(word);
  });
}

const isPlainSuccess = ({ outcome, label = '' }: { readonly outcome: string; readonly label?: string }) =>
  outcome === 'success' && label === '';

/** The word of `**FAILED**`, `Rejected: no tests` or `fail - it does not start`. */
const beginning = (line: string): string =>
  /^[\s*_`"'#>[\]-]*([\p{L}_]+)[*_`"'\]]*(?:$|[\s]*[.,;:!(]| [-–—] )/u.exec(line)?.[1] ?? '';

const verdictKeys =
  'outcome|status|verdict|result|success|passed|failure_?reason|preferred_(?:next_)?label|suggested_next_ids|context_updates|verification_plan';
const isVerdictKey = new RegExp(`^(?:${verdictKeys})$`, 'i');
const hasVerdictKey = new RegExp(`["']?(?:${verdictKeys})["']?\\s*:`, 'i');

/** Whether an object is there that looks like an answer about the work: what it says is not known. */
const triesInObject = (bare: string): boolean =>
  objectsIn(bare).some((found) =>
    'broken' in found
      ? hasVerdictKey.test(found.broken)
      : Object.keys(found.object).some(
          (key) => isVerdictKey.test(key.trim()) || nearest(key, ['outcome']) !== undefined,
        ),
  );
