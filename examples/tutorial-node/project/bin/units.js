#!/usr/bin/env node
import { convert } from '../src/convert.js';

const [value, from, to, ...more] = process.argv.slice(2);
if (to === undefined || more.length > 0 || value.trim() === '' || !Number.isFinite(Number(value))) {
  console.error('usage: units VALUE FROM TO');
  process.exitCode = 2;
} else {
  try {
    console.log(String(Number(convert(Number(value), from, to).toPrecision(6))));
  } catch (error) {
    console.error(error.message);
    process.exitCode = 2;
  }
}
