/** Attributes that are not ours: of Graphviz, and of other implementations of the pipeline language. */

function words(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}

/** Graphviz's own attributes, of graphs, nodes and edges: drawing only. */
const drawing = words(`
  Damping K URL _background area arrowhead arrowsize arrowtail bb beautify bgcolor center charset class cluster
  clusterrank color colorscheme comment compound concentrate constraint decorate defaultdist dim dimen dir
  diredgeconstraints distortion dpi edgeURL edgehref edgetarget edgetooltip epsilon esep fillcolor fixedsize fontcolor
  fontname fontnames fontpath fontsize forcelabels gradientangle group headURL head_lp headclip headhref headlabel
  headport headtarget headtooltip height href id image imagepath imagepos imagescale inputscale label labelURL
  label_scheme labelangle labeldistance labelfloat labelfontcolor labelfontname labelfontsize labelhref labeljust
  labelloc labeltarget labeltooltip landscape layer layerlistsep layers layerselect layersep layout len levels
  levelsgap lhead lheight linelength lp ltail lwidth margin maxiter mclimit mindist minlen mode model mosek newrank
  nodesep nojustify normalize notranslate nslimit nslimit1 oneblock ordering orientation outputorder overlap
  overlap_scaling overlap_shrink pack packmode pad page pagedir pencolor penwidth peripheries pin pos quadtree quantum
  radius rank rankdir ranksep ratio rects regular remincross repulsiveforce resolution root rotate rotation samehead
  sametail samplepoints scale searchsize sep shape shapefile showboxes sides size skew smoothing sortv splines start
  style stylesheet tail_lp tailclip tailURL tailhref taillabel tailport tailtarget tailtooltip target
  TBbalance tooltip truecolor vertices viewport voro_margin weight width xdotversion xlabel xlp z`);

/** Attributes of other implementations of the pipeline language that nothing reads here, and what to write instead, if there
 *  is something. A name that ends with a dot stands for all that begin with it. */
const withoutEffect: Readonly<Record<string, string>> = {
  max_agent_turns: 'write max_turns',
  cwd: 'write codex.workdir, or cd in the command',
  ...Object.fromEntries(
    words(`outputs escalation_models context_keys read_only options temperature
      manager. stack. tool_hooks.`).map((name) => [name, '']),
  ),
};

/** For an attribute of the language without effect here: what to write instead, or the empty text. Undefined for another. */
export function noEffectOf(key: string): string | undefined {
  const name = Object.hasOwn(withoutEffect, key) ? key : `${key.split('.')[0]}.`;
  return Object.hasOwn(withoutEffect, name) ? withoutEffect[name] : undefined;
}

const drawn: ReadonlySet<string> = new Set(drawing);

/** Whether Graphviz itself reads or writes the attribute: it is for drawings. */
export const isDrawing = (key: string): boolean => drawn.has(key) || key.startsWith('_');
