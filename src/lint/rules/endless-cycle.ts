/** Every cycle has a way out, or a limit set by its author. */
import { type Attributes, present } from '../../core/settings/types.ts';
import { type FlowPlace, flowOf, leadingTo, pathInto, pathTo } from '../flow/reach.ts';
import { limitedFindings, type Pending, proven } from '../flow/words.ts';
import { finding, type Rule } from '../rule.ts';

const most = 20;

const graphLimits = ['default_max_visits', 'max_steps', 'max_wall', 'max_cost_usd', 'max_tokens'];
const nodeLimits = ['max_visits', 'max_wall'];
const hasOneOf = (attrs: Attributes, keys: readonly string[]): boolean =>
  keys.some((key) => present(attrs, key) !== undefined);
const isLimited = ({ node }: FlowPlace): boolean => hasOneOf(node.attrs, nodeLimits);

export const endlessCycle: Rule = {
  code: 'endless-cycle',
  severity: 'warning',
  rule: 'Every cycle of edges has an end other than the default limit.',
  wrong: 'start; exit; a [label=a]; b [label=b]; start -> a -> b -> a; b -> exit [condition="outcome=retry"]',
  fix: 'a way out that can be taken, or `max_visits` on one of the nodes',
  needs: 'paths',
  check: (subject) => {
    const { graph } = subject;
    const flow = flowOf(subject);
    if (flow === undefined || hasOneOf(graph.attrs, graphLimits)) return [];
    const ends = flow.places.filter(
      (place) => isLimited(place) || place.moves.every(({ to }) => to === undefined),
    );
    const free = leadingTo(flow, ends);
    const caught = new Set(flow.places.filter((place) => !free.has(place)));
    const pending: Pending[] = [];
    for (const place of flow.places) {
      if (!caught.has(place)) continue;
      const round = pathInto(place, place);
      const edge = round?.at(-1)?.way.edge;
      if (round === undefined || edge === undefined) continue;
      // Report once for all places that follow.
      leave(caught, place);
      const ids = [...round.map((move) => move.place.node.id), place.node.id];
      const shown = ids.length > 8 ? [...ids.slice(0, 5), '…', ...ids.slice(-2)] : ids;
      const found = finding(graph, endlessCycle, {
        message: `only the default limit ends the cycle ${shown.join(' -> ')}: no edge that can be taken leads out of it`,
        span: edge.span,
        fix: 'give it a way out that can be taken, such as an edge with condition="outcome=success", or a limit: max_visits on one of its nodes',
      });
      const make = () => {
        const path = pathTo(flow, place);
        return proven(found, path === undefined ? undefined : [...path, ...round]);
      };
      pending.push({ name: place.node.id, make });
    }
    return limitedFindings(pending, most);
  },
};

function leave(caught: Set<FlowPlace>, place: FlowPlace): void {
  const open = [place];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (caught.delete(next)) for (const { to } of next.moves) if (to !== undefined) open.push(to);
  }
}
