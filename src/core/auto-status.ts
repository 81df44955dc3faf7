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
  if ('answer' in spoken && !isPlainSuccess(spoken.answer)) return false;
  const lines = bare.split('\n');
  if (tellsFailure(lines)) return false;
  if ('answer' in spoken) return true;
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

/** Characters of a line, or a sentence, in which a failure is looked for. */
const most = 300;

/** Whether an answer reports a failure, so that it may be meant as one: prose that only mentions failures in passing does not. */
function tellsFailure(lines: readonly string[]): boolean {
  const filled = lines
    .map((line) => line.trim())
    .filter((line) => /[\p{L}\p{S}]/u.test(line) && !line.startsWith('```'));
  if (filled.some((line) => isLineOfFailure(line.slice(0, most)))) return true;
  return [filled[0] ?? '', filled.at(-1) ?? ''].some(
    (line) => /[❌✗✘✖⛔🚫]/u.test(line) || line.split(/(?<=[.!?])\s+/).some(isSentenceOfFailure),
  );
}

const isLineOfFailure = (line: string): boolean =>
  shouted.test(line) ||
  isVerdictOn(line) ||
  /^(?:fail(?:ed|ure)?|retry|rejected|blocked|aborted)$/i.test(line.replace(aroundWords, ''));

const aroundWords = /^[\s\p{P}\p{S}\d]+|[\s\p{P}\p{S}]+$/gu;
const badWord = String.raw`(?:fail(?:s|ed|ing|ure)?|retry|rejected|blocked|aborted|incomplete|unsuccessful|unfinished|errors?|broken|not\s.*)`;
const isBadWord = new RegExp(`^${badWord}(?:$|[*_\`"']*\\s*[.,;:!(–—-])`, 'i');

/** `FAIL` in capitals, but not a count of none. */
const shouted = /(?<!\b(?:0|no|No|NO|zero)\s+)\bFAIL(?:S|ED|URE|ING)?\b(?!\s*[:=]\s*0\b)/;

/** A line such as `1. Final status — failed`, `<outcome>fail</outcome>` or `failure_reason: no compiler`. */
function isVerdictOn(line: string): boolean {
  const [, text] =
    /^[\s\p{P}\p{S}\d]*(?:[\p{L}\d]+\s+){0,3}?(?:outcome|status|verdict|result|conclusion|overall)\b(?:[\s\p{P}\p{S}]|\b(?:is|was)\b)+(.+)$/iu.exec(
      line,
    ) ?? [];
  if (text !== undefined) {
    const value = text.replace(/<\/.*$/, '').replace(aroundWords, '');
    if (isBadWord.test(value)) return true;
  }
  return /^[\s\p{P}\p{S}]*failure_?(?:reason|class)["'*\s]*[:=]/iu.test(line);
}

const undone =
  '(?:complete|finish|do|fix|solve|implement|build|run|start|succeed|make|get|write|create|access|read|install|compile|proceed|continue)';
const sentencesOfFailure: readonly RegExp[] = [
  /^(?:fail(?:ed|ure|s)?|retry|rejected|blocked|aborted|incomplete|unsuccessful|unfinished)(?:\s+(?:because|to|with|on|in|at|due|since|as)\b|\s*$|\s*[.,;:!?(–—-])/i,
  /^(?:(?!(?:0|no|zero|without)\b)[\p{L}\d]+,?\s+){1,4}?(?:(?:has|have|had|still|again|also)\s+)*(?:fail(?:s|ed)?|(?:is|are|was|were|keeps?)\s+(?:still\s+)?failing)(?:\s*$|\s*[.,;:!(–—-]|\s+(?:because|to|with|on|in|at|due|since|as|again)\b)/iu,
  new RegExp(
    `^(?:[\\p{L}\\d]+,?\\s+){0,4}?(?:(?:could|can|did|do|does|have|has|was|were|am|is|are)(?:\\s+not|n[’']t)|cannot|unable\\s+to)(?:\\s+(?:been|be|able|to|yet|fully|even))*\\s+${undone}(?:d|ed|ished|ne|t|n)?\\b`,
    'iu',
  ),
  /^(?:[\p{L}\d]+,?\s+){0,4}?not\s+(?:yet\s+)?(?:done|finished|complete|completed|working|passing|ready|possible|successful)\b/iu,
];
const isSentenceOfFailure = (sentence: string): boolean => {
  const words = sentence.slice(0, most).replace(/^[\s\p{P}\p{S}\d]+/u, '');
  return sentencesOfFailure.some((form) => form.test(words));
};

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
