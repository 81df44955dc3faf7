/** The limits of a run, and of one that continues with another graph or other flags. */
import { expect, test } from 'vitest';
import { limitsForManifest, limitsOf } from '../../src/app/limits.ts';
import type { Manifest } from '../../src/core/records/manifest.ts';
import type { LimitFlags } from '../../src/core/settings/limits.ts';
import { graphOf } from '../support/graph.ts';

const graph = (limits: string) => graphOf(`${limits}; start -> exit`);
const recorded = (flags: LimitFlags, limits: string) => limitsForManifest(flags, graph(limits)) as Manifest;

test('a flag counts before the graph, the graph before the default, and the manifest says which it was', () => {
  const { caps, origins } = recorded({ max_steps: 7, command_timeout: 50 }, 'max_steps=5; max_wall="2h"');
  expect(caps).toEqual({
    max_steps: 7,
    max_wall_ms: 7_200_000,
    max_tokens: null,
    max_cost_usd: null,
    unknown_cost: null,
    park_after_ms: 120_000,
    max_outage_ms: 28_800_000,
    max_visits: null,
    command_timeout_ms: 50,
  });
  expect(origins).toMatchObject({ max_steps: 'flag', max_wall: 'graph', park_after: 'default' });
});

test.for<[string, LimitFlags, string, LimitFlags, string, number | undefined]>([
  ['a limit of the graph follows the graph', {}, 'max_tokens=5', {}, 'max_tokens=9', 9],
  ['also to no limit', {}, 'max_tokens=5', {}, '', undefined],
  ['a limit of a flag stays', { max_tokens: 5 }, '', {}, 'max_tokens=9', 5],
  ['also one that the graph had, too', { max_tokens: 5 }, 'max_tokens=5', {}, 'max_tokens=9', 5],
  ['a new flag counts before both', { max_tokens: 5 }, 'max_tokens=6', { max_tokens: 3 }, '', 3],
])('when a run continues, %s', ([, first, then, later, now, tokens]) => {
  const before = recorded(first, then);
  expect(limitsOf(later, graph(now), before).max_tokens).toBe(tokens);
  expect(limitsForManifest(later, graph(now), before).caps['max_tokens']).toBe(tokens ?? null);
});
