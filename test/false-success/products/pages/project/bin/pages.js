#!/usr/bin/env node
import { main } from '../src/pages.js';

process.exitCode = main(process.argv.slice(2));
