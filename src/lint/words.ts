/** Attributes of graphs and edges, and names that lint accepts without a check. */
import {
  type AttributeTable,
  atLeastTwo,
  bytes,
  count,
  duration,
  flag,
  integer,
  number,
  outsidePaths,
  paths,
  secretNames,
  text,
  variableNames,
  word,
} from '../model/attribute.ts';
import { reserve } from '../model/reserve.ts';

/** The least bytes with which a shell and a small program can start. */
const leastMemory = 16 * 1024 * 1024;

/** Attributes of a graph. */
export const graphAttributes = {
  goal: text(),
  label: text(),
  vars: text(),
  workdir: text(),
  default_max_visits: count(1),
  default_max_retries: count(),
  default_timeout: duration(),
  max_steps: count(1),
  max_wall: duration(),
  max_tokens: count(),
  max_cost_usd: number(0),
  unknown_cost: word('stop', 'allow'),
  verify_reserve: reserve(),
  prices: text(),
  park_after: duration(),
  retry_target: text(),
  fallback_retry_target: text(),
  agent_script: text(),
  llm_provider: text(),
  holdout: paths(),
  holdout_beside: text(),
  holdout_from: text(),
  env_pass: variableNames(),
  secrets: secretNames(),
  sandbox: word('auto', 'bwrap', 'none'),
  sandbox_bind: outsidePaths(),
  network: word('on', 'off'),
  max_memory: bytes(leastMemory),
  max_processes: count(1),
  max_file_size: bytes(1),
  stall_timeout: duration(),
  max_same_calls: count(),
  breaker: atLeastTwo(),
  audit: word('off', 'report', 'strict'),
  model_stylesheet: text(),
  default_fidelity: text(),
} as const satisfies AttributeTable;

/** Attributes of an edge. */
export const edgeAttributes = {
  label: text(),
  condition: text(),
  weight: integer(),
  fidelity: text(),
  thread_id: text(),
  loop_restart: flag(),
} as const satisfies AttributeTable;

const words = (text: string): readonly string[] => text.trim().split(/\s+/);

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

/** Attributes of other implementations of the pipeline language. */
const wider = words(`
  fidelity thread_id reasoning_effort auto_status join_policy max_parallel max_agent_turns max_goal_gate_redirects cwd
  inputs outputs escalation_models loop_restart loop_restart_persist_keys default_max_retry
  human.default_choice manager.poll_interval manager.max_cycles manager.stop_condition manager.actions
  stack.child_autostart stack.child_dotfile stack.child_workdir tool_hooks.pre tool_hooks.post llm_model llm_provider
  temperature max_tokens timeout prompt_file context_keys read_only question options`);

/** Attributes that Graphviz itself reads, on any element. */
export const drawn: ReadonlySet<string> = new Set(drawing);
export const unchecked: ReadonlySet<string> = new Set([...drawing, ...wider]);

/** Shapes and types of other implementations of the pipeline language. */
export const widerKinds: readonly { readonly shape: string; readonly type: string; readonly does: string }[] =
  [
    { shape: 'Mdiamond', type: 'start', does: 'begins a run' },
    { shape: 'Msquare', type: 'exit', does: 'ends a run' },
    { shape: 'box', type: 'codergen', does: 'asks an agent' },
    { shape: 'diamond', type: 'conditional', does: 'branches' },
    { shape: 'parallelogram', type: 'tool', does: 'runs a command' },
    { shape: 'hexagon', type: 'wait.human', does: 'waits for a person' },
    { shape: 'component', type: 'parallel', does: 'runs branches side by side' },
    { shape: 'tripleoctagon', type: 'parallel.fan_in', does: 'joins branches' },
    { shape: 'house', type: 'stack.manager_loop', does: 'supervises another pipeline' },
  ];
