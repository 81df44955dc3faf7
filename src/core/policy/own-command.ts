/** Recognises the steps of our own pipelines that the engine may carry out in its own process. */
import { splitWords } from './words.ts';

const verbs = 'plan[ \\t]+(?:prompt|check|emit)|order[ \\t]+(?:next|prompt|apply|commit|rollback|mend)';
/** A word that means the same to every shell: plain characters, and quotes in which nothing is expanded. */
const word = `(?:[\\w@%+:,./=-]|'[^']*'|"[^"$\`\\\\!]*"|\\\\')+`;
const ownCommand = new RegExp(`^\\s*factory[ \\t]+(?:${verbs})(?:[ \\t]+${word})*\\s*$`);

/** The words after `factory` of a text that is exactly one call of such a step, without operators, redirections or anything
 *  that a shell expands; undefined for any other text. A step that runs commands of the project is none. */
export function ownStepWords(text: string): readonly string[] | undefined {
  if (!ownCommand.test(text)) return undefined;
  const split = splitWords(text);
  return 'words' in split ? split.words.slice(1) : undefined;
}
