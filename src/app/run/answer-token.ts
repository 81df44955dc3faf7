/** One-time tokens: the notice of a suspended run has one, with which its question can be answered over HTTP. The run keeps only hashes. An
 *  answer uses up all tokens of its question: a question is answered once. */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { layout } from '../../core/records/layout.ts';
import { sha256 } from '../../core/sha256.ts';
import { readPlain } from '../../platform/files/read.ts';
import { appendSharedLine } from '../acts.ts';

/** A new token for the question; its hash is in the run before the token is used. Throws the system's error. */
export function newAnswerToken(runDir: string, question: string): string {
  const token = `${question}.${randomBytes(32).toString('base64url')}`;
  appendSharedLine(layout(runDir).answerTokens, sha256(token));
  return token;
}

/** The question that the token is for, as it says itself: its id may have dots, what follows has none. */
export const questionOfToken = (token: string): string => token.slice(0, Math.max(0, token.lastIndexOf('.')));

/** Whether the run has given out this token. */
export function isAnswerToken(runDir: string, token: string): boolean {
  const read = readPlain(layout(runDir).answerTokens);
  if (read.kind !== 'text') return false;
  const given = Buffer.from(sha256(token));
  return read.text.split('\n').some((line) => {
    const known = Buffer.from(line);
    return known.length === given.length && timingSafeEqual(known, given);
  });
}
