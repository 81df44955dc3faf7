/** A run as pictures. */
import { inspectRun } from '../../app/inspect/run.ts';
import type { RunView } from '../../app/inspect/shapes.ts';
import { type Picture, runHeading } from '../../app/picture/frame.ts';
import { runMap } from '../../app/picture/run-map.ts';
import { timeline } from '../../app/picture/timeline.ts';
import type { Refusal } from '../../core/diagnostic.ts';
import { picturePolicy } from '../security.ts';
import { type AskedRun, type Handlers, refusal, type Web } from '../web.ts';

export const picturesApi: Pick<Handlers, 'graph' | 'map' | 'timeline'> = {
  graph: async (asked) =>
    picture(asked, async ({ graph }, how) =>
      (await import('../../app/picture/render.ts')).drawnGraph(graph, how),
    ),
  map: async ({ run, query }) => {
    const map = await runMap(run.dir, query.open.split(',').filter(Boolean));
    return typeof map === 'string'
      ? new Response(map, { headers: { 'Content-Type': 'application/json' } })
      : refusal(map);
  },
  timeline: async (asked) => picture(asked, timeline),
};

type Asked = {
  readonly web: Web;
  readonly run: AskedRun;
  readonly query: { readonly inline?: '1' };
};

async function picture(
  { web, run, query }: Asked,
  drawn: (view: RunView, how: Picture) => string | Promise<string | Refusal>,
): Promise<Response> {
  const view = await inspectRun(run.dir, web);
  if ('problems' in view) return refusal(view);
  const svg = await drawn(view, { inline: query.inline === '1', heading: runHeading(view) });
  if (typeof svg !== 'string') return refusal(svg);
  return new Response(svg, {
    headers: { 'Content-Type': 'image/svg+xml; charset=utf-8', 'Content-Security-Policy': picturePolicy },
  });
}
