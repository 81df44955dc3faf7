/** What stages left behind, visit by visit, and that nothing else lies in a run's directory. */
import { basename, join } from 'node:path';
import { readStage } from '../engine/node-dir.ts';
import { layout, nodeLayout } from '../model/layout.ts';
import type { Manifest } from '../model/manifest.ts';
import { own } from '../model/own.ts';
import type { RunRecord, VisitRecord } from '../model/visit-record.ts';
import { hashArtifacts } from '../store/artifact-hashes.ts';
import { namesIn } from '../system/read.ts';
import { checkPlain } from './plain.ts';
import type { Findings } from './report.ts';

/** Holds the folders of all visits against their records. `next` is the node whose visit may be under way. */
export async function checkArtifacts(
  runDir: string,
  manifest: Manifest,
  records: readonly RunRecord[],
  next: string | null,
  found: Findings,
): Promise<void> {
  const nodes = new Map<string, VisitRecord[]>();
  for (const record of records) {
    if (record.type !== 'Visit') continue;
    const others = nodes.get(record.node);
    if (others === undefined) nodes.set(record.node, [record]);
    else others.push(record);
  }
  for (const [node, visits] of nodes) await checkNode(runDir, manifest, visits, node === next, found);
  const known = new Set([...nodes.keys(), ...(next === null ? [] : [next])]);
  checkPlain(runDir, known, found);
  checkTop(runDir, known, found);
}

async function checkNode(
  runDir: string,
  manifest: Manifest,
  visits: readonly VisitRecord[],
  mayGoOn: boolean,
  found: Findings,
): Promise<void> {
  const last = visits.at(-1);
  if (last === undefined) return;
  const top = layout(runDir).node(last.node);
  const stage = await readStage(top);
  const passed = visits.every(({ artifacts }) => artifacts === undefined);
  // Where another visit has begun, the finished ones are in the folders of earlier visits, or on their way there. Its own
  // file may be not yet made, or torn by a power cut: then that of the one before, which is moved last, has arrived.
  const moved = () => readStage(join(nodeLayout(top).visits, String(last.visit)));
  const begun =
    mayGoOn && (stage === undefined ? (await moved())?.visit === last.visit : stage.visit === last.visit + 1);
  if (
    !passed &&
    !begun &&
    (stage === undefined || stage.visit !== last.visit || stage.marker !== manifest.marker)
  ) {
    const is = stage === undefined ? 'nothing that can be read' : `visit ${stage.visit} of ${stage.marker}`;
    if (!mayGoOn || stage !== undefined)
      found.add('changed', `${last.node}/stage.json`, 'it names another visit than the last one', {
        should: `visit ${last.visit} of ${manifest.marker}`,
        is,
      });
  }
  for (const visit of visits) {
    const isTop = visit === last && !begun;
    const archive = join(nodeLayout(top).visits, String(visit.visit));
    await checkVisit(
      isTop ? top : archive,
      isTop ? (mayGoOn ? archive : undefined) : top,
      visit,
      stage?.visit === visit.visit,
      found,
      runDir,
    );
  }
  const known = new Set(visits.map(({ visit }) => String(visit)));
  for (const name of namesIn(nodeLayout(top).visits))
    if (
      !known.has(name) ||
      (name === String(last.visit) && !begun && stage?.visit === last.visit && !mayGoOn)
    )
      found.add('added', `${last.node}/visits/${name}`, 'the records know of no such earlier visit');
}

async function checkVisit(
  folder: string,
  top: string | undefined,
  visit: VisitRecord,
  moving: boolean,
  found: Findings,
  runDir: string,
): Promise<void> {
  const { artifacts, artifacts_more: more = 0 } = visit;
  const where = `${visit.node}@${visit.visit}`;
  if (artifacts === undefined) {
    found.cannot(`the artifacts of ${where}: its record has no hashes of them`);
    return;
  }
  const path = (name: string) => `${folder.slice(runDir.length + 1)}/${name}`;
  const { hashes } = await hashArtifacts(folder);
  const above = top !== undefined && moving ? (await hashArtifacts(top)).hashes : {};
  for (const [name, should] of Object.entries(artifacts)) {
    found.count('artifacts');
    found.hash(
      path(name),
      should,
      own(hashes, name) ?? own(above, name),
      `what visit ${visit.visit} of "${visit.node}" left`,
    );
  }
  if (more > 0) found.cannot(`${more} files of ${where}: it left more than are vouched for`);
  else
    for (const name of Object.keys(hashes))
      if (own(artifacts, name) === undefined)
        found.add('added', path(name), `visit ${visit.visit} of "${visit.node}" did not leave this file`);
}

/** Names in a run's directory that are the engine's own. */
const engines = new Set(
  Object.values(layout('')).flatMap((path) => (typeof path === 'string' ? [basename(path)] : [])),
);

/** Of these nobody vouches, and none is left where nothing was cut off. */
const passing = new Set(
  [layout('').change, layout('').hidden, layout('').hiddenList].map((path) => basename(path)),
);

function checkTop(runDir: string, nodes: ReadonlySet<string>, found: Findings): void {
  for (const name of namesIn(runDir)) {
    if (passing.has(name))
      found.cannot(
        `${name}: what a stage or a resume that was cut off has left there, and the next one clears`,
      );
    if (engines.has(name) || nodes.has(name) || /^\..*\.tmp$/.test(name)) continue;
    found.add('added', name, 'neither the engine nor a stage has put this there');
  }
}
