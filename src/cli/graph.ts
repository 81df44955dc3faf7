/** `factory graph`: a pipeline as a picture. */
import { existsSync, readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { pipelineGraph } from '../app/inspect/pipeline-graph.ts';
import type { GraphView } from '../app/inspect/shapes.ts';
import { problemNodes } from '../app/picture/problem-nodes.ts';
import { pipelinePath } from '../app/pipelines.ts';
import { readPipeline } from '../app/read-pipeline.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { quoteWord } from '../core/policy/words.ts';
import { isCode, writeFileAtomic } from '../platform/files/write.ts';
import { usage } from './find-run.ts';
import type { VerbResult } from './index.ts';
import type { CliIo, Io } from './io.ts';
import { countedItems } from './report/run.ts';

const pictureFormats = ['svg', 'png', 'dot', 'mermaid'] as const;
type PictureFormat = (typeof pictureFormats)[number];

type GraphOptions = {
  readonly output?: string;
  readonly format?: PictureFormat;
  readonly open?: boolean;
};

/** What is drawn. `name` is that of the default file, without its ending. */
type Drawable = {
  readonly name: string;
  readonly view: GraphView;
  readonly heading: readonly string[];
  /** Nodes with findings. */
  readonly marked: ReadonlySet<string>;
};

/** Exit code 0 if there is a picture, also of a pipeline with findings; 2 if the pipeline cannot be read; 1 if there is a
 *  picture that could not be opened. */
export async function graphCommand(what: string, options: GraphOptions, io: CliIo): Promise<VerbResult> {
  const format = formatOf(options);
  if (typeof format !== 'string') return format;
  const drawable = await pipelineDrawable(what, io);
  if ('problems' in drawable) return drawable;
  const picture = await pictureOf(drawable, format);
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

async function pipelineDrawable(what: string, io: Io): Promise<Drawable | Refusal> {
  const path = pipelinePath(what, io.cwd);
  const { anyGraph, found } = await readPipeline(path, io.cwd, { toRun: false });
  const errors = found.filter(({ severity }) => severity === 'error');
  if (anyGraph === undefined) return { problems: errors };
  if (errors.length > 0)
    io.err(
      `factory: ${what} has ${countedItems(errors.length, 'error')}; factory validate ${quoteWord(what)} prints them\n`,
    );
  const view = pipelineGraph(anyGraph);
  const file = basename(path);
  return {
    name: file.replace(/\.(?:dot|gv)$/, ''),
    view,
    heading: [view.name, `${file} · ${sizeOf(view)}`],
    marked: problemNodes(anyGraph, errors),
  };
}

const sizeOf = ({ nodes, edges }: GraphView): string =>
  `${countedItems(nodes.length, 'node')}, ${countedItems(edges.length, 'edge')}`;

/** The picture in `format`; undefined if it needs fonts and there are none. */
async function pictureOf(
  { view, heading, marked }: Drawable,
  format: PictureFormat,
): Promise<string | Uint8Array | undefined> {
  if (format === 'dot') return (await import('../app/picture/graph-dot.ts')).graphDot(view);
  if (format === 'mermaid') return (await import('../app/picture/mermaid.ts')).mermaid(view);
  const { drawnGraph } = await import('../app/picture/render.ts');
  const svg = await drawnGraph(view, { heading, marked });
  return format === 'svg' ? svg : (await import('../app/picture/png.ts')).pngOf(svg);
}

/** Writes the file, and opens it where asked to. */
async function written(
  picture: string | Uint8Array,
  format: PictureFormat,
  { name, view }: Drawable,
  { output, open }: GraphOptions,
  io: Io,
): Promise<VerbResult> {
  const file = output ?? `${name}.${format}`;
  const path = resolve(io.cwd, file);
  // A file that the user has not named may be someone else's work.
  if (output === undefined && existsSync(path) && !isOurs(path))
    return usage(
      `${file} exists, and is no picture of factory graph`,
      `name the file: -o ${quoteWord(file)}`,
    );
  try {
    await writeFileAtomic(path, picture);
  } catch (error) {
    if (isCode(error, 'EISDIR', 'EEXIST', 'ENOTDIR'))
      return usage(
        `-o ${file}: a directory is in its place, or a part of the path is none`,
        'name another file',
      );
    throw error;
  }
  io.out(`${file}: ${sizeOf(view)}\n`);
  if (open !== true) return 0;
  const why = await (await import('../platform/open-file.ts')).openFile(path, io.env);
  return why === undefined ? 0 : refused('open', `cannot open ${file}: ${why}`, 'open it by hand', 1);
}

/** Whether a picture of this command is there, which may be replaced. */
function isOurs(path: string): boolean {
  try {
    return readFileSync(path).subarray(0, 400).includes('class="factory-picture"');
  } catch {
    return false;
  }
}
