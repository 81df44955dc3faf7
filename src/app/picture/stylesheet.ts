/** The rules for the classes of a picture: for a page, whose variables choose the colours, and for a file on a dark ground. */
import { type ColourName, colours, nodeStates, outlineOf } from './marks.ts';

type Paint = (name: ColourName) => string;

/** Rules below `.factory-picture`. */
function rules(paint: Paint): string {
  const states = nodeStates.map((state) => {
    const { line, paper, width, dashes } = outlineOf(state);
    return (
      `.node.${state} .outline{stroke:${paint(line)};stroke-width:${width};stroke-dasharray:${dashes === '' ? 'none' : dashes}}` +
      `.node.${state} .outline:not(.inner){fill:${paint(paper)}}` +
      `.sign[href="#sign-${state}"]{color:${paint(line)}}`
    );
  });
  return [
    `.ground{fill:${paint('ground')}}`,
    `.label,.title,.count{fill:${paint('ink')}}`,
    `.details,.condition,.node.none .details{fill:${paint('quiet')}}`,
    `.icon{color:${paint('quiet')}}`,
    `.ends-fail .icon,.sign[href="#sign-problem"]{color:${paint('fail')}}`,
    `.edge .line{stroke:${paint('line')};stroke-width:1}`,
    `.edge .arrow{stroke:${paint('line')};fill:${paint('line')}}`,
    `.edge.taken .line{stroke:${paint('ink')};stroke-width:2.5}`,
    `.edge.taken .arrow{stroke:${paint('ink')};fill:${paint('ink')}}`,
    `.condition,.count{stroke:${paint('ground')}}`,
    `.condition-mark{stroke:${paint('quiet')}}`,
    `.grid,.box{stroke:${paint('line')}}`,
    `.hatch,.wait{stroke:${paint('quiet')}}`,
    `.model{fill:${paint('model')}}`,
    `.work{fill:${paint('work')}}`,
    `.sign-inner{stroke:${paint('ground')}}`,
    ...states,
  ].join('\n');
}

/** For pictures that a page has inline: each colour is the variable `--picture-NAME`, by default that for a light ground. */
export const pictureStylesheet = (): string =>
  `.factory-picture{\n${rules((name) => `var(--picture-${name},${colours[name][0]})`)}\n}\n`;

/** For files: only what changes where the viewer prefers dark. */
export const darkStyle = (): string =>
  `@media (prefers-color-scheme:dark){\n${rules((name) => colours[name][1])}\n}`;
