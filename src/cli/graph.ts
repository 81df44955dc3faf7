/** `factory graph`: a pipeline or a run as a picture. */
import { existsSync, statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { GraphView } from '../app/inspect/graph-shapes.ts';
import { pipelineGraph } from '../app/inspect/pipeline-graph.ts';
import { inspectRun } from '../app/inspect/run.ts';
import type { RunView } from '../app/inspect/shapes.ts';
import { runHeading } from '../app/picture/frame.ts';
import { problemNodes } from '../app/picture/problem-nodes.ts';
import { pipelinePath } from '../app/pipelines.ts';
import { readPipeline } from '../app/read-pipeline.ts';
import { countedItems } from '../core/amounts.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { quoteWord } from '../core/policy/words.ts';
import { isCode } from '../platform/files/write.ts';
import { findNamed, usage } from './find-run.ts';
import type { CliIo, Io } from './io.ts';
import { isOurPicture, writeOutput } from './output.ts';
import type { VerbResult } from './verb.ts';

const pictureFormats = ['svg', 'png', 'dot', 'mermaid'] as const;
type PictureFormat = (typeof pictureFormats)[number];

type GraphOptions = {
  readonly output?: string;
  readonly format?: PictureFormat;
  readonly open?: boolean;
  readonly timeline?: boolean;
  readonly runsdir?: string;
};

/** What is drawn. `name` is that of the default file, without its ending. */
type Drawable = {
  readonly name: string;
  /** The pipeline, or the run directory: absolute. */
  readonly source: string;
  readonly view: GraphView;
  readonly heading: readonly string[];
  /** Nodes with findings. */
  readonly marked: ReadonlySet<string>;
  /** The run whose timeline is drawn instead of its graph. */
  readonly timeline?: RunView;
};

/** Exit code 0 if there is a picture, also of a pipeline with findings; 2 if the pipeline or the run cannot be read;
 *  1 if there is a picture that could not be opened. */
export async function graphCommand(what: string, options: GraphOptions, io: CliIo): Promise<VerbResult> {
  const format = formatOf(options);
  if (typeof format !== 'string') return format;
  if (options.timeline === true && (format === 'dot' || format === 'mermaid'))
    return usage(`--timeline: a timeline cannot be written as ${format}`, 'write an .svg or a .png file');
  const drawable = await drawableOf(what, options, io);
  if ('problems' in drawable) return drawable;
  const picture = await pictureOf(drawable, format);
  if (typeof picture === 'object' && 'problems' in picture) return picture;
  if (picture === undefined)
    return refused(
      'no-fonts',
      'this machine has no fonts: every text would be missing in a PNG file',
      'install a font (for example the package fonts-dejavu-core), or write an .svg file',
    );
  if (options.output !== '-') return await written(picture, format, drawable, options, io);
  if (typeof picture === 'string') io.out(picture);
  else io.bytes(picture);
  return 0;
}

const endings: Readonly<Record<string, PictureFormat>> = {
  ...{ svg: 'svg', png: 'png', dot: 'dot', gv: 'dot', mermaid: 'mermaid', mmd: 'mermaid' },
};

/** The format: as named, else by the ending of the file, else SVG. */
function formatOf({ output, format }: GraphOptions): PictureFormat | Refusal {
  if (format !== undefined) return format;
  if (output === undefined || output === '-') return 'svg';
  const ending = /\.(\w+)$/.exec(basename(output))?.[1]?.toLowerCase() ?? '';
  return (
    endings[ending] ??
    usage(
      `-o ${output}: the ending of the file names no format`,
      `use .svg, .png, .dot or .mermaid, or add --format ${pictureFormats.join('|')}`,
    )
  );
}

/** A pipeline file or a bundled pipeline of that name, else a run. */
async function drawableOf(what: string, options: GraphOptions, io: CliIo): Promise<Drawable | Refusal> {
  const path = pipelinePath(what, io.cwd);
  const isPipeline = statSync(resolve(io.cwd, path), { throwIfNoEntry: false })?.isDirectory() === false;
  if (isPipeline || /\.(?:dot|gv)$/.test(what))
    return options.timeline === true
      ? usage(`--timeline: ${what} is a pipeline`, 'name a run; factory runs lists them')
      : pipelineDrawable(what, path, io);
  const found = await findNamed(what, options, io);
  if ('problems' in found) {
    const [problem] = found.problems;
    if (options.timeline === true || problem === undefined) return found;
    return refused('no-run', `factory pipelines lists no "${what}", and ${problem.message}`, problem.fix);
  }
  const run = await inspectRun(found.dir, io);
  if ('problems' in run) return run;
  if (run.graph.nodes.length === 0 && options.timeline !== true)
    return refused(
      'run-files',
      `the pipeline of run ${found.id} cannot be read`,
      'draw its timeline: --timeline; factory verify checks the files of a run',
    );
  return {
    name: options.timeline === true ? `${found.id}-timeline` : found.id,
    source: found.dir,
    view: run.graph,
    heading: runHeading(run),
    marked: new Set(),
    ...(options.timeline === true ? { timeline: run } : {}),
  };
}

async function pipelineDrawable(what: string, path: string, io: Io): Promise<Drawable | Refusal> {
  const { anyGraph, found } = await readPipeline(path, io.cwd, { toRun: false });
  const errors = found.filter(({ severity }) => severity === 'error');
  if (anyGraph === undefined) return { problems: errors };
  if (errors.length > 0)
    io.err(
      `factory: ${what} has ${countedItems(errors.length, 'error')}; ${io.called?.program ?? 'factory'} validate ${quoteWord(what)} prints them\n`,
    );
  const view = pipelineGraph(anyGraph);
  const file = basename(path);
  return {
    name: file.replace(/\.(?:dot|gv)$/, ''),
    source: resolve(io.cwd, path),
    view,
    heading: [view.name, `${file} · ${sizeOf(view)}`],
    marked: problemNodes(anyGraph, errors),
  };
}

const sizeOf = ({ nodes, edges }: GraphView): string =>
  `${countedItems(nodes.length, 'node')}, ${countedItems(edges.length, 'edge')}`;

/** The picture in `format`; undefined if it needs fonts and there are none. */
async function pictureOf(
  drawable: Drawable,
  format: PictureFormat,
): Promise<string | Uint8Array | Refusal | undefined> {
  const { view, timeline } = drawable;
  if (format === 'dot') return (await import('../app/picture/graph-dot.ts')).graphDot(view);
  if (format === 'mermaid') return (await import('../app/picture/mermaid.ts')).mermaid(view);
  const svg = timeline === undefined ? await graphOf(drawable) : await timelineOf(timeline, drawable);
  if (format === 'svg' || typeof svg !== 'string') return svg;
  try {
    return (await import('../app/picture/png.ts')).pngOf(svg);
  } catch (error) {
    // The library has a program for each platform, and an installation may lack it.
    if (!isCode(error, 'MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND', 'ERR_DLOPEN_FAILED')) throw error;
    return refused(
      'no-png',
      'PNG files need @resvg/resvg-js, which is not installed for this platform',
      'install it with npm, or write an .svg file',
    );
  }
}

const graphOf = async ({ view, ...picture }: Drawable): Promise<string | Refusal> =>
  (await import('../app/picture/render.ts')).drawnGraph(view, picture);

const timelineOf = async (run: RunView, { heading }: Drawable): Promise<string> =>
  (await import('../app/picture/timeline.ts')).timeline(run, { heading });

/** Writes the file, and opens it where asked to. */
async function written(
  picture: string | Uint8Array,
  format: PictureFormat,
  { name, source, view, timeline }: Drawable,
  { output, open }: GraphOptions,
  io: Io,
): Promise<VerbResult> {
  const file = output ?? `${name}.${format}`;
  const path = resolve(io.cwd, file);
  // A file that the user has not named may be someone else's work.
  if (output === undefined && existsSync(path) && !isOurPicture(path))
    return usage(
      `${file} exists, and is no picture of factory graph`,
      `name the file: -o ${quoteWord(file)}`,
    );
  const to = await writeOutput(file, picture, { inputs: [source] }, io.cwd);
  if (typeof to === 'object') return to;
  const size = timeline === undefined ? sizeOf(view) : countedItems(timeline.executions.length, 'execution');
  (to === 'stream' ? io.err : io.out)(`${file}: ${size}\n`);
  if (open !== true) return 0;
  const why = await (await import('../platform/open-file.ts')).openFile(path, io.env);
  return why === undefined ? 0 : refused('open', `cannot open ${file}: ${why}`, 'open it by hand', 1);
}
