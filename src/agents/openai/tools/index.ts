/** The tools that a model may be given. */
import { once } from '../../../core/once.ts';
import { patchTool, readTool, writeTool } from './files.ts';
import { listTool, searchTool } from './look.ts';
import { runTool } from './run.ts';
import type { Tool } from './tool.ts';

export const tools: () => readonly Tool[] = once(() => [
  readTool(),
  listTool(),
  searchTool(),
  writeTool(),
  patchTool(),
  runTool(),
]);
