#!/usr/bin/env node
import { main } from '../src/tally.js';

process.exitCode = main(process.argv.slice(2));
