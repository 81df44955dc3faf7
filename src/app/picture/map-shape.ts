/** A map of a pipeline as the page draws it. */
import * as z from 'zod';
import { once } from '../../core/once.ts';

const box = once(() =>
  z.tuple([z.number(), z.number(), z.number(), z.number()]).describe('Left, top, width and height'),
);
const drawn = once(() => z.string().describe('An SVG element, without states and counts'));

export const graphMapSchema = once(() =>
  z.object({
    schema_version: z.literal(1),
    width: z.number(),
    height: z.number(),
    defs: z.string().describe('SVG: the signs of states, `#sign-STATE`'),
    nodes: z.array(
      z.object({
        id: z.string(),
        label: z.string(),
        of: z.array(z.string()).describe('The nodes that it stands for, itself among them'),
        opens: z.string().nullable().describe('The fold that a click opens'),
        leads: z.string().nullable().describe('Of the end of a long edge: the node that it leads to'),
        about: z.string().describe('What its details begin with: its id where the label differs'),
        room: z.number().describe('Width that the details of the node have'),
        box: box(),
        svg: drawn(),
      }),
    ),
    edges: z.array(
      z.object({
        from: z.string(),
        to: z.string(),
        parts: z
          .array(z.object({ from: z.string(), to: z.string(), condition: z.string() }))
          .describe('The edges of the pipeline that it stands for; none: into what was opened'),
        box: box(),
        svg: drawn(),
      }),
    ),
    boxes: z.array(
      z.object({
        fold: z.string().nullable().describe('What a click folds'),
        label: z.string(),
        nodes: z.array(z.string()),
        box: box(),
        svg: drawn(),
      }),
    ),
  }),
);
export type GraphMap = z.infer<ReturnType<typeof graphMapSchema>>;
export type MapBox = GraphMap['nodes'][number]['box'];
