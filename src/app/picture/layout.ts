/** Lays DOT out with Graphviz, which comes as WebAssembly: no program of the system is needed. */
import { Graphviz } from '@hpcc-js/wasm-graphviz';
import { layoutInThread } from '../../platform/graphviz.ts';

export type PicturePoint = readonly [x: number, y: number];
/** `curve`: a start point, then three points for each Bézier piece. */
export type Stroke = {
  readonly kind: 'polygon' | 'line' | 'curve' | 'ellipse';
  readonly filled: boolean;
  /** Of an ellipse: its centre and its radii. */
  readonly points: readonly PicturePoint[];
};

/** Where everything is, in points from the upper left corner; edges are in the order of the DOT text. */
export type GraphLayout = {
  readonly width: number;
  readonly height: number;
  /** By id. */
  readonly nodes: ReadonlyMap<string, { readonly at: PicturePoint; readonly outline: readonly Stroke[] }>;
  /** Boxes, by id. */
  readonly clusters: ReadonlyMap<
    string,
    {
      readonly corner: PicturePoint;
      readonly width: number;
      readonly height: number;
      readonly label: PicturePoint;
    }
  >;
  readonly edges: readonly {
    readonly line: readonly Stroke[];
    readonly arrow: readonly Stroke[];
    /** The middle of its label. */
    readonly label: PicturePoint | undefined;
  }[];
};

type Operation = {
  readonly op: string;
  readonly points?: readonly PicturePoint[];
  readonly rect?: readonly number[];
};
type Drawn = {
  readonly _draw_?: readonly Operation[];
  readonly _hdraw_?: readonly Operation[];
  readonly id?: string;
  readonly bb?: string;
  readonly pos?: string;
  readonly lp?: string;
};
type Output = { readonly bb: string; readonly objects?: readonly Drawn[]; readonly edges?: readonly Drawn[] };

/** The layout of DOT as `graphDot` writes it, made at once: for small graphs, which take less time than to begin a thread. */
export async function laidOut(dot: string): Promise<GraphLayout> {
  const graphviz = await Graphviz.load();
  return layoutIn(graphviz.layout(dot, 'json', 'dot'));
}

/** The same in another thread; undefined if it cannot be done, or not within `mostMs`. */
export async function laidOutInThread(dot: string, mostMs: number): Promise<GraphLayout | undefined> {
  const text = await layoutInThread(dot, mostMs);
  return text === undefined ? undefined : layoutIn(text);
}

function layoutIn(text: string): GraphLayout {
  const output = JSON.parse(text) as Output;
  const [, , width = 0, height = 0] = output.bb.split(',').map(Number);
  const flipped = ([x, y]: PicturePoint): PicturePoint => [x, height - y];
  const point = (text: string): PicturePoint => {
    const [x = 0, y = 0] = text.split(',').map(Number);
    return flipped([x, y]);
  };
  const strokes = (operations: readonly Operation[] = []) =>
    operations.flatMap((operation) => strokeOf(operation, flipped));
  // Graphviz lists edges in another order.
  const edges = [...(output.edges ?? [])].sort((a, b) => numberOf(a) - numberOf(b));
  return {
    width,
    height,
    nodes: byId('node-', output.objects, ({ pos = '0,0', _draw_ }) => ({
      at: point(pos),
      outline: strokes(_draw_),
    })),
    clusters: byId('cluster-', output.objects, ({ bb: box = '', lp = '0,0' }) => {
      const [left = 0, bottom = 0, right = 0, top = 0] = box.split(',').map(Number);
      return {
        corner: flipped([left, top]),
        width: right - left,
        height: top - bottom,
        label: point(lp),
      };
    }),
    edges: edges.map(({ _draw_, _hdraw_, lp }) => ({
      line: strokes(_draw_),
      arrow: strokes(_hdraw_),
      label: lp === undefined ? undefined : point(lp),
    })),
  };
}

/** The objects whose ids begin with `kind`. */
const byId = <T>(
  kind: string,
  objects: readonly Drawn[] | undefined,
  placed: (drawn: Drawn) => T,
): ReadonlyMap<string, T> =>
  new Map(
    (objects ?? []).flatMap((drawn) =>
      drawn.id?.startsWith(kind) === true ? [[drawn.id.slice(kind.length), placed(drawn)] as const] : [],
    ),
  );

const numberOf = ({ id = '' }: Drawn): number => Number(id.slice(id.indexOf('-') + 1));

const kindsOf: Readonly<Record<string, Stroke['kind']>> = {
  p: 'polygon',
  l: 'line',
  b: 'curve',
  e: 'ellipse',
};

function strokeOf(
  { op, points, rect }: Operation,
  flipped: (point: PicturePoint) => PicturePoint,
): readonly Stroke[] {
  const kind = kindsOf[op.toLowerCase()];
  const filled = op !== op.toLowerCase() && kind !== 'line';
  if (kind === 'ellipse' && rect !== undefined) {
    const [x = 0, y = 0, across = 0, down = 0] = rect;
    return [{ kind, filled, points: [flipped([x, y]), [across, down]] }];
  }
  return kind === undefined || points === undefined ? [] : [{ kind, filled, points: points.map(flipped) }];
}
