/** Texts of the files that a pipeline names, for what lint finds in them. */
import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Graph } from '../core/graph.ts';
import type { LintOptions } from '../lint/rule.ts';

export type TextsNamed = Pick<LintOptions, 'prompts' | 'scripts'>;

/** The texts of prompt files and scripts; `open` has texts that count in place of those of prompt files, by absolute path. */
export const textsNamed = async (
  graph: Graph,
  cwd: string,
  open: ReadonlyMap<string, string> = new Map(),
): Promise<TextsNamed> => ({
  prompts: await promptFiles(graph, cwd, open),
  scripts: await scriptFiles(graph, cwd),
});

/** Texts of prompts given as `@file`; files that cannot be read are left out, `readInputs` reports them. */
async function promptFiles(
  graph: Graph,
  cwd: string,
  open: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  for (const node of graph.nodes.values()) {
    const reference = node.settings.prompt?.trim();
    if (reference === undefined || !reference.startsWith('@') || texts.has(reference)) continue;
    const path = resolve(cwd, graph.file, '..', reference.slice(1));
    const text = open.get(path) ?? (await readFile(path, 'utf8').catch(() => undefined));
    if (text !== undefined) texts.set(reference, text);
  }
  return texts;
}

/** Bytes of the largest script that is looked at. */
const scriptLimit = 256 * 1024;

/** Texts of the scripts that tools name, as far as they are in the workdir of the pipeline; only where conditions ask for keys. */
async function scriptFiles(graph: Graph, cwd: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const texts = new Map<string, readonly string[]>();
  if (
    graph.edges.every(
      ({ conditionText }) => !/[\w-](?<!outcome|preferred_label|failure_class)\s*[!=<>]/.test(conditionText),
    )
  )
    return texts;
  const { workdir } = graph.settings;
  const folder = workdir === undefined ? resolve(cwd) : resolve(cwd, graph.file, '..', workdir);
  for (const { settings } of graph.nodes.values()) {
    const command = settings.tool_command;
    if (command === undefined || texts.has(command)) continue;
    const words = command.split(/[\s'"`;|&()<>]+/).filter((word) => /[./]/.test(word) && !/[$=*]/.test(word));
    const files = [...new Set(words)].map((word) => resolve(folder, word));
    texts.set(command, await Promise.all(files.map(scriptText)));
  }
  return texts;
}

/** Empty for what is no script of a bearable size. */
async function scriptText(path: string): Promise<string> {
  try {
    const is = statSync(path);
    return is.isFile() && is.size <= scriptLimit ? await readFile(path, 'utf8') : '';
  } catch {
    return '';
  }
}
