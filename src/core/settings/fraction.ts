/** Attributes that are a part of a whole. */
import { type AttributeType, number } from './types.ts';

/** More than 0, at most 1. */
export const fraction = (): AttributeType<number> => ({
  wants: 'a number above 0 and up to 1',
  example: '0.8',
  json: 'number',
  read(v) {
    const read = number(0).read(v);
    // `80%` and `80` are what people write who mean 0.8.
    const percent = /^(\d+(?:\.\d+)?) ?%?$/.exec(v.text.trim())?.[1];
    const of = percent === undefined ? Number.NaN : Number(percent);
    const meant = of > 1 && of <= 100 ? String(of / 100) : undefined;
    if (!read.ok) return { ...read, meant };
    if (read.value === 0) return { ok: false, why: 'is 0, which every suite reaches' };
    return read.value > 1 ? { ok: false, why: 'is more than 1', meant } : read;
  },
});
