/** A run as a picture. */
import { inspectRun } from '../../app/inspect/run.ts';
import { picturePolicy } from '../security.ts';
import { type Handlers, refusal } from '../web.ts';

export const picturesApi: Pick<Handlers, 'graph'> = {
  graph: async ({ web, run, query }) => {
    const view = await inspectRun(run.dir, web);
    if ('problems' in view) return refusal(view);
    const { drawnGraph } = await import('../../app/picture/render.ts');
    return picture(await drawnGraph(view.graph, { inline: query.inline === '1' }));
  },
};

const picture = (svg: string): Response =>
  new Response(svg, {
    headers: { 'Content-Type': 'image/svg+xml; charset=utf-8', 'Content-Security-Policy': picturePolicy },
  });
