/** A node's id is the name of a folder in the run directory, so some ids are reserved and the length is limited. */
import { basename } from 'node:path';
import { allNodes, type Graph } from '../../core/graph.ts';
import { asksPeople } from '../../core/human-gate.ts';
import { layout, reservedNodeIds } from '../../core/records/layout.ts';
import type { Finding } from '../../core/settings/repair.ts';
import { finding, type Rule } from '../rule.ts';

/** The folder of the answers, in runs of graphs with a human gate. */
const ofAnswers = basename(layout('').answers);

/** Characters: file names have at most 255, and some append text to the id. */
const most = 200;

export const reservedId: Rule = {
  code: 'reserved-id',
  severity: 'error',
  rule: 'No id is a name that the run directory uses, or longer than 200 characters.',
  wrong: 'start; exit; workspace [label=x]; start -> workspace -> exit',
  fix: 'another id',
  check: ({ graph, options: { run = graph } }) => [...ofNodes(graph, run), ...ofCalled(graph, run)],
};

const ofNodes = (graph: Graph, run: Graph): readonly Finding[] =>
  [...graph.nodes.values()].flatMap(({ id, span }) => {
    const isTaken = reservedNodeIds.includes(id) || (id === ofAnswers && asksPeople(run));
    if (!isTaken && id.length <= most) return [];
    return finding(graph, reservedId, {
      message: isTaken
        ? `a node cannot be called "${id}": the run directory keeps that name for itself`
        : `a node cannot be called "${id.slice(0, 40)}…": a folder is named by it, and it has ${id.length} characters`,
      span,
      fix: isTaken ? `call it something else, such as ${id}_step` : `an id of at most ${most} characters`,
    });
  });

/** Files of a run directory whose names could be those of nodes in a called pipeline: `CALL.NODE`. */
const files: readonly string[] = Object.values(layout('')).flatMap((path) =>
  typeof path === 'string' && /^\w+\.\w+$/.test(path) ? [path] : [],
);

/** Ids of nodes in called pipelines, which begin with that of the call. */
const ofCalled = (graph: Graph, run: Graph): readonly Finding[] =>
  [...graph.nodes.values()].flatMap(({ id, span }) => {
    const child = run.children?.get(id);
    const inRun = [...(child === undefined ? [] : allNodes(child).keys())];
    const wrong = inRun.find((one) => files.includes(one) || one.length > most);
    if (wrong === undefined) return [];
    return finding(graph, reservedId, {
      message: files.includes(wrong)
        ? `a call cannot be called "${id}": its pipeline has a node that would be "${wrong}", a file of the run directory`
        : `the call "${id}" leads to a node whose id has ${wrong.length} characters: "${wrong.slice(0, 40)}…"`,
      span,
      fix: files.includes(wrong)
        ? `call it something else, such as ${id}_step`
        : 'give the calls shorter ids',
    });
  });
