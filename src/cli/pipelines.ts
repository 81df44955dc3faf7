/** `factory pipelines`: what `factory run NAME` finds here, with the variables of each. */
import type { OfferedPipeline } from '../app/answers.ts';
import { pipelineList } from '../app/pipelines.ts';
import { invocationOf } from './arguments.ts';
import type { Io } from './io.ts';
import { paints } from './io.ts';
import { columns, oneLine, painter } from './report/run.ts';

export async function pipelinesCommand(
  options: { readonly json?: boolean; readonly color?: boolean },
  io: Io,
): Promise<number> {
  const list = await pipelineList(io.cwd);
  if (options.json === true) {
    io.out(`${JSON.stringify(list, null, 2)}\n`);
    return 0;
  }
  const paint = painter(paints(io, io.outIsTerminal, options.color));
  const width = io.outIsTerminal ? io.width : 100;
  for (const from of ['folder', 'bundled'] as const) {
    const some = list.pipelines.filter((one) => one.from === from);
    if (some.length === 0) continue;
    io.out(`${paint.dim(from === 'folder' ? 'in this folder' : 'bundled with factory')}\n`);
    for (const { cells, used, last } of columns(
      some.map((one) => [`  ${one.name}`, invocationOf(aboutOf(one), io.called?.program)]),
    ))
      io.out(`${[...cells, oneLine(last, Math.max(20, width - used))].join('  ').trimEnd()}\n`);
  }
  io.out(`${invocationOf('run one: factory run NAME [--var NAME=VALUE]', io.called?.program)}\n`);
  return 0;
}

function aboutOf({ title, variables, valid, name }: OfferedPipeline): string {
  if (!valid) return `has errors: factory validate ${name}`;
  const required = variables.filter((one) => one.default === null).map((one) => `${one.name}=…`);
  const vars = [...required, ...variables.filter((one) => one.default !== null).map((one) => one.name)];
  return [title, vars.length === 0 ? '' : `(${vars.join(', ')})`].filter((word) => word !== '').join(' ');
}
