/** The tools that a model may be given. */
import { list } from './list.ts';
import { patch } from './patch.ts';
import { read } from './read.ts';
import { run } from './run.ts';
import { search } from './search.ts';
import type { Tool } from './tool.ts';
import { write } from './write.ts';

export const tools: readonly Tool[] = [read, list, search, write, patch, run];
