/** `factory init`: a new project that runs at once, with prepared answers. */
import { basename, dirname, relative, resolve } from 'node:path';
import { initProject, type TemplateName, templates } from '../app/init.ts';
import { quoteWord } from '../core/policy/words.ts';
import type { Io } from './io.ts';
import type { VerbResult } from './verb.ts';

export async function initCommand(
  name: string | undefined,
  options: { readonly template?: TemplateName },
  io: Io,
): Promise<VerbResult> {
  const template = options.template ?? 'fix-loop';
  const made = await initProject(resolve(io.cwd, name ?? '.'), template);
  if ('problems' in made) return made;
  const { folder, files, pipeline } = made;
  const run = basename(pipeline, '.dot');
  for (const file of few(files)) io.out(`  ${file}\n`);
  const enter = relative(io.cwd, folder) === '' ? [] : [`cd ${quoteWord(relative(io.cwd, folder))}`];
  io.out(`${template}: ${templates[template].about}\n\n`);
  const { program = 'factory' } = io.called ?? {};
  for (const line of [...enter, `${program} run ${run}`, `${program} simulate ${run}`]) io.out(`  ${line}\n`);
  io.out(
    '\nWithout a key the run uses the prepared answers. Then change the pipeline, the prompts and the scenarios.\n',
  );
  return 0;
}

/** Files, and folders with many of them. */
function few(files: readonly string[]): readonly string[] {
  const count = new Map<string, number>();
  for (const file of files) count.set(dirname(file), (count.get(dirname(file)) ?? 0) + 1);
  return [
    ...new Set(files.map((file) => ((count.get(dirname(file)) ?? 0) > 4 ? `${dirname(file)}/` : file))),
  ];
}
