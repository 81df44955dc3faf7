/** The command that starts a run like a recorded one anew: with what its files contain by then. */
import { dirname, isAbsolute, join, relative } from 'node:path';
import * as z from 'zod';
import { once } from '../core/once.ts';
import { quoteWord } from '../core/policy/words.ts';
import { manifestSchema } from '../core/records/manifest.ts';
import { parseVars } from '../core/variables.ts';
import { packageRoot } from '../platform/package.ts';
import { manifestJson } from './runs.ts';

const newRunSchema = once(() =>
  manifestSchema()
    .pick({ pipeline_path: true, pipeline_file: true, original_workdir: true, variables: true, agent: true })
    .extend({
      pipeline: z.object({ text: z.string() }),
      holdout: z.object({ from: z.string() }).exactOptional(),
    }),
);
type RunInputs = z.infer<ReturnType<typeof newRunSchema>>;

/** Undefined where the manifest cannot be read. */
export function newRunCommand(
  runDir: string,
  { cwd, program }: { readonly cwd: string; readonly program: string },
): string | undefined {
  const read = newRunSchema().safeParse(manifestJson(runDir)).data;
  if (read === undefined) return undefined;
  const { pipeline_path: typed, original_workdir: workdir, holdout, agent } = read;
  const bundled = relative(join(packageRoot(), 'pipelines'), typed);
  const short = (path: string): string => shortPath(path, cwd);
  const flags: readonly (readonly [flag: string, value: string])[] = [
    ...(workdir === '' || workdir === cwd ? [] : [['--workdir', short(workdir)] as const]),
    ...givenVariables(read, short).map((one) => ['--var', one] as const),
    ...(holdout === undefined || !isAbsolute(holdout.from)
      ? []
      : [['--holdout', short(holdout.from)] as const]),
    ...(agent.flags?.script_sha256 === undefined || agent.script === undefined
      ? []
      : [['--script', short(agent.script.path)] as const]),
    ...(['agent', 'model', 'effort'] as const).flatMap((name) => {
      const value = agent.flags?.[name];
      return value === undefined ? [] : [[`--${name}`, value] as const];
    }),
  ];
  const pipeline = isAbsolute(typed) && !bundled.startsWith('..') ? bundled.replace(/\.dot$/, '') : typed;
  return [
    program,
    'run',
    quoteWord(pipeline),
    ...flags.flatMap(([flag, value]) => [flag, quoteWord(value)]),
  ].join(' ');
}

/** The variables that are not as the pipeline declares them. */
function givenVariables(
  { pipeline: { text }, pipeline_path, pipeline_file = pipeline_path, variables }: RunInputs,
  short: (path: string) => string,
): readonly string[] {
  const declared = /\bvars\s*=\s*"((?:[^"\\]|\\.)*)"/.exec(text)?.[1] ?? '';
  const defaults = new Map(parseVars(declared).vars.map((one) => [one.name, one]));
  return Object.entries(variables).flatMap(([name, { value, file }]) => {
    const { value: usual, file: isFile = false } = defaults.get(name) ?? {};
    const same = file === undefined ? usual === value : isFile && usual !== undefined;
    if (same && (file === undefined || join(dirname(pipeline_file), usual ?? '') === file.source)) return [];
    return [`${name}=${file === undefined ? value : short(file.source)}`];
  });
}

function shortPath(path: string, cwd: string): string {
  const below = relative(cwd, path);
  return below === '' ? '.' : below.startsWith('..') || isAbsolute(below) ? path : below;
}
