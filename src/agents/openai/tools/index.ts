/** The tools that a model may be given. */
import { once } from '../../../model/once.ts';
import { patch, read, write } from './files.ts';
import { list, search } from './look.ts';
import { run } from './run.ts';
import type { Tool } from './tool.ts';

export const tools: () => readonly Tool[] = once(() => [read(), list(), search(), write(), patch(), run()]);
