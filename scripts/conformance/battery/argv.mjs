/** The recorded arguments of an agent stub, one per line. */
import { existsSync, readFileSync } from 'node:fs';

const many = (value) => (Array.isArray(value) ? value : [value]);

/** null, or the problem with the recorded arguments. */
export function argv({ argv: name, has = [], lacks = [], times = [], inOrder = [], last }, file) {
  if (!existsSync(file)) return `${name}: expected a call of the agent program, got none`;
  const words = readFileSync(file, 'utf8').replace(/\n$/, '').split('\n');
  const got = `got ${words.join(' ')}`;
  const standsAt = (sequence, n) => sequence.every((word, k) => words[n + k] === word);
  const where = (sequence) => words.findIndex((_, n) => standsAt(many(sequence), n));
  const spell = (sequence) => many(sequence).join(' ');
  for (const one of has) if (where(one) < 0) return `arguments: expected ${spell(one)}, ${got}`;
  for (const one of lacks) if (where(one) >= 0) return `arguments: expected no ${spell(one)}, ${got}`;
  for (const [one, wanted] of times) {
    const count = words.filter((_, n) => standsAt(many(one), n)).length;
    if (count !== wanted) return `arguments: expected ${spell(one)} ${wanted} times, got it ${count} times`;
  }
  let before = -1;
  for (const one of inOrder) {
    const place = where(one);
    if (place <= before) return `arguments: expected ${spell(one)} in its place, ${got}`;
    before = place;
  }
  if (last !== undefined && words.at(-1) !== last)
    return `last argument: expected ${last}, got ${words.at(-1)}`;
  return null;
}
