/** A file with a prompt is in the workspace when its agent starts. */
import { isCallType } from '../../core/calls.ts';
import { isAgentType, type Node } from '../../core/graph.ts';
import { agentNodes } from '../../core/pipeline.ts';
import { onlyChecks } from '../../core/policy/masked-failure.ts';
import { present } from '../../core/settings/types.ts';
import { finding, nodesBefore, type Rule, type Subject } from '../rule.ts';

export const promptFileMissing: Rule = {
  code: 'prompt-file-missing',
  severity: 'error',
  rule: '`prompt_file` is in the workdir, or a node before its agent can write it (a warning where only a tool that checks or prints comes before). Checked by `factory validate`.',
  wrong: 'workdir="none"; start; exit; a [prompt_file="task.md"]; start -> a -> exit',
  fix: '`prompt="@task.md"`, relative to the pipeline file, or a file of the workdir',
  needs: 'whole graph',
  *check(subject) {
    const { graph, options } = subject;
    const { files } = options;
    if (files === undefined || files.workdir === 'missing') return;
    for (const node of agentNodes(subject.graph)) {
      const file = present(node.attrs, 'prompt_file');
      const path = node.settings.prompt_file;
      // Values are inserted when the node starts; the engine places files in .factory.
      if (file === undefined || path === undefined || /\$|^\.factory\//.test(path) || files.has(path))
        continue;
      const severity = whoBefore(node, path, subject);
      if (severity === undefined) continue;
      yield finding(
        graph,
        { ...promptFileMissing, severity },
        {
          message: `the workspace has no "${path}" when "${node.id}" starts: it is not in the workdir, and no node before writes it`,
          span: file.valueSpan,
          fix: `for a file next to the pipeline write prompt="@${path}"; else put it into the workdir, or let a node before write it`,
        },
      );
    }
  },
};

/** Undefined where a node before may write the file; a warning where there are tools of which that is not likely. */
function whoBefore(node: Node, path: string, subject: Subject): 'error' | 'warning' | undefined {
  let severity: 'error' | 'warning' = 'error';
  for (const one of nodesBefore(node, subject)) {
    if (one === node) continue;
    if (canWrite(one, path)) return undefined;
    if (one.type === 'tool') severity = 'warning';
  }
  return severity;
}

/** An agent may write what its scope allows; a tool may write anything, unless all that it runs checks or prints. */
function canWrite({ type, settings }: Node, path: string): boolean {
  const { allowed_write_paths: scope, response_file, tool_command = '' } = settings;
  const inScope = scope === undefined || scope.some((one) => path === one || path.startsWith(one));
  if (isAgentType(type)) return response_file === path || inScope;
  if (type === 'tool') return inScope && (tool_command.includes(path) || !onlyChecks(tool_command));
  return type === '' || isCallType(type);
}
