/** Guesses from words: lines in which a scenario reports that a live service failed. Pure. */

/** A line with a comparison is an assertion about the product, and one that names this machine is about its server. */
const unlike =
  /\b(?:expect\w*|assert\w*|want\w*|got|actual\w*|should|received)\b|localhost|\b127\.0\.0\.1\b|\[?::1\]?/i;
const ofTheWorld: readonly RegExp[] = [
  /\b\w*API_KEY\b.*\b(?:missing|not set|unset|required|invalid|incorrect|undefined|empty)\b|\b(?:missing|no|invalid|incorrect|set)\b.*API_KEY/i,
  /not set for live/i,
  /\bstatus(?: code)?[\s:=]*40[134]\b/i,
  /\bnot_found_error\b/i,
  /\bquota\b/i,
  /\brate[ _-]?limit/i,
  /models list failed/i,
  /\bconnection (?:refused|reset|aborted|timed out|timeout|failed|error)\b|\bcould not connect\b|\bECONN(?:REFUSED|RESET|ABORTED)\b/i,
  /\b(?:connect|connection|request|read|gateway|network|dns|tls|ssl|socket|handshake) ?(?:timeout|timed out)\b|\bETIMEDOUT\b/i,
  /\bEAI_AGAIN\b|\bENOTFOUND\b|Could not resolve host|Temporary failure in name resolution/i,
];

/** The words of a printed line that report a live service, 80 characters at most; undefined where none do. */
export function wordsOfTheWorld(line: string): string | undefined {
  if (unlike.test(line)) return undefined;
  const found = ofTheWorld.map((words) => words.exec(line)?.[0]).find((words) => words !== undefined);
  return found?.trim().slice(0, 80);
}

/** Whether a script's text contains a printed line literally. A line of a word or two may be the product's too. */
export const isOwnLine = (line: string, text: string): boolean =>
  line.trim().length >= 12 && text.includes(line.trim());
